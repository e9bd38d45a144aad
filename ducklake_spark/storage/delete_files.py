"""Delete files: the positions of deleted rows as a Parquet file that DuckDB reads (FORMAT 1.9).

Deletion vectors, which DuckDB writes if asked to, are read and never written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from ducklake_spark.errors import CatalogDamagedError, StorageError, UnsupportedFeatureError
from ducklake_spark.spec.deletion_vectors import read_vectors
from ducklake_spark.spec.file_names import marked_uuid
from ducklake_spark.spec.model import DataFile, DeleteFile, Table
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.positions import History, SortedPositions, extended, is_increasing
from ducklake_spark.spec.roaring import Positions
from ducklake_spark.storage.failures import DAMAGED, reaching
from ducklake_spark.storage.filesystem import locate, make_parent, remove_files
from ducklake_spark.storage.footers import footer_size_of

SNAPSHOT_COLUMN = "_ducklake_internal_snapshot_id"


def _field(name: str, data_type: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, data_type, metadata={b"PARQUET:field_id": str(field_id).encode()})


_PLAIN = pa.schema(
    [_field("file_path", pa.string(), 2147483646), _field("pos", pa.int64(), 2147483645)]
)
_WITH_SNAPSHOTS = _PLAIN.append(_field(SNAPSHOT_COLUMN, pa.int64(), 2147483539))
_BATCH_ROWS = 1 << 18
# Positions, and the snapshot that deleted each if the file says so.
Deletes = tuple[Positions, Positions | None]


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
        old = _read(self.path.under(self.location))
        deletes = (
            (positions, np.where(snapshots == self.snapshot_id, snapshot_id, snapshots))
            for positions, snapshots in old
            if snapshots is not None
        )
        written = _write((self.location, self.mark), self.data_file_path, deletes, _WITH_SNAPSHOTS)
        return replace(written, snapshot_id=snapshot_id)


def stage_delete(
    table: Table, file: DataFile, positions: Iterable[int] | SortedPositions, commit_snapshot: int
) -> StagedDeleteFile:
    """Write the positions to delete from a data file, with those deleted from it before.

    `commit_snapshot` is the snapshot this commit will probably make.
    """
    place = table.location, table.mark
    new = positions if isinstance(positions, SortedPositions) else SortedPositions.of(positions)
    old = file.delete_file
    if file.further_deletes:
        raise CatalogDamagedError(
            f"The data file {file.path} has more than one delete file.",
            hint="Rewrite the table's data files with DuckDB (ducklake_rewrite_data_files).",
        )
    if old is None:
        return _write(place, file.path, ((part, None) for part in new.arrays()), _PLAIN)
    together = extended(_in_order(old), new, commit_snapshot)
    if old.partial_max is None and old.begin_snapshot >= commit_snapshot:
        # Both deletes belong to this transaction, so all positions have the same snapshot.
        return _write(place, file.path, ((part, None) for part, _ in together), _PLAIN)
    written = _write(place, file.path, together, _WITH_SNAPSHOTS)
    return replace(written, snapshot_id=commit_snapshot)


def stage_history(table: Table, data_file_path: str, history: History) -> StagedDeleteFile:
    """Write the positions deleted from a data file with the snapshot that deleted each."""
    place = table.location, table.mark
    return _write(place, data_file_path, history.arrays(), _WITH_SNAPSHOTS)


def read_history(files: Iterable[DeleteFile], inlined: Mapping[int, int] | None = None) -> History:
    """Read when the positions in delete files, and those deleted in the catalog, were deleted."""
    parts = (
        (positions, _stamped(positions, snapshots, file.begin_snapshot))
        for file in files
        for positions, snapshots in read_deletes(file)
    )
    return History.earliest(parts, inlined)


def _in_order(file: DeleteFile) -> Iterable[tuple[Positions, Positions]]:
    """Read a delete file as arrays in increasing order, which those of some writers are not in."""
    parts = [
        (positions, _stamped(positions, snapshots, file.begin_snapshot))
        for positions, snapshots in read_deletes(file)
    ]
    if is_increasing(*(positions for positions, _ in parts)):
        return parts
    return History.earliest(parts).arrays()


def _stamped(positions: Positions, snapshots: Positions | None, snapshot_id: int) -> Positions:
    """The snapshots of positions, for which a file without any has that of the catalog."""
    if snapshots is not None:
        return snapshots
    return np.broadcast_to(np.int64(snapshot_id), positions.shape)


def read_deletes(file: DeleteFile) -> Iterator[Deletes]:
    """Yield the positions of a delete file, with the snapshot of each where it has them."""
    if not file.is_readable:
        kind = "an encrypted file" if file.encryption_key is not None else f"a {file.format} file"
        raise UnsupportedFeatureError(
            f"The deletes in {file.path} are {kind}, which this package cannot read.",
            hint="Rewrite the table's data files with DuckDB (ducklake_rewrite_data_files).",
        )
    return _read(file.path) if file.format == "parquet" else _read_vectors(file.path)


def read_delete_file(file: DeleteFile) -> pa.Table:
    """Return the positions of a delete file in their order, as `read_deletes` yields them."""
    positions, snapshots = [], []
    for found, by in read_deletes(file):
        positions.append(found)
        snapshots += [] if by is None else [by]
    columns = {"pos": pa.chunked_array(positions, pa.int64())}
    if snapshots:
        columns[SNAPSHOT_COLUMN] = pa.chunked_array(snapshots, pa.int64())
    return pa.table(columns)


def file_size_of(path: str) -> int:
    """Return the size of a file in bytes."""
    with reaching(path):
        file_system, inner = locate(path)
        with file_system.open_input_file(inner) as stream:
            size: int = stream.size()
    return size


def _read_vectors(path: str) -> Iterator[Deletes]:
    with reaching(path):
        file_system, inner = locate(path)
        with file_system.open_input_file(inner) as stream:
            data = stream.read()
    try:
        vectors = read_vectors(data)
    except ValueError as error:
        raise StorageError(path, f"is damaged: {error}", hint=DAMAGED) from error
    if None in vectors:
        yield vectors[None], None
        return
    history = History.earliest(
        (positions, _stamped(positions, None, snapshot_id))
        for snapshot_id, positions in vectors.items()
        if snapshot_id is not None
    )
    yield from history.arrays()


def _read(path: str) -> Iterator[Deletes]:
    with reaching(path):
        file_system, inner = locate(path)
        with file_system.open_input_file(inner) as stream, pq.ParquetFile(stream) as parquet:
            # The columns are known by place and type, whatever their names (FORMAT 1.9). The path
            # of the data file is not read: it would be a text for each position.
            names = parquet.schema_arrow.names[1:]
            for batch in parquet.iter_batches(_BATCH_ROWS, columns=names):
                positions, *snapshots = (_numbers(column) for column in batch.columns)
                yield positions, snapshots[0] if snapshots else None


def _numbers(column: pa.Array) -> Positions:
    numbers: Positions = column.cast(pa.int64()).to_numpy(zero_copy_only=True)
    return numbers


def _write(
    place: tuple[str, str],
    data_file_path: str,
    deletes: Iterable[Deletes],
    schema: pa.Schema,
) -> StagedDeleteFile:
    """Write positions, which are in increasing order: readers demand it (rule 10)."""
    location, mark = place
    stored = StoredPath(f"ducklake-{marked_uuid(mark)}-delete.parquet")
    path = stored.under(location)
    with reaching(path, "written"):
        file_system, inner = locate(path)
        make_parent(file_system, inner)
        try:
            count = _write_deletes(file_system, inner, data_file_path, deletes, schema)
        except BaseException:
            remove_files([path])
            raise
        file_size = file_system.get_file_info(inner).size
        footer_size = footer_size_of(file_system, inner)
    return StagedDeleteFile(
        location=location,
        mark=mark,
        path=stored,
        data_file_path=data_file_path,
        delete_count=count,
        file_size_bytes=file_size,
        footer_size=footer_size,
        snapshot_id=None,
    )


def _write_deletes(
    file_system: fs.FileSystem,
    path: str,
    data_file_path: str,
    deletes: Iterable[Deletes],
    schema: pa.Schema,
) -> int:
    """Write a row group for each array of positions; return how many positions there are.

    The path of the data file is a dictionary of one value: as text it takes over a hundred bytes
    for each position.
    """
    schema = schema.set(0, schema.field(0).with_type(pa.dictionary(pa.int32(), pa.string())))
    count = 0
    with pq.ParquetWriter(
        path,
        schema,
        filesystem=file_system,
        use_dictionary=["file_path", SNAPSHOT_COLUMN],
        store_schema=False,  # else PyArrow would read the paths as a dictionary
    ) as writer:
        for positions, snapshots in deletes:
            same = np.zeros(len(positions), np.int32)
            columns = [pa.DictionaryArray.from_arrays(same, [data_file_path]), pa.array(positions)]
            columns += [] if snapshots is None else [pa.array(snapshots)]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            count += len(positions)
    return count
