"""Delete files: the positions of deleted rows as a Parquet file that DuckDB reads (FORMAT 1.9).

Deletion vectors, which DuckDB writes if asked to, are read and never written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ducklake_spark.errors import CatalogDamagedError, StorageError, UnsupportedFeatureError
from ducklake_spark.spec.deletion_vectors import read_vectors
from ducklake_spark.spec.file_names import marked_uuid
from ducklake_spark.spec.model import DataFile, DeleteFile, Table
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.storage.failures import DAMAGED, reaching
from ducklake_spark.storage.filesystem import locate, make_parent
from ducklake_spark.storage.footers import footer_size_of

SNAPSHOT_COLUMN = "_ducklake_internal_snapshot_id"


def _field(name: str, data_type: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, data_type, metadata={b"PARQUET:field_id": str(field_id).encode()})


_PLAIN = pa.schema(
    [_field("file_path", pa.string(), 2147483646), _field("pos", pa.int64(), 2147483645)]
)
_WITH_SNAPSHOTS = _PLAIN.append(_field(SNAPSHOT_COLUMN, pa.int64(), 2147483539))


@dataclass(frozen=True, slots=True)
class StagedDeleteFile:
    """A delete file that is written and waits for its commit.

    `mark` is the one of its table. With a `snapshot_id` it holds, besides positions of earlier
    commits, those of this one under that id, and is written anew should the commit get another id.
    """

    location: str
    mark: str
    path: StoredPath
    data_file_path: str
    delete_count: int
    file_size_bytes: int
    footer_size: int
    snapshot_id: int | None

    def written_for(self, snapshot_id: int) -> StagedDeleteFile:
        """The same positions, those of this commit under another snapshot id."""
        table = _read(self.path.under(self.location))
        column = table[SNAPSHOT_COLUMN]
        mine = pc.equal(column, self.snapshot_id)
        column = pc.if_else(mine, pa.scalar(snapshot_id, pa.int64()), column)
        place = self.location, self.mark
        written = _write(place, self.data_file_path, table["pos"], column)
        return replace(written, snapshot_id=snapshot_id)


def stage_delete(
    table: Table, file: DataFile, positions: Iterable[int] | pa.Array, commit_snapshot: int
) -> StagedDeleteFile:
    """Write the positions to delete from a data file, with those deleted from it before.

    `commit_snapshot` is the snapshot this commit will probably make.
    """
    place = table.location, table.mark
    new = positions if isinstance(positions, pa.Array) else pa.array(positions, pa.int64())
    old = file.delete_file
    if file.further_deletes:
        raise CatalogDamagedError(
            f"The data file {file.path} has more than one delete file.",
            hint="Rewrite the table's data files with DuckDB (ducklake_rewrite_data_files).",
        )
    if old is None:
        return _write(place, file.path, pc.unique(new), None)
    known, snapshots = read_history(old)
    if old.partial_max is None and old.begin_snapshot >= commit_snapshot:
        # Both deletes are of this transaction: one snapshot, no need to tell them apart.
        together = pa.chunked_array([*known.chunks, new])
        return _write(place, file.path, pc.unique(together), None)
    fresh = pc.unique(new.filter(pc.invert(pc.is_in(new, value_set=known.combine_chunks()))))
    together = pa.chunked_array([*known.chunks, fresh])
    stamps = pa.repeat(pa.scalar(commit_snapshot, pa.int64()), len(fresh))
    marked = pa.chunked_array([*snapshots.chunks, stamps])
    return replace(_write(place, file.path, together, marked), snapshot_id=commit_snapshot)


def stage_history(
    table: Table, data_file_path: str, deletes: Mapping[int, int]
) -> StagedDeleteFile:
    """Write the positions deleted from a data file with the snapshot that deleted each."""
    positions = pa.array(deletes.keys(), pa.int64())
    snapshots = pa.chunked_array([pa.array(deletes.values(), pa.int64())])
    return _write((table.location, table.mark), data_file_path, positions, snapshots)


def read_history(file: DeleteFile) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """The positions of a delete file, and the snapshot that deleted each."""
    table = read_delete_file(file)
    if SNAPSHOT_COLUMN in table.column_names:
        return table["pos"], table[SNAPSHOT_COLUMN]
    all_at_once = pa.repeat(pa.scalar(file.begin_snapshot, pa.int64()), len(table))
    return table["pos"], pa.chunked_array([all_at_once])


def read_delete_file(file: DeleteFile) -> pa.Table:
    """The positions of a delete file, with the snapshot of each where it has them."""
    if not file.is_readable:
        kind = "an encrypted file" if file.encryption_key is not None else f"a {file.format} file"
        raise UnsupportedFeatureError(
            f"The deletes in {file.path} are {kind}, which this package cannot read.",
            hint="Rewrite the table's data files with DuckDB (ducklake_rewrite_data_files).",
        )
    return _read(file.path) if file.format == "parquet" else _read_vectors(file.path)


def file_size_of(path: str) -> int:
    """Return the size of a file in bytes."""
    with reaching(path):
        file_system, inner = locate(path)
        with file_system.open_input_file(inner) as stream:
            size: int = stream.size()
    return size


def _read_vectors(path: str) -> pa.Table:
    with reaching(path):
        file_system, inner = locate(path)
        with file_system.open_input_file(inner) as stream:
            data = stream.read()
    try:
        vectors = read_vectors(data)
    except ValueError as error:
        raise StorageError(path, f"is damaged: {error}", hint=DAMAGED) from error
    positions = pa.array(np.concatenate(list(vectors.values())))
    snapshots = [pa.repeat(pa.scalar(s, pa.int64()), len(found)) for s, found in vectors.items()]
    if None in vectors:
        return pa.table({"pos": positions})
    table = pa.table({"pos": positions, SNAPSHOT_COLUMN: pa.chunked_array(snapshots)})
    return table.sort_by("pos")


def _read(path: str) -> pa.Table:
    with reaching(path):
        file_system, inner = locate(path)
        table = pq.read_table(inner, filesystem=file_system, partitioning=None)
    # The columns are known by place and type, whatever their names (FORMAT 1.9).
    names = ["file_path", "pos", SNAPSHOT_COLUMN][: table.num_columns]
    return table.rename_columns(names)


def _write(
    place: tuple[str, str],
    data_file_path: str,
    positions: pa.Array | pa.ChunkedArray,
    snapshots: pa.ChunkedArray | None,
) -> StagedDeleteFile:
    location, mark = place
    order = pc.sort_indices(positions)  # readers demand strictly increasing positions (rule 10)
    paths = pa.repeat(pa.scalar(data_file_path), len(positions))
    columns = [paths, positions.take(order)]
    schema = _PLAIN
    if snapshots is not None:
        columns.append(snapshots.take(order))
        schema = _WITH_SNAPSHOTS
    stored = StoredPath(f"ducklake-{marked_uuid(mark)}-delete.parquet")
    table = pa.Table.from_arrays(columns, schema=schema)
    with reaching(stored.under(location), "written"):
        file_system, inner = locate(stored.under(location))
        make_parent(file_system, inner)
        pq.write_table(table, inner, filesystem=file_system)
        file_size = file_system.get_file_info(inner).size
        footer_size = footer_size_of(file_system, inner)
    return StagedDeleteFile(
        location=location,
        mark=mark,
        path=stored,
        data_file_path=data_file_path,
        delete_count=len(positions),
        file_size_bytes=file_size,
        footer_size=footer_size,
        snapshot_id=None,
    )
