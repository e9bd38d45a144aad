"""Spark reads added files with narrower types than the columns have, as DuckDB does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ducklake_spark.errors import IncompatibleFileError
from ducklake_spark.files import add_data_files
from ducklake_spark.scan import read_table
from ducklake_spark.session import Session
from support.lakes import file_lake
from support.oracle import Oracle
from support.reader import duck_rows
from support.spark_rows import spark_rows

_NANOS = "'2024-01-02 03:04:05.123456'::TIMESTAMP_NS"
# A column's type, and what files may hold instead.
_NARROWER = {
    "UBIGINT": ["255::UTINYINT", "65535::USMALLINT", "4294967295::UINTEGER"],
    "UINTEGER": ["255::UTINYINT", "65535::USMALLINT"],
    "BIGINT": ["255::UTINYINT", "65535::USMALLINT", "4294967295::UINTEGER", "(-7)::TINYINT"],
    "INTEGER": ["255::UTINYINT", "65535::USMALLINT"],
    "SMALLINT": ["255::UTINYINT"],
    "TIMESTAMP": [_NANOS, "'1969-01-02 03:04:05'::TIMESTAMP_S", "'2024-01-02'::TIMESTAMP_MS"],
    "TIMESTAMP_NS": ["'2024-01-02 03:04:05.123456'::TIMESTAMP"],
    "TIMESTAMP_S": ["'1969-01-02 03:04:05'::TIMESTAMP", "'1969-01-02 03:04:05'::TIMESTAMP_MS"],
    "UBIGINT[]": ["[1, 255, NULL]::UTINYINT[]"],
    "STRUCT(a UBIGINT, b TIMESTAMP)": [f"{{'a': 7::UINTEGER, 'b': {_NANOS}}}"],
}
_PAIRS = [(kind, value) for kind, values in _NARROWER.items() for value in values]


@pytest.mark.parametrize("by_duckdb", [False, True])
def test_narrower_types_are_read_as_duckdb_reads_them(
    session: Session, tmp_path: Path, by_duckdb: bool
) -> None:
    lake = file_lake("sqlite", tmp_path)
    columns = ", ".join(f"c{at} {kind}" for at, (kind, _) in enumerate(_PAIRS))
    values = ", ".join(f"{value} AS c{at}" for at, (_, value) in enumerate(_PAIRS))
    file = tmp_path / "added.parquet"
    with Oracle(lake) as duck:
        duck.run(
            f"CREATE TABLE t ({columns})",
            f"COPY (SELECT {values} FROM range(2)) TO '{file}'",
        )
        if by_duckdb:
            duck.run(f"CALL ducklake_add_data_files('lake', 't', '{file}')")
    if not by_duckdb:
        with lake.open() as catalog, catalog.transaction() as tx:
            add_data_files(tx, "t", str(file))
    with lake.open() as catalog, Oracle(lake) as duck:
        reader = catalog.at()
        table = reader.table("t")
        ours = spark_rows(read_table(session, reader, table), table.columns)
        for row, theirs in zip(ours, duck_rows(duck, table, "t"), strict=True):
            for at, column in enumerate(table.columns):
                assert repr(row[at]) == repr(theirs[column.name]), _PAIRS[at]


def test_a_file_without_any_column_of_the_table_is_rejected(tmp_path: Path) -> None:
    lake = file_lake("sqlite", tmp_path)
    file = tmp_path / "other.parquet"
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE t (a INTEGER)", f"COPY (SELECT 1 AS b) TO '{file}'")
    before = lake.dump()
    message = r"no column of main\.t"
    with (
        lake.open() as catalog,
        pytest.raises(IncompatibleFileError, match=message),
        catalog.transaction() as tx,
    ):
        add_data_files(tx, "t", str(file), allow_missing=True, ignore_extra_columns=True)
    assert lake.dump() == before
