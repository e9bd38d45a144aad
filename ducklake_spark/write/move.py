"""Writes rows that the lake has already to other files, with what they bring along: their ids, and
the snapshots they came with.

Those are found by field id, so the files need field ids all the way down. Spark gives them to
columns and struct fields; where there are lists or maps, the workers write with PyArrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.errors import ConfigError
from ducklake_spark.scan import ROW_ID, SNAPSHOT_ID, STORED
from ducklake_spark.scan.types import FIELD_ID, encoded
from ducklake_spark.spec.file_names import marked_uuid
from ducklake_spark.spec.model import Column, NewDataFile, Table
from ducklake_spark.spec.names import backticked, fold
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.storage.failures import files_of
from ducklake_spark.storage.filesystem import list_files, move_file, remove_files, remove_tree
from ducklake_spark.storage.footers import described, field_id, leaves_of, read_footer
from ducklake_spark.storage.hadoop import hadoop_path
from ducklake_spark.write.arrow_files import write_with_row_ids
from ducklake_spark.write.counted import RowCounts, count_rows, describe_visible
from ducklake_spark.write.layout import sort_order
from ducklake_spark.write.options import writer_options

# The column that says which file a row goes to.
TARGET = "_ducklake_target"
_MOST_TASKS = 256
_THREADS = 8


def stage_moved(
    frame: DataFrame,
    table: Table,
    columns: Sequence[Column],
    directories: Sequence[str],
    options: Mapping[str, str],
) -> dict[int, NewDataFile]:
    """Write rows to one file per TARGET, below the directory that is given for it.

    The frame has the columns given, ROW_ID, TARGET, and SNAPSHOT_ID where the files shall have it;
    its session must write field ids.
    """
    folder = f"ducklake-{marked_uuid(table.mark)}/"
    lineage = [name for name in STORED if name in frame.columns]
    values = [encoded(F.col(backticked(c.name)), c).alias(c.name) for c in columns]
    rows, counts = _in_order(frame, table, columns, len(directories))
    rows = rows.select(*values, *lineage, TARGET)
    try:
        found = _write(rows, replace(table, columns=tuple(columns)), folder, options)
        files = {found[file.path]: file for file in _described(table, columns, found)}
        counts.require_all_rows(table.location + folder, files.values())
        return _moved(table, files, directories)
    finally:
        remove_tree(table.location + folder)


def discard(table: Table, files: Iterable[StoredPath]) -> None:
    """Remove files; only once it is certain that no commit refers to them."""
    remove_files(path.under(table.location) for path in files)


def _in_order(
    frame: DataFrame, table: Table, columns: Sequence[Column], targets: int
) -> tuple[DataFrame, RowCounts]:
    """Bring each file's rows together, in the table's current order, then by row ID; count them."""
    names = list(frame.columns)
    if table.sort_keys:
        # The keys name columns as they are called now, and may name some these rows do not have.
        now = {column.id: column.name for column in table.columns}
        taken = {fold(name) for name in now.values()}
        called = [
            now.get(c.id, f"_ducklake_old_{c.id}" if fold(c.name) in taken else c.name)
            for c in columns
        ]
        frame = frame.toDF(*called, *names[len(columns) :])
        missing = now.keys() - {column.id for column in columns}
        frame = frame.select("*", *(F.lit(None).cast("string").alias(now[i]) for i in missing))
    last = [F.col(name) for name in (ROW_ID, SNAPSHOT_ID) if name in names]
    order = [F.col(TARGET), *sort_order(frame, table), *last]
    frame, counts = count_rows(frame.repartition(min(targets, _MOST_TASKS), TARGET), table)
    frame = frame.sortWithinPartitions(*order)
    return frame.select(*map(backticked, frame.columns[: len(names)])).toDF(*names), counts


# --- the files ---


def _write(
    rows: DataFrame, table: Table, folder: str, options: Mapping[str, str]
) -> dict[StoredPath, int]:
    """The files written, with the TARGET of each."""
    if any(leaf.type.name in ("list", "map") for leaf in table.walk()):
        written = write_with_row_ids(rows, table, table.location + folder, [TARGET], options)
        return {
            StoredPath(folder + path.rpartition("/")[2]): int(str(key[0]))
            for path, key in written.items()
        }
    writer = _with_field_ids(rows, table).write.options(**writer_options(options))
    writer = writer.option("maxRecordsPerFile", 0)  # whatever the session says
    writer.partitionBy(TARGET).parquet(hadoop_path(table.location + folder))
    paths = [path for path in list_files(table.location + folder) if path.endswith(".parquet")]
    return {StoredPath(folder + p): int(p.partition("/")[0].partition("=")[2]) for p in paths}


def _with_field_ids(rows: DataFrame, table: Table) -> DataFrame:
    schema = {field.name: field.dataType for field in rows.schema}

    def values() -> Iterator[Expression]:
        for column in table.columns:
            value = F.col(backticked(column.name))
            if column.children:  # a cast carries the ids of the fields
                value = value.cast(_type_with_ids(schema[column.name], column))
            yield value.alias(column.name, metadata={FIELD_ID: column.id})
        for name, (stored, known_id) in STORED.items():
            if name in schema:
                yield F.col(name).alias(stored, metadata={FIELD_ID: known_id})

    return rows.select(*values(), TARGET)


def _type_with_ids(data_type: T.DataType, column: Column) -> T.DataType:
    if not isinstance(data_type, T.StructType):
        return data_type
    return T.StructType(
        [
            T.StructField(f.name, _type_with_ids(f.dataType, child), True, {FIELD_ID: child.id})
            for f, child in zip(data_type, column.children, strict=True)
        ]
    )


def _described(
    table: Table, columns: Sequence[Column], paths: Iterable[StoredPath]
) -> list[NewDataFile]:
    def describe(path: StoredPath) -> NewDataFile:
        footer = read_footer(path.under(table.location))
        if any(field_id(field) is None for field in footer.schema):
            raise ConfigError(  # DuckDB would take its columns by their place (rule 7)
                f"Spark wrote a file of {table.name} without field ids.",
                hint="Take a session for this: Session.sibling(writes_field_ids=True).",
            )
        return described(path, footer, leaves_of(footer.schema, columns))

    return describe_visible(table, paths, describe)


def _moved(
    table: Table, files: Mapping[int, NewDataFile], directories: Sequence[str]
) -> dict[int, NewDataFile]:
    """The files by target, each at its place."""
    places = {
        target: StoredPath(f"{directories[target]}ducklake-{marked_uuid(table.mark)}.parquet")
        for target in files
    }

    def move(target: int) -> NewDataFile:
        file, place = files[target], places[target]
        move_file(file.path.under(table.location), place.under(table.location))
        return replace(file, path=place)

    try:
        with files_of(table.name), ThreadPoolExecutor(_THREADS) as pool:
            return dict(zip(places, pool.map(move, places), strict=True))
    except BaseException:
        discard(table, places.values())
        raise
