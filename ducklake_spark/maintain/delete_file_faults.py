"""Compares a delete file with what the catalog says of it (rules 10 to 12)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark.maintain.file_fault import UNREADABLE, FileFault, unreadable, wrong_size
from ducklake_spark.spec.model import DataFile, DeleteFile
from ducklake_spark.storage.delete_files import SNAPSHOT_COLUMN, file_size_of, read_delete_file
from ducklake_spark.storage.footers import read_footer

_SHAPES = ([pa.string(), pa.int64()], [pa.string(), pa.int64(), pa.int64()])
_DELETE_AGAIN = (
    "Delete the row of the file in ducklake_delete_file and delete the rows again; which they "
    "were, an older snapshot may tell."
)


def delete_file_faults(data: DataFile, delete: DeleteFile) -> list[FileFault]:
    """What is wrong with a delete file of a data file."""
    if not delete.is_readable:
        return []  # the catalog's own check names these
    try:
        if delete.format != "parquet":
            return [*_size(delete, file_size_of(delete.path)), *_positions(data, delete)]
        footer = read_footer(delete.path)
        found = list(_sizes(delete, footer.file_size_bytes, footer.footer_size))
        if list(footer.schema.types) not in _SHAPES:
            return [*found, _shape(delete, footer.schema)]
        return [*found, *_positions(data, delete)]
    except UNREADABLE as failure:
        return [unreadable(delete.path, failure)]


def _size(delete: DeleteFile, size: int) -> Iterator[FileFault]:
    if delete.file_size_bytes != size:
        yield wrong_size(delete.path, size, delete.file_size_bytes, "file")


def _sizes(delete: DeleteFile, size: int, footer_size: int) -> Iterator[FileFault]:
    yield from _size(delete, size)
    if delete.footer_size is not None and delete.footer_size != footer_size:
        yield wrong_size(delete.path, footer_size, delete.footer_size, "footer")


def _shape(delete: DeleteFile, schema: pa.Schema) -> FileFault:
    shown = ", ".join(map(str, schema.types))
    return FileFault(
        "delete-file-shape",
        delete.path,
        f"has the columns {shown}, where a delete file has a text and one or two integers.",
        _DELETE_AGAIN,
    )


def _positions(data: DataFile, delete: DeleteFile) -> Iterator[FileFault]:
    deletes = read_delete_file(delete)
    yield from _snapshots(delete, deletes)
    positions = deletes["pos"].combine_chunks()
    count = len(positions)
    if count != delete.delete_count:
        yield FileFault(
            "delete-count-wrong",
            delete.path,
            f"deletes {count:,} rows, and the catalog says {delete.delete_count}: count(*) is "
            "answered from that.",
            f"Set delete_count of its row in ducklake_delete_file to {count}.",
        )
    if count > 1 and not pc.all(pc.greater(positions[1:], positions[:-1])).as_py():
        yield FileFault(
            "delete-positions-unordered",
            delete.path,
            "does not have its positions in increasing order, each once: DuckDB refuses it.",
            "Rewrite the table's data files with this package, which reads them in any order.",
        )
    if count and not 0 <= pc.min(positions).as_py() <= pc.max(positions).as_py() < (
        data.record_count or 0
    ):
        yield FileFault(
            "delete-positions-beyond-file",
            delete.path,
            f"deletes rows that {data.path} with {data.record_count} rows does not have.",
            _DELETE_AGAIN,
        )
    both = pc.is_in(positions, value_set=pa.array(data.inlined_deletes, pa.int64()))
    twice = pc.sum(both).as_py() or 0
    if twice:
        yield FileFault(
            "deleted-twice",
            delete.path,
            f"deletes {twice:,} rows that the catalog has as inlined deletes too: count(*) is too "
            "low.",
            "CALL lake.flush_inlined_data() brings them together.",
        )


def _snapshots(delete: DeleteFile, deletes: pa.Table) -> Iterator[FileFault]:
    if SNAPSHOT_COLUMN not in deletes.column_names or delete.begin_snapshot is None:
        return
    first = pc.min(deletes[SNAPSHOT_COLUMN]).as_py()
    if first is not None and first < delete.begin_snapshot:
        yield FileFault(
            "delete-snapshot-wrong",
            delete.path,
            f"has deletes of snapshots from {first} on, and begins at {delete.begin_snapshot}: the "
            "snapshots in between show rows that were deleted.",
            f"Set begin_snapshot of its row in ducklake_delete_file to {first}.",
        )
