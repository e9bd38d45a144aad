"""A big lake: realistic catalog rows written past the client, into a lake that exists already.

Every table has the same ten columns. One of them, `events`, has nearly all the files; they follow
each other in `id`, `seen`, `code` and `amount`, like those of a table that grows by the hour.
"""

from __future__ import annotations

import datetime
import sqlite3
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Table
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from ducklake_spark.spec import tables
from ducklake_spark.spec.model import NewDataFile
from ducklake_spark.spec.names import uuid7
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.stats import ColumnStats
from support.lakes import LakeAddress

EVENTS = "events"
COLUMNS = (
    ("id", "int64"),
    ("seen", "timestamp"),
    ("day", "date"),
    ("code", "varchar"),
    ("amount", "decimal(12,2)"),
    ("price", "float64"),
    ("quantity", "int32"),
    ("paid", "boolean"),
    ("customer", "varchar"),
    ("token", "uuid"),
)
COLUMN_IDS = {name: at for at, (name, _) in enumerate(COLUMNS, start=1)}
ROWS_PER_FILE = 1000
FILES_OF_SMALL = 10
_BEGINNING = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
_MIDDLE = uuid.UUID(int=2**127)
_CHUNK = 50_000

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Size:
    """How much there is in a lake; the last table is `events`."""

    tables: int
    snapshots: int
    files: int

    @classmethod
    def scaled(cls, scale: float) -> Size:
        return cls(
            tables=max(20, round(1_000 * scale)),
            snapshots=max(40, round(10_000 * scale)),
            files=max(100, round(100_000 * scale)),
        )

    @property
    def target(self) -> int:
        """The place in `events` of the file that queries look for; it exists as Parquet."""
        return self.files * 2 // 3


def small_table(number: int) -> str:
    return f"small_{number:04d}"


def fill(address: LakeAddress, size: Size) -> None:
    """Write the rows of a big lake into an empty one, and the one data file that is read."""
    _LOADERS[address.kind](address.catalog, _rows(size))
    _write_target(Path(address.data_path) / "main" / EVENTS, size.target)


def time_of(snapshot_id: int) -> datetime.datetime:
    return _BEGINNING + datetime.timedelta(minutes=snapshot_id)


# --- rows ---


def _rows(size: Size) -> Iterator[tuple[Table, Iterable[Row]]]:
    files = list(_files(size))
    ids = range(1, size.tables + 1)
    option = ("data_inlining_row_limit", "0", "table")
    yield tables.snapshot, _snapshots(size, files)
    yield tables.snapshot_changes, _changes(size, files)
    yield tables.table, (_table(i, size) for i in ids)
    yield tables.column, (row for i in ids for row in _columns(i))
    yield tables.metadata_table, ((*option, i) for i in ids)
    yield tables.schema_versions, ((i, i, i) for i in ids)
    yield tables.table_stats, (_table_stats(i, size) for i in ids)
    yield tables.table_column_stats, (row for i in ids for row in _column_stats(i, size))
    yield tables.data_file, (_data_file(file) for file in files)
    yield tables.file_column_stats, (row for file in files for row in _file_stats(file))
    yield tables.delete_file, (_delete_file(file, size) for file in files if _has_delete(file))


@dataclass(frozen=True, slots=True)
class _File:
    id: int
    table_id: int
    place: int  # among the files of its table
    snapshot_id: int
    path: str


