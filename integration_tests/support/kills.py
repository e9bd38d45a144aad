"""Operations on a lake in a process of their own, which is killed at one of their steps."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable
from typing import Any

from sqlalchemy import event

from ducklake_spark.catalog import Catalog
from support.lakes import LakeAddress

Operation = Callable[[Catalog], Any]
_DONE, _FAILED = 7, 1


def steps_survived(lake: LakeAddress, operation: Operation) -> int:
    """Kill an operation at each of its steps, after which the catalog must be as it was, and then
    let it land; how many steps it has."""
    before, step = lake.dump(), 0
    while dies_at(lake, operation, step):
        assert lake.dump() == before, f"killed at step {step}"
        step += 1
    return step


def dies_at(lake: LakeAddress, operation: Operation, step: int) -> bool:
    """Carry an operation out in a process that is killed before one of its steps; whether it has
    so many. A step is a statement that changes the catalog, or a COMMIT."""
    child = os.fork()
    if child == 0:
        try:
            with lake.open() as catalog:
                _count_down(catalog, step)
                operation(catalog)
            os._exit(_DONE)
        except BaseException:  # noqa: BLE001 - the parent sees only that it failed
            traceback.print_exc()
        finally:
            os._exit(_FAILED)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == _DONE
    return os.WIFSIGNALED(status)


def _count_down(catalog: Catalog, step: int) -> None:
    left = step

    def pass_one(*_: Any) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    def statement(*arguments: Any) -> None:
        if not arguments[2].lstrip().upper().startswith("SELECT"):
            pass_one()

    engine = catalog._store.engine
    event.listen(engine, "before_cursor_execute", statement)
    event.listen(engine, "commit", pass_one)
