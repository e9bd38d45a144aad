"""What a compaction does to the catalog: rows move to other files, and none changes (FORMAT 1.18).

Time travel goes on as before: a merged or flushed file stands in for its sources at every snapshot
that saw them, for it holds the snapshot of each row. A rewritten one begins with its commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ducklake_spark.spec.changes import ChangeKind as Kind
from ducklake_spark.spec.model import DataFile, DeleteFile, NewDataFile
from ducklake_spark.spec.paths import StoredPath


@dataclass(frozen=True, slots=True)
class HistoricDeletes:
    """A written delete file that knows the snapshot of each delete.

    `replaces` are those it takes the place of; `end_snapshot` is that of its data file.
    """

    path: StoredPath
    delete_count: int
    file_size_bytes: int
    footer_size: int
    begin_snapshot: int
    partial_max: int
    end_snapshot: int | None = None
    replaces: tuple[DeleteFile, ...] = ()


@dataclass(frozen=True, slots=True)
class MovedRows:
    """A written file of rows that the lake had before; it holds their row ids.

    It begins with `begin_snapshot`, or with the commit that adds it. `partial_max` is the newest
    snapshot of its rows, if it holds the snapshot of each.
    """

    file: NewDataFile
    begin_snapshot: int | None = None
    partial_max: int | None = None
    partition_id: int | None = None
    deletes: HistoricDeletes | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """Files without deletes become one, for all snapshots."""

    sources: tuple[DataFile, ...]
    made: MovedRows


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What is left of files becomes one from this commit on; nothing, if nothing is left."""

    sources: tuple[DataFile, ...]
    made: MovedRows | None


@dataclass(frozen=True, slots=True)
class Flush:
    """The rows and deletes that the catalog held up to a snapshot become files.

    `deletes` are those of data files, by data file id.
    """

    up_to: int
    made: tuple[MovedRows, ...]
    deletes: tuple[tuple[int, HistoricDeletes], ...]


Compaction = Merge | Rewrite | Flush


def kinds_of(compactions: Sequence[Compaction]) -> list[Kind]:
    """What compactions are in a commit's list of changes."""
    kinds: dict[Kind, None] = {}
    for compaction in compactions:
        match compaction:
            case Merge():
                kinds[Kind.MERGE_ADJACENT] = None
            case Rewrite():
                kinds[Kind.REWRITE_DELETE] = None
            case Flush(deletes=deletes):
                if deletes:
                    kinds[Kind.DELETED_FROM_TABLE] = None
                kinds[Kind.INLINE_FLUSH] = None
    return list(kinds)


def files_of(compactions: Sequence[Compaction]) -> list[NewDataFile]:
    """The data files that compactions made."""
    made: list[MovedRows | None] = []
    for compaction in compactions:
        made += compaction.made if isinstance(compaction, Flush) else [compaction.made]
    return [moved.file for moved in made if moved is not None]
