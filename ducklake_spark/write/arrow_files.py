"""Writes files with PyArrow, with field ids all the way down.

Rows that keep their ids, as an update must, and their snapshots, as a merge must, need such files:
DuckDB looks for the ids under a field id, and finds none in a file with a name mapping. Spark's own
writer gives lists and maps no field ids, so the workers write these files. Changed rows take this
way, tables with such columns when they are compacted, and rows that need no job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from ducklake_spark.scan import STORED
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.names import uuid7
from ducklake_spark.storage.filesystem import locate, make_parent
from ducklake_spark.write.nan import FloatCounts, leaf_paths
from ducklake_spark.write.options import ArrowOptions

# A column's field id with those of what is nested in it.
_Ids = tuple[int, tuple["_Ids", ...]]


def write_with_row_ids(
    rows: DataFrame,
    table: Table,
    folder: str,
    partition_columns: Sequence[str],
    options: Mapping[str, str],
) -> dict[str, tuple[object, ...]]:
    """Write the table's columns with ROW_ID and SNAPSHOT_ID, a file per task and partition.

    The paths of the files, with the values of the partition columns.
    """
    names = tuple(rows.columns)
    write = _task(table, folder, names, tuple(partition_columns), options)
    # mapInArrow asks for the columns by name and stumbles over dots and backticks.
    numbered = rows.toDF(*(f"c{at}" for at in range(len(names))))
    written = numbered.mapInArrow(write, "path string, key array<string>").collect()
    return {row.path: tuple(row.key) for row in written}


def write_here(rows: pa.Table, table: Table, folder: str, options: Mapping[str, str]) -> list[str]:
    """Write rows with the table's columns from this process; return the paths of the files."""
    write = _task(table, folder, tuple(rows.column_names), (), options)
    return [path for batch in write(iter(rows.to_batches())) for path in batch["path"].to_pylist()]


def _ids(column: Column) -> _Ids:
    return column.id, tuple(_ids(child) for child in column.children)


Batches = Iterator[pa.RecordBatch]


def _task(
    table: Table,
    folder: str,
    names: tuple[str, ...],
    keys: tuple[str, ...],
    options: Mapping[str, str],
) -> Callable[[Batches], Batches]:
    """Return a function that writes batches of rows as files and yields the files' paths."""
    ids = tuple(_ids(column) for column in table.columns)
    arrow_options = ArrowOptions.of(options)

    def write(batches: Batches) -> Batches:
        files: dict[tuple[object, ...], _File] = {}
        for batch in batches:
            for key, part in _split(pa.Table.from_batches([batch]).rename_columns(names), keys):
                if key not in files:
                    files[key] = _File(f"{folder}{uuid7()}.parquet", arrow_options)
                files[key].add(_with_ids(part.drop_columns(list(keys)), ids))
        for file in files.values():
            file.close()
        texts = [[None if value is None else str(value) for value in key] for key in files]
        written = [file.path for file in files.values()]
        yield pa.RecordBatch.from_arrays(
            [pa.array(written, pa.string()), pa.array(texts, pa.list_(pa.string()))],
            ["path", "key"],
        )

    return write


