"""A prompt for statements, each of which may take several lines and ends with a semicolon."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from ducklake_spark.cli.cancelling import Canceller
from ducklake_spark.cli.output import show
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.lake import Lake
from ducklake_spark.sql import is_ended, split_statements

_HISTORY = Path("~/.ducklake_history")
_HELP = (
    "Statements end with a semicolon. SHOW TABLES; lists tables, DESCRIBE t; columns, EXPLAIN "
    "SELECT …; which files are read.\nexit, quit or Ctrl-D leaves; Ctrl-C stops a statement or "
    "forgets what was typed."
)


class Shell:
    """Reads, runs, prints, until the end of the input."""

    def __init__(self, lake: Lake, name: str, shape: str, limit: int) -> None:
        self.lake = lake
        self.name = name
        self.shape = shape
        self.limit = limit
        self._canceller = Canceller(lake)
        self.for_a_person = sys.stdin.isatty()

    def run(self) -> None:
        remember = _with_history() if self.for_a_person else None
        try:
            with self._canceller:
                self._read_all()
        finally:
            if remember is not None:
                remember()

    def _read_all(self) -> None:
        typed = ""
        try:
            while True:
                try:
                    typed = self._step(typed)
                except KeyboardInterrupt:
                    print()  # noqa: T201
                    typed = ""
        except EOFError:
            self._run(typed)

    def _step(self, typed: str) -> str:
        """Read a line; run what is complete, and return what is not."""
        line = input(self._prompt(continued=bool(typed)))
        word = line.strip().rstrip(";").lower()
        if not typed and word in ("exit", "quit"):
            raise EOFError
        if not typed and word in ("help", "?", "\\?"):
            print(_HELP)  # noqa: T201
            return ""
        typed = f"{typed}\n{line}" if typed else line
        if not typed.strip():
            return ""
        if not is_ended(typed):
            return typed
        self._run(typed)
        return ""

    def _prompt(self, *, continued: bool) -> str:
        if not self.for_a_person:
            return ""
        mark = "*" if self.lake.in_transaction else ""
        prompt = f"{self.name}{mark}> "
        return "…> ".rjust(len(prompt)) if continued else prompt

    def _run(self, text: str) -> None:
        """Run statements; an error is told, and the shell goes on."""
        try:
            for statement in split_statements(text):
                self._canceller.run(partial(self._run_one, statement))
        except DuckLakeError as error:
            print(error, file=sys.stderr)  # noqa: T201
        except KeyboardInterrupt:
            print("The statement was cancelled.", file=sys.stderr)  # noqa: T201

    def _run_one(self, statement: str) -> None:
        show(self.lake.execute(statement), self.shape, self.limit)


def _with_history() -> Callable[[], None] | None:
    """Let the arrow keys bring back what was typed, and return what keeps it for next time."""
    try:
        import readline
    except ImportError:  # a Python without it, as on Windows
        return None
    file = _HISTORY.expanduser()
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(10_000)

    def remember() -> None:
        with suppress(OSError):  # a home that cannot be written to
            readline.write_history_file(file)

    return remember