def _files(size: Size) -> Iterator[_File]:
    """Every snapshot after the tables were created adds some files to `events`, and one or two
    to the small tables."""
    small = (size.tables - 1) * FILES_OF_SMALL
    first, commits = size.tables + 1, size.snapshots - size.tables - 1
    events = ((size.tables, n, first + n * commits // size.files) for n in range(size.files))
    others = (
        (1 + n % (size.tables - 1), n // (size.tables - 1), first + n * commits // small)
        for n in range(small)
    )
    ordered = sorted((*events, *others), key=lambda file: file[2])
    for file_id, (table_id, place, snapshot_id) in enumerate(ordered):
        if table_id == size.tables and place == size.target:
            path = "target.parquet"
        else:
            path = f"ducklake-{uuid.UUID(int=file_id * 2**64 + table_id)}.parquet"
        yield _File(file_id, table_id, place, snapshot_id, path)


def _snapshots(size: Size, files: list[_File]) -> Iterator[Row]:
    end_of: dict[int, int] = {file.snapshot_id: file.id + 1 for file in files}
    next_file_id = 0
    for i in range(1, size.snapshots):
        version = min(i, size.tables)
        next_file_id = end_of.get(i, next_file_id)
        # The last one leaves room for the ids of delete files.
        extra = size.files if i == size.snapshots - 1 else 0
        yield i, time_of(i), version, version + 1, next_file_id + extra


def _changes(size: Size, files: list[_File]) -> Iterator[Row]:
    changed: dict[int, dict[str, None]] = {}
    for file in files:
        token = f"inserted_into_table:{file.table_id}"
        changed.setdefault(file.snapshot_id, {})[token] = None
    for i in range(1, size.snapshots):
        text = ",".join(changed.get(i, ())) or None
        if i <= size.tables:
            text = f'created_table:"main"."{_name(i, size)}"'
        yield i, text, "bench", f"load {i}", None


def _name(table_id: int, size: Size) -> str:
    return EVENTS if table_id == size.tables else small_table(table_id)


def _table(table_id: int, size: Size) -> Row:
    name = _name(table_id, size)
    return table_id, uuid7(), table_id, None, 0, name, f"{name}/", True


def _columns(table_id: int) -> Iterator[Row]:
    for at, (name, kind) in enumerate(COLUMNS, start=1):
        default = (None, "NULL", True, None, "literal", "duckdb")
        yield at, table_id, None, table_id, at, name, kind, *default


def _files_of(table_id: int, size: Size) -> int:
    return size.files if table_id == size.tables else FILES_OF_SMALL


def _table_stats(table_id: int, size: Size) -> Row:
    files = _files_of(table_id, size)
    return table_id, files * ROWS_PER_FILE, files * ROWS_PER_FILE, files * 30_000


def _column_stats(table_id: int, size: Size) -> Iterator[Row]:
    ends = zip(stats_of(0), stats_of(_files_of(table_id, size) - 1), strict=True)
    for first, last in ends:
        row = (False, first.contains_nan, first.min_value, last.max_value, None)
        yield table_id, first.column_id, *row


def _data_file(file: _File) -> Row:
    head = (file.id, file.table_id, file.snapshot_id, None, None, file.path, True, "parquet")
    start = file.place * ROWS_PER_FILE
    return *head, ROWS_PER_FILE, 30_000, None, start, None, None, None, None


def _file_stats(file: _File) -> Iterator[Row]:
    for s in stats_of(file.place):
        counts = (s.column_size_bytes, s.value_count, s.null_count)
        ends = (s.min_value, s.max_value, s.contains_nan, s.extra_stats)
        yield file.id, file.table_id, s.column_id, *counts, *ends


def _has_delete(file: _File) -> bool:
    return file.place % 100 == 99


def _delete_file(file: _File, size: Size) -> Row:
    head = (2 * size.files + file.id, file.table_id, file.snapshot_id, None, file.id)
    path = file.path.replace(".parquet", "-delete.parquet")
    return *head, path, True, "parquet", 7, 900, None, None, None


def stats_of(place: int) -> tuple[ColumnStats, ...]:
    """The statistics of a table's file, by its place among the table's files."""
    first, last = place * ROWS_PER_FILE, (place + 1) * ROWS_PER_FILE - 1
    ends = {
        "id": (str(first), str(last)),
        "seen": (_at(first), _at(last)),
        "day": (_at(first)[:10], _at(last)[:10]),
        "code": (_code(first), _code(last)),
        "amount": (_amount(first), _amount(last)),
        "price": ("0.01", "999.99"),
        "quantity": ("1", "100"),
        "paid": ("0", "1"),
        "customer": ("Aaron", "Zoe"),
        "token": (str(uuid.UUID(int=place)), str(uuid.UUID(int=2**128 - 1 - place))),
    }
    return tuple(
        ColumnStats(
            column_id=COLUMN_IDS[name],
            column_size_bytes=3_000,
            value_count=ROWS_PER_FILE,
            null_count=0,
            min_value=low,
            max_value=high,
            contains_nan=False if name == "price" else None,
        )
        for name, (low, high) in ends.items()
    )


def new_file(place: int) -> NewDataFile:
    """A file to append, of the size and with the statistics of all others."""
    path = StoredPath(f"ducklake-{uuid7()}.parquet")
    return NewDataFile(path, ROWS_PER_FILE, 30_000, 1_500, stats_of(place))


def _at(row: int) -> str:
    return f"{at_of(row):%Y-%m-%d %H:%M:%S}"


def at_of(row: int) -> datetime.datetime:
    return _BEGINNING.replace(tzinfo=None) + datetime.timedelta(seconds=row)


def _code(row: int) -> str:
    return code_of(row)


def code_of(row: int) -> str:
    return f"O-{row:012d}"


def _amount(row: int) -> str:
    return f"{row // 100}.{row % 100:02d}"


# --- the one file that is read ---


def _write_target(folder: Path, place: int) -> None:
    rows = range(place * ROWS_PER_FILE, (place + 1) * ROWS_PER_FILE)
    values: dict[str, pa.Array] = {
        "id": pa.array(rows, pa.int64()),
        "seen": pa.array([at_of(row) for row in rows], pa.timestamp("us")),
        "day": pa.array([at_of(row).date() for row in rows], pa.date32()),
        "code": pa.array([code_of(row) for row in rows], pa.string()),
        "amount": pa.array([_amount(row) for row in rows]).cast(pa.decimal128(12, 2)),
        "price": pa.array([1.5] * ROWS_PER_FILE, pa.float64()),
        "quantity": pa.array([1] * ROWS_PER_FILE, pa.int32()),
        "paid": pa.array([True] * ROWS_PER_FILE, pa.bool_()),
        "customer": pa.array(["Maria"] * ROWS_PER_FILE, pa.string()),
        "token": pa.array([_MIDDLE.bytes] * ROWS_PER_FILE, pa.binary(16)),
    }
    schema = pa.schema(
        pa.field(name, array.type, metadata={"PARQUET:field_id": str(COLUMN_IDS[name])})
        for name, array in values.items()
    )
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(list(values.values()), schema=schema), folder / "target.parquet")


# --- loading ---

_Parts = Iterator[tuple[Table, Iterable[Row]]]


def _load_sqlite(catalog: str, parts: _Parts) -> None:
    dialect = SQLiteDialect()
    connection = sqlite3.connect(catalog.removeprefix("sqlite:"))
    for table, rows in parts:
        marks = ", ".join("?" * len(table.c))
        processors = [
            column.type.dialect_impl(dialect).bind_processor(dialect) for column in table.c
        ]
        some = [(at, process) for at, process in enumerate(processors) if process]
        converted = (_converted(row, some) for row in rows)
        connection.executemany(f'INSERT INTO "{table.name}" VALUES ({marks})', converted)
    connection.commit()
    connection.close()


def _converted(row: Row, processors: list[tuple[int, Callable[[Any], Any]]]) -> Row:
    values = list(row)
    for at, process in processors:
        values[at] = process(values[at])
    return tuple(values)


def _load_postgres(catalog: str, parts: _Parts) -> None:
    with psycopg.connect(catalog.removeprefix("postgres:")) as connection:
        for table, rows in parts:
            with connection.cursor().copy(f'COPY "{table.name}" FROM STDIN') as copy:
                for row in rows:
                    copy.write_row(row)
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")  # as the server's autovacuum would, a little later


def _load_duckdb(catalog: str, parts: _Parts) -> None:
    with duckdb.connect(catalog) as connection:
        for table, rows in parts:
            for chunk in _chunks(rows):
                columns = zip(*chunk, strict=True)
                arrays = [pa.array([_plain(value) for value in column]) for column in columns]
                loaded = pa.table(arrays, names=[column.name for column in table.c])
                connection.register("loaded", loaded)
                connection.execute(f'INSERT INTO "{table.name}" SELECT * FROM loaded')


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, uuid.UUID) else value


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


_LOADERS: dict[str, Callable[[str, _Parts], None]] = {
    "sqlite": _load_sqlite,
    "postgres": _load_postgres,
    "duckdb": _load_duckdb,
}
