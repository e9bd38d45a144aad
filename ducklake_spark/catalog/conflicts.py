"""Which commits exclude each other, as data (FORMAT section 2).

Never looser than the reference: a looser choice of ours corrupts what others write, a stricter
one only costs somebody a retry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ducklake_spark.errors import CommitConflictError
from ducklake_spark.spec.changes import Change
from ducklake_spark.spec.changes import ChangeKind as Kind
from ducklake_spark.spec.model import Commit
from ducklake_spark.spec.names import QualifiedName, fold

_DELETES = {Kind.DELETED_FROM_TABLE, Kind.INLINED_DELETE}
_INSERTS = {Kind.INSERTED_INTO_TABLE, Kind.INLINED_INSERT}
_COMPACTIONS = {Kind.MERGE_ADJACENT, Kind.REWRITE_DELETE, Kind.COMPACTED_TABLE}
_DROPPED_OR_ALTERED = {Kind.DROPPED_TABLE, Kind.ALTERED_TABLE}

# What I do to a table -> what others may not have done to it since I read it. Deletes from
# different data files get along (`checks.check_files`), so they are not in here.
ON_SAME_TABLE: Mapping[Kind, frozenset[Kind]] = {
    Kind.INSERTED_INTO_TABLE: frozenset(_DROPPED_OR_ALTERED | _DELETES),
    Kind.DELETED_FROM_TABLE: frozenset(
        _DROPPED_OR_ALTERED | _INSERTS | _COMPACTIONS | {Kind.INLINED_DELETE}
    ),
    Kind.INLINED_DELETE: frozenset(
        _DROPPED_OR_ALTERED | _INSERTS | {Kind.INLINED_DELETE, Kind.INLINE_FLUSH}
    ),
    Kind.MERGE_ADJACENT: frozenset({Kind.DROPPED_TABLE} | _DELETES | _COMPACTIONS),
    # Its files have the columns of the snapshot it was planned at, and are younger than an ALTER.
    Kind.REWRITE_DELETE: frozenset(_DROPPED_OR_ALTERED | _DELETES | _COMPACTIONS),
    Kind.INLINE_FLUSH: frozenset({Kind.DROPPED_TABLE, Kind.INLINE_FLUSH} | _DELETES),
    Kind.ALTERED_TABLE: frozenset(_DROPPED_OR_ALTERED),
    Kind.DROPPED_TABLE: frozenset({Kind.DROPPED_TABLE}),
    Kind.ALTERED_VIEW: frozenset({Kind.DROPPED_VIEW, Kind.ALTERED_VIEW}),
    Kind.DROPPED_VIEW: frozenset({Kind.DROPPED_VIEW}),
    Kind.DROPPED_SCHEMA: frozenset({Kind.DROPPED_SCHEMA}),
    Kind.DROPPED_SCALAR_MACRO: frozenset({Kind.DROPPED_SCALAR_MACRO}),
    Kind.DROPPED_TABLE_MACRO: frozenset({Kind.DROPPED_TABLE_MACRO}),
}
# What spoils a search for rows to delete, whether or not it found any.
_SPOILS_SEARCH = frozenset(_DROPPED_OR_ALTERED | _INSERTS)
_DROPPED = {Kind.DROPPED_TABLE, Kind.DROPPED_VIEW}
# Tables and views share their names; macros have their own.
_NAMED = {Kind.CREATED_TABLE, Kind.CREATED_VIEW}
_MACROS = {Kind.CREATED_SCALAR_MACRO, Kind.CREATED_TABLE_MACRO}
_CREATES = _NAMED | _MACROS


@dataclass(slots=True)
class Mine:
    """What a transaction did, as far as others can be in its way."""

    changes: list[Change] = field(default_factory=list)
    # Tables that were searched for rows to delete, whether or not there were any.
    searched_tables: set[int] = field(default_factory=set)
    # Tables and views that were there before and shall be there after, changed.
    redefined: set[int] = field(default_factory=set)
    # The schemas of what was created, and the names of schemas that were dropped.
    used_schemas: set[int] = field(default_factory=set)
    dropped_schemas: set[str] = field(default_factory=set)
    # Names of the objects by id, for messages.
    names: dict[int, str] = field(default_factory=dict)


def check_conflicts(mine: Mine, theirs: Iterable[Commit]) -> None:
    """Raise CommitConflictError if a commit since the base snapshot excludes this one."""
    for commit in theirs:
        for change in commit.changes:
            for demand in dict.fromkeys(mine.changes):
                if _exclude(demand, change):
                    raise conflict(phrase(demand, mine), commit, change)
            if (attempt := _spoiled(mine, change)) is not None:
                raise conflict(attempt, commit, change)


def _exclude(mine: Change, theirs: Change) -> bool:
    if theirs.kind in ON_SAME_TABLE.get(mine.kind, frozenset()):
        return mine.target == theirs.target
    for together in (_NAMED, _MACROS):
        if mine.kind in together and theirs.kind in together:
            return _folded(mine) == _folded(theirs)
    if mine.kind is Kind.CREATED_SCHEMA and theirs.kind is Kind.CREATED_SCHEMA:
        return fold(str(mine.target)) == fold(str(theirs.target))
    return False


def _folded(change: Change) -> tuple[str, str]:
    assert isinstance(change.target, QualifiedName)  # noqa: S101 - the grammar's guarantee
    return change.target.folded


def _spoiled(mine: Mine, theirs: Change) -> str | None:
    """What I attempt that needs more than the changes I list, and cannot be after theirs."""
    if theirs.kind in _SPOILS_SEARCH and theirs.target in mine.searched_tables:
        return phrase(Change(Kind.DELETED_FROM_TABLE, theirs.target), mine)
    if theirs.kind in _DROPPED and theirs.target in mine.redefined:
        # A rename is listed by its new name alone, and would bring back a part of what is gone.
        return f"rename or alter {_shown(theirs, mine)}"
    if theirs.kind is Kind.DROPPED_SCHEMA and theirs.target in mine.used_schemas:
        return "create something in a schema"
    if theirs.kind in _CREATES and _folded(theirs)[0] in mine.dropped_schemas:
        return "drop a schema"
    return None


_PHRASES = {
    Kind.INSERTED_INTO_TABLE: "insert into table",
    Kind.DELETED_FROM_TABLE: "delete from or update table",
    Kind.INLINED_DELETE: "delete from or update table",
    Kind.ALTERED_TABLE: "alter table",
    Kind.DROPPED_TABLE: "drop or replace table",
    Kind.CREATED_TABLE: "create table",
    Kind.CREATED_VIEW: "create view",
    Kind.ALTERED_VIEW: "alter view",
    Kind.DROPPED_VIEW: "drop or replace view",
    Kind.CREATED_SCHEMA: "create schema",
    Kind.DROPPED_SCHEMA: "drop schema",
    Kind.CREATED_SCALAR_MACRO: "create function",
    Kind.CREATED_TABLE_MACRO: "create table function",
    Kind.DROPPED_SCALAR_MACRO: "drop or replace function",
    Kind.DROPPED_TABLE_MACRO: "drop or replace table function",
    Kind.MERGE_ADJACENT: "merge files of table",
    Kind.REWRITE_DELETE: "rewrite files of table",
    Kind.INLINE_FLUSH: "flush the inlined rows of table",
}


def phrase(change: Change, mine: Mine) -> str:
    """What the transaction attempted, in words."""
    return f"{_PHRASES.get(change.kind, change.kind)} {_shown(change, mine)}"


def _shown(change: Change, mine: Mine) -> str:
    target = change.target
    return mine.names.get(target, str(target)) if isinstance(target, int) else str(target)


def conflict(attempt: str, commit: Commit, change: Change | None) -> CommitConflictError:
    """The error that says who was in the way, and that nothing landed."""
    who = f" by {commit.author}" if commit.author else ""
    what = f" ({commit.message})" if commit.message else ""
    did = f", which has {change}" if change is not None else ""
    return CommitConflictError(
        f"The attempt to {attempt} conflicts with snapshot {commit.snapshot.id}{who}{what}{did}. "
        "Nothing was changed.",
        hint="Run it again: it will then start from the lake as it is now.",
    )
