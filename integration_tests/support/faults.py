"""Points of a read or a commit at which a test steps in, between two statements.

SQLAlchemy's events make them; nothing in the package knows of this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from ducklake_spark.catalog import Catalog

_TABLE = re.compile(r'^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b.*?"?\b(ducklake_\w+)', re.S)

Listener = Callable[[str], None]


def step_of(statement: str) -> str:
    """A statement in short: the verb and the first table of the catalog it names."""
    match = _TABLE.match(statement)
    return f"{match[1]} {match[2]}" if match else statement.strip()


@contextmanager
def interrupted(catalog: Catalog) -> Iterator[None]:
    """Ctrl-C comes when the next COMMIT is carried out, before its answer is seen."""
    dialect = catalog._store.engine.dialect
    original = dialect.do_commit

    def commit(connection: Any) -> None:
        original(connection)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dialect, "do_commit", commit)
        try:
            yield
        except KeyboardInterrupt:
            return
    pytest.fail("Nothing was committed.")


@contextmanager
def observed(
    catalog: Catalog,
    *,
    before: Listener | None = None,
    after: Listener | None = None,
) -> Iterator[None]:
    """Call the listeners with each step: BEGIN, statements, COMMIT, or END of what only read."""
    engine = catalog._store.engine
    pool = engine.pool
    committed = False

    def tell(listener: Listener | None, step: str) -> None:
        if listener is not None:
            listener(step)

    def began(connection: Any) -> None:
        tell(before, "BEGIN")

    def executing(*args: Any) -> None:
        tell(before, step_of(args[2]))

    def executed(*args: Any) -> None:
        tell(after, step_of(args[2]))

    def committing(connection: Any) -> None:
        nonlocal committed
        committed = True
        tell(before, "COMMIT")

    def given_back(*args: Any) -> None:
        # The pool gets its connection back once COMMIT has been answered.
        nonlocal committed
        step, committed = "COMMIT" if committed else "END", False
        tell(after, step)

    listeners: list[tuple[Any, str, Callable[..., None]]] = [
        (engine, "begin", began),
        (engine, "before_cursor_execute", executing),
        (engine, "after_cursor_execute", executed),
        (engine, "commit", committing),
        (pool, "checkin", given_back),
    ]
    for target, name, listener in listeners:
        event.listen(target, name, listener)
    try:
        yield
    finally:
        for target, name, listener in listeners:
            event.remove(target, name, listener)
