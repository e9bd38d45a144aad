"""Spark's errors as a person wants to read them: the message, the user's names and places."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from ducklake_spark.errors import QueryError
from ducklake_spark.session import (
    DRIVER_MEMORY,
    FIXED_SETTINGS,
    gone,
    is_gone,
    is_jvm_gone,
    jvm_gone,
)
from ducklake_spark.sql.splice import Spliced

# What a query may fail with. PySpark leaves errors that it has no class for to Py4J, and where the
# JVM does not answer, the error is one of the system's.
SPARK_ERRORS = (PySparkException, Py4JError, ConnectionError)

# The name of a view that stands for a relation (scope.Scope.show).
_VIEW = re.compile(r"`((?:[^`]|``)+?)(?: @\d+)? #\d+`(?: AS (`(?:[^`]|``)+`))?")
_PLACE = re.compile(r"\(?line (\d+), (?:pos|position) (\d+)\)?|line (\d+) pos (\d+)")
# The package's own columns among those that Spark proposes, with or without a relation's name.
_OWN = r"(?:`(?:[^`]|``)+`\.)*`_ducklake_\w+`"
_OURS = re.compile(
    rf" Did you mean one of the following\? \[{_OWN}(?:, {_OWN})*\]\.|{_OWN}, |, {_OWN}"
)
_CALL = re.compile(r"^An error occurred while calling .*\n: [\w.$]+: ")
# What failed in a thread of Spark's own, such as a subquery's, is told as the cause of this.
_AWAITED = re.compile(r"Exception thrown in awaitResult:.*?\nCaused by: [\w.$]+: ", re.DOTALL)
_JVM = re.compile(r"\n*JVM stacktrace:.*", re.DOTALL)
_FRAGMENT = re.compile(r"\n*== SQL.*", re.DOTALL)
_PLAN = re.compile(
    r";?\n(?:'|\+- |Project |Filter |Aggregate |Join |:- ).*|(?<=SQLSTATE: .{5});\n.*", re.DOTALL
)
_SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z])")
# The message of raise_error(), which names the value and the column of a failed write.
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?) SQLSTATE: P0001", re.DOTALL)
_FRAMES = re.compile(r"\n\s*at [\w.$/@]+\(.*", re.DOTALL)
_OUT_OF_MEMORY = re.compile(
    r"java\.lang\.OutOfMemoryError[^\n]*|\[UNABLE_TO_ACQUIRE_MEMORY\][^\n.]*|"
    r"GC overhead limit exceeded|Not enough memory to build and broadcast[^\n.]*"
)
_MORE_MEMORY = (
    f"Give it more: {DRIVER_MEMORY} for a Spark in this process, spark.executor.memory for the "
    "workers of a cluster, in spark_config of the profile. Or make its tasks smaller with a larger "
    "spark.sql.shuffle.partitions."
)


def query_error(error: Exception, query: Spliced | None = None, statement: str = "") -> QueryError:
    """The error without plans and stacks of the JVM, in the names and places of the query, which
    may be a part of a statement at its very own place."""
    if is_gone(error) or is_jvm_gone(error):
        lost = gone() if is_gone(error) else jvm_gone()
        return QueryError(lost.message, hint=lost.hint)
    text = str(error)
    if (told := _OUT_OF_MEMORY.search(text)) is not None:
        return QueryError(f"Spark ran out of memory: {told.group(0)}.", hint=_MORE_MEMORY)
    for noise in (_CALL, _AWAITED, _JVM, _FRAMES, _PLAN, _OURS):
        text = noise.sub("", text)
    text = "\n".join(map(_possible, text.split("\n")))
    text = _RAISED.sub(r"\1", text)
    place = _PLACE.search(text)
    if query is None or place is None:
        return QueryError(shown_names(text).strip())
    line, column = _original_place(place, query)
    text = _FRAGMENT.sub("", _PLACE.sub("", text)).strip().rstrip(";").rstrip()
    whole = statement if _is_part(query.original, statement) else query.original
    shown = whole.splitlines()[line - 1] if whole else ""
    fragment = f"\n  line {line}: {shown.rstrip()}\n  {' ' * (len(f'line {line}: ') + column - 1)}^"
    return QueryError(shown_names(text) + fragment)


def _possible(line: str) -> str:
    """Leave out advice to change a setting that cannot be changed, such as ANSI mode."""
    first, *others = _SENTENCE_END.split(line)
    kept = (text for text in others if not any(key in text for key in FIXED_SETTINGS))
    return " ".join((first, *kept))


def _is_part(text: str, statement: str) -> bool:
    """Whether a text is all blanks where it is not the statement's own."""
    pairs = zip(text, statement, strict=False)
    return len(text) <= len(statement) and all(its in (" ", whole) for its, whole in pairs)


def shown_names(text: str) -> str:
    """A text of Spark's with the user's names for relations."""
    return _VIEW.sub(lambda match: match.group(2) or match.group(1), text)


def _original_place(match: re.Match[str], query: Spliced) -> tuple[int, int]:
    """Line and column in the user's text, both from 1."""
    line, column = (int(group) for group in match.groups() if group is not None)
    lines = query.text.splitlines(keepends=True)
    # "pos" counts from 0, "position" from 1.
    first = 1 if "position" in match.group(0) else 0
    offset = sum(map(len, lines[: line - 1])) + column - first
    place = min(query.original_offset(offset), len(query.original))
    before = query.original[:place]
    return before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1
