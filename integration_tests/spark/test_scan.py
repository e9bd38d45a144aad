"""Spark reads what DuckDB wrote, at every snapshot, and shows what DuckDB shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import CatalogDamagedError
from ducklake_spark.scan import ROW_ID, SNAPSHOT_ID, read_table
from ducklake_spark.session import Session
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle


@pytest.fixture
def lake(tmp_path) -> LakeAddress:  # type: ignore[no-untyped-def]
    folder = tmp_path / "odd {dir} é%20"
    folder.mkdir()
    return replace(file_lake("sqlite", folder), allow_paths=(str(tmp_path),))


HISTORY = (
    "CREATE TABLE t (id INTEGER, name VARCHAR DEFAULT 'x', st STRUCT(a INTEGER, b VARCHAR[]),"
    " m MAP(VARCHAR, INTEGER), d DECIMAL(10,2), ts TIMESTAMP, tz TIMESTAMPTZ, day DATE, u UUID,"
    " t TIME, f DOUBLE, bl BLOB, j JSON, ok BOOLEAN, u8 UTINYINT, u64 UBIGINT, ns TIMESTAMP_NS)",
    "INSERT INTO t SELECT i, 'n' || i, {'a': i, 'b': ['x', NULL]}, MAP {'k': i}, i / 7,"
    " TIMESTAMP '2024-01-01' + INTERVAL (i) HOUR, TIMESTAMPTZ '2024-01-01 00:00:00+00',"
    " DATE '2024-01-01' + i::INTEGER, uuid(), TIME '01:02:03.45', i / 3, 'ab'::BLOB, '{\"a\": 1}',"
    " i % 2 = 0, i, i, TIMESTAMP_NS '2024-01-01 00:00:00.123456' FROM range(40) r(i)",
    "INSERT INTO t (id, name) VALUES (100, NULL)",
    "DELETE FROM t WHERE id IN (3, 5)",
    "DELETE FROM t WHERE id % 4 = 0",
    "UPDATE t SET name = 'changed' WHERE id < 20",
    "ALTER TABLE t RENAME COLUMN name TO label",
    "ALTER TABLE t ADD COLUMN extra VARCHAR DEFAULT 'it''s \"so\\'",
    "ALTER TABLE t ADD COLUMN st.c VARCHAR",
    "ALTER TABLE t ALTER id TYPE BIGINT",
    "INSERT INTO t (id, label, st) VALUES (200, 'z', {'a': 1, 'b': [], 'c': 'q x'})",
    "ALTER TABLE t DROP COLUMN m",
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_merge_adjacent_files('lake')",
    "DELETE FROM t WHERE id = 7",
    "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.0)",
)


def test_every_snapshot_of_a_busy_table_reads_as_duckdb_reads_it(
    lake: LakeAddress, session: Session
) -> None:
    with Oracle(lake) as duck:
        duck.run(*HISTORY)
        snapshots = [s for s in duck.snapshots() if s > 0]
    with lake.open(read_only=True) as catalog, Oracle(lake) as duck:
        for snapshot in snapshots:
            reader = catalog.at(snapshot)
            table = reader.table("t")
            frame = read_table(session, reader, table, extras=(ROW_ID, SNAPSHOT_ID))
            ours = frame.toArrow()
            names = ", ".join(f'"{c.name}"' for c in table.columns)
            theirs = duck.connection.execute(
                f"SELECT {names}, rowid, snapshot_id FROM t AT (VERSION => {snapshot})"
            ).to_arrow_table()
            assert normal(ours) == normal(theirs), f"snapshot {snapshot}"


def normal(table) -> list[str]:  # type: ignore[no-untyped-def]
    """Rows as sorted text, where both engines spell a value alike."""
    rows = []
    for row in table.to_pylist():
        rows.append(" | ".join(_text(value) for value in row.values()))
    return sorted(rows)


def _text(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    if hasattr(value, "isoformat"):
        text = str(value).replace("+00:00", "")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)


def test_a_second_delete_file_that_duckdb_leaves_behind_doubles_no_rows(
    lake: LakeAddress, session: Session
) -> None:
    """DuckDB 1.5.5 flushes deletes of a file that was rewritten, and then sees its rows twice."""
    with Oracle(lake) as duck:
        duck.run(
            "CREATE TABLE t (id INTEGER)",
            "INSERT INTO t FROM range(40)",
            "DELETE FROM t WHERE id < 3",  # in the catalog
            "DELETE FROM t WHERE id BETWEEN 10 AND 30",  # a delete file
            "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.0)",
            "CALL ducklake_flush_inlined_data('lake')",
        )
    with lake.open() as catalog:
        reader = catalog.at(4)
        table = reader.table("t")
        assert any(file.further_deletes for file in reader.files(table))
        rows = read_table(session, reader, table).collect()
    assert sorted(row.id for row in rows) == [*range(3, 10), *range(31, 40)]


def test_values_of_folders(session: Session, lake: LakeAddress, tmp_path: Path) -> None:
    """Of files that DuckDB added, columns can be in the path alone."""
    folders = ["k=eu/d=2024-01-15", "k=us%20%C3%A9/d=__HIVE_DEFAULT_PARTITION__", "k=/d=0099-12-31"]
    for at, folder in enumerate(folders):
        (tmp_path / "added" / folder).mkdir(parents=True)
        pq.write_table(pa.table({"id": [at]}), tmp_path / "added" / folder / "a.parquet")
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE t (id BIGINT, k VARCHAR, d DATE)")
        duck.run(f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/added/*/*/*.parquet')")
        wanted = duck.rows("FROM t ORDER BY id")
    assert len(wanted) == len(folders)
    with lake.open() as catalog:
        reader = catalog.at()
        rows = read_table(session, reader, reader.table("t")).orderBy("id").collect()
    assert [tuple(row) for row in rows] == wanted
    lake.sql("DELETE FROM ducklake_name_mapping")
    with lake.open() as catalog:
        reader = catalog.at()
        with pytest.raises(CatalogDamagedError, match=r"main\.t has the name mapping \d+, which"):
            read_table(session, reader, reader.table("t"))
