"""The grammar of ``ducklake_snapshot_changes.changes_made`` (FORMAT 1.5).

Whoever writes a token another client cannot parse breaks that client's commits (rule 14).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ducklake_spark.errors import CatalogDamagedError
from ducklake_spark.spec.names import QualifiedName, as_duckdb_writes, quote


class ChangeKind(StrEnum):
    """What a commit did, in the order in which the reference writes it."""

    DROPPED_SCHEMA = "dropped_schema"
    DROPPED_TABLE = "dropped_table"
    DROPPED_VIEW = "dropped_view"
    CREATED_SCHEMA = "created_schema"
    CREATED_TABLE = "created_table"
    CREATED_VIEW = "created_view"
    CREATED_SCALAR_MACRO = "created_scalar_macro"
    CREATED_TABLE_MACRO = "created_table_macro"
    DROPPED_SCALAR_MACRO = "dropped_scalar_macro"
    DROPPED_TABLE_MACRO = "dropped_table_macro"
    INSERTED_INTO_TABLE = "inserted_into_table"
    DELETED_FROM_TABLE = "deleted_from_table"
    ALTERED_TABLE = "altered_table"
    ALTERED_VIEW = "altered_view"
    INLINED_INSERT = "inlined_insert"
    INLINED_DELETE = "inlined_delete"
    INLINE_FLUSH = "inline_flush"
    MERGE_ADJACENT = "merge_adjacent"
    REWRITE_DELETE = "rewrite_delete"
    COMPACTED_TABLE = "compacted_table"


# How DuckDB's snapshots() calls them, in its order.
_LISTED = {
    ChangeKind.CREATED_SCHEMA: "schemas_created",
    ChangeKind.DROPPED_SCHEMA: "schemas_dropped",
    ChangeKind.CREATED_TABLE: "tables_created",
    ChangeKind.CREATED_VIEW: "views_created",
    ChangeKind.CREATED_SCALAR_MACRO: "scalar_macros_created",
    ChangeKind.CREATED_TABLE_MACRO: "table_macros_created",
    ChangeKind.DROPPED_TABLE: "tables_dropped",
    ChangeKind.ALTERED_TABLE: "tables_altered",
    ChangeKind.INSERTED_INTO_TABLE: "tables_inserted_into",
    ChangeKind.DELETED_FROM_TABLE: "tables_deleted_from",
    ChangeKind.DROPPED_VIEW: "views_dropped",
    ChangeKind.DROPPED_SCALAR_MACRO: "scalar_macros_dropped",
    ChangeKind.DROPPED_TABLE_MACRO: "table_macros_dropped",
    ChangeKind.ALTERED_VIEW: "views_altered",
    ChangeKind.INLINED_INSERT: "inlined_insert",
    ChangeKind.INLINED_DELETE: "inlined_delete",
    ChangeKind.INLINE_FLUSH: "flushed_inlined",
    ChangeKind.MERGE_ADJACENT: "merge_adjacent",
    ChangeKind.REWRITE_DELETE: "rewrite_delete",
    ChangeKind.COMPACTED_TABLE: "compacted_table",
}
_ALIASES = {"flushed_inlined": ChangeKind.INLINE_FLUSH}
_ORDER = {kind: at for at, kind in enumerate(ChangeKind)}
_NAMED = {
    ChangeKind.CREATED_TABLE,
    ChangeKind.CREATED_VIEW,
    ChangeKind.CREATED_SCALAR_MACRO,
    ChangeKind.CREATED_TABLE_MACRO,
}
_QUOTED = r'"((?:[^"]|"")*)"'
_TOKEN = re.compile(rf"([A-Za-z_]+):(?:(\d+)|{_QUOTED}(?:\.{_QUOTED})?)(?:,|$)")


@dataclass(frozen=True, slots=True)
class Change:
    """One token: an object's id, a schema's name, or the name of something created."""

    kind: ChangeKind
    target: int | str | QualifiedName

    def __str__(self) -> str:
        match self.target:
            case QualifiedName(schema=schema, name=name):
                value = f"{quote(schema)}.{quote(name)}"
            case str(name):
                value = quote(name)
            case number:
                value = str(number)
        return f"{self.kind}:{value}"


def format_changes(changes: Iterable[Change]) -> str:
    """The text of a commit's changes, each once, in the reference's order."""
    unique = dict.fromkeys(changes)
    return ",".join(str(change) for change in sorted(unique, key=lambda c: _ORDER[c.kind]))


def listed_changes(changes: Iterable[Change]) -> dict[str, list[str]]:
    """What was done to what, under the names and in the order of DuckDB's snapshots()."""
    targets: dict[ChangeKind, list[str]] = {kind: [] for kind in _LISTED}
    for change in changes:
        targets[change.kind].append(_listed(change.target))
    return {_LISTED[kind]: names for kind, names in targets.items() if names}


def describe_change(change: Change, relations: Mapping[int, QualifiedName]) -> str:
    """Return what was done to which relation, such as `inserted_into_table main.orders`.

    `relations` holds the names by id; an id without a name is shown as it is.
    """
    target = change.target
    known = relations.get(target, target) if isinstance(target, int) else target
    # The name of a schema has no second part.
    name = known.schema if isinstance(known, QualifiedName) and not known.name else known
    return f"{change.kind} {name}"


def _listed(target: int | str | QualifiedName) -> str:
    if isinstance(target, QualifiedName):
        return f"{as_duckdb_writes(target.schema)}.{as_duckdb_writes(target.name)}"
    return str(target)


def parse_changes(text: str | None) -> list[Change]:
    """The changes of a commit; an empty or missing text means none."""
    changes: list[Change] = []
    at, end = 0, len(text or "")
    while text and at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise _damaged(text, at)
        changes.append(_change(match, text))
        at = match.end()
    return changes


def _change(match: re.Match[str], text: str) -> Change:
    word, number, first, second = match.groups()
    try:
        kind = _ALIASES.get(word.lower()) or ChangeKind(word.lower())
    except ValueError:
        raise _damaged(text, match.start()) from None
    if number is not None:
        target: int | str | QualifiedName = int(number)
    elif second is not None:
        target = QualifiedName(_unquote(first), _unquote(second))
    else:
        target = _unquote(first)
    if not isinstance(target, _target_type(kind)):
        raise _damaged(text, match.start())
    return Change(kind, target)


def _target_type(kind: ChangeKind) -> type:
    if kind in _NAMED:
        return QualifiedName
    return str if kind is ChangeKind.CREATED_SCHEMA else int


def _unquote(text: str) -> str:
    return text.replace('""', '"')


def _damaged(text: str, at: int) -> CatalogDamagedError:
    return CatalogDamagedError(
        f"A commit's list of changes cannot be understood from {text[at : at + 40]!r} on.",
        hint="It was written by another DuckLake client, perhaps a newer one; "
        "upgrade dbt-ducklake or ask whoever wrote that snapshot.",
    )
