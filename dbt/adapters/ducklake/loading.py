"""The engine behind the adapter, imported when something first asks for a lake.

What only reads the project (`dbt list`, `dbt parse`) does without it, and a local Spark starts
meanwhile. So no module that dbt imports with the plugin imports it: what uses it does so where it
is used.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_loading = threading.Lock()
_is_loaded = False


def load_engine() -> None:
    """Import the engine and the libraries it stands on, once and by one thread."""
    global _is_loaded
    with _loading:
        if _is_loaded:
            return
        with _lasting():
            import ducklake_spark.lake  # noqa: F401
        _is_loaded = True


@contextmanager
def _lasting() -> Iterator[None]:
    """Have the garbage collector leave alone what there is afterwards.

    Code lasts as long as the process. To look through all of it again and again while it is
    imported and, several times, when the process ends, takes a third of a short run.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
        gc.freeze()