class _File:
    """A file that is being written, in row groups of the size asked for.

    Leaves that hold NaN have no statistics anywhere in the file.
    """

    def __init__(self, path: str, options: ArrowOptions) -> None:
        self.path = path
        self._options = options
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []
        self._rows = self._bytes = 0  # of what waits
        self._floats = FloatCounts()
        self._has_wrong_statistics = False

    def add(self, data: pa.Table) -> None:
        self._waiting.append(data)
        self._rows += len(data)
        self._bytes += data.nbytes
        if self._rows >= self._rows_of_a_group():
            self._write()

    def close(self) -> None:
        self._write()
        if self._writer is not None:
            self._writer.add_key_value_metadata(self._floats.as_metadata())
            self._writer.close()
        if self._has_wrong_statistics:
            self._copy_without_statistics()

    def _write(self) -> None:
        if not self._waiting:
            return
        data = pa.concat_tables(self._waiting)
        known = set(self._floats.with_nan)
        self._floats.add(data)
        if self._writer is None:
            self._writer = self._open(self.path, data.schema)
        elif self._floats.with_nan > known:  # a writer cannot change its settings any more
            self._has_wrong_statistics = True
        self._writer.write_table(data, self._rows_of_a_group())
        self._waiting, self._rows, self._bytes = [], 0, 0

    def _copy_without_statistics(self) -> None:
        """Write the file again without the statistics of leaves in which NaN appeared late."""
        written = self.path
        self.path = f"{written.removesuffix('.parquet')}-nan.parquet"
        file_system, inner = locate(written)
        with pq.ParquetFile(inner, filesystem=file_system) as source:
            schema = source.schema_arrow
            with self._open(self.path, schema) as writer:
                for group in range(source.num_row_groups):
                    data = source.read_row_group(group)
                    writer.write_table(data, max(len(data), 1))
                writer.add_key_value_metadata(self._floats.as_metadata())
        file_system.delete_file(inner)

    def _open(self, path: str, schema: pa.Schema) -> pq.ParquetWriter:
        file_system, inner = locate(path)
        make_parent(file_system, inner)
        with_nan = self._floats.with_nan
        paths = leaf_paths(schema) if with_nan else []
        return pq.ParquetWriter(
            inner,
            schema,
            filesystem=file_system,
            compression=self._options.codec,
            compression_level=self._options.level,
            data_page_version=self._options.page_version,
            write_statistics=[p for at, p in enumerate(paths) if at not in with_nan]
            if paths
            else True,
        )

    def _rows_of_a_group(self) -> int:
        return self._options.rows_of_a_group(self._rows, self._bytes)


def _split(table: pa.Table, keys: tuple[str, ...]) -> Iterator[tuple[tuple[object, ...], pa.Table]]:
    """The rows of each partition."""
    if not keys:
        yield (), table
        return
    for row in table.group_by(list(keys)).aggregate([]).to_pylist():
        wanted = None
        for key in keys:
            column, value = table[key], row[key]
            here = pc.is_null(column) if value is None else pc.equal(column, value)
            here = pc.fill_null(here, False)
            wanted = here if wanted is None else pc.and_(wanted, here)
        yield tuple(row.values()), table.filter(wanted)


def _with_ids(table: pa.Table, ids: tuple[_Ids, ...]) -> pa.Table:
    stored = {column: STORED[column] for column in STORED if column in table.column_names}
    values = table.drop_columns(list(stored))
    fields = [_field(field, known) for field, known in zip(values.schema, ids, strict=True)]
    arrays = [column.cast(f.type) for column, f in zip(values.columns, fields, strict=True)]
    for column, (name, field_id) in stored.items():
        fields.append(_field(pa.field(name, pa.int64()), (field_id, ())))
        arrays.append(table[column])
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _field(field: pa.Field, known: _Ids) -> pa.Field:
    field_id, nested = known
    data_type = _type(field.type, nested)
    metadata = {b"PARQUET:field_id": str(field_id).encode()}
    return pa.field(field.name, data_type, field.nullable, metadata)


def _type(data_type: pa.DataType, nested: tuple[_Ids, ...]) -> pa.DataType:
    if pa.types.is_struct(data_type):
        parts = [data_type.field(at) for at in range(data_type.num_fields)]
        return pa.struct([_field(part, ids) for part, ids in zip(parts, nested, strict=True)])
    if pa.types.is_map(data_type):
        key, item = data_type.key_field, data_type.item_field
        return pa.map_(_field(key, nested[0]), _field(item, nested[1]))
    if pa.types.is_list(data_type):
        return pa.list_(_field(data_type.value_field, nested[0]))
    if pa.types.is_timestamp(data_type) and data_type.tz is not None:
        return pa.timestamp("us", "UTC")
    return data_type
