"""SQL on lakes of DuckLake 1.1: every way to read works as before, and every change is rejected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import UnwritableVersionError
from ducklake_spark.lake import Lake
from ducklake_spark.session import Session
from support.migration import migrate
from support.puffin import container, of
from support.sql_lakes import SqlLake, sql_lake

READ = (
    "SELECT * FROM t",
    "SELECT count(*), sum(k) FROM t WHERE v > 'b' AND k < 40",
    "SELECT * FROM t VERSION AS OF 3",
    "SELECT * FROM lake.table_changes('main.t', 1, 9)",
    "SELECT * FROM lake.table_deletions('main.t', 1, 9)",
    "SELECT * FROM small",
    "SELECT * FROM small VERSION AS OF 7",
    "SELECT * FROM recent",
    "SHOW SCHEMAS",
    "SHOW TABLES",
    "SHOW VIEWS",
    "SHOW CREATE TABLE t",
    "SHOW CREATE TABLE recent",
    "DESCRIBE TABLE EXTENDED t",
    "DESCRIBE recent",
    "SELECT snapshot_id, changes FROM lake.snapshots()",
    "CALL lake.snapshots()",
    "CALL lake.table_info()",
    "CALL lake.list_files('main.t')",
    "CALL lake.verify()",
    "CALL lake.merge_adjacent_files(dry_run => true)",
)
WRITES = (
    "CREATE SCHEMA other",
    "CREATE SCHEMA IF NOT EXISTS main",
    "DROP SCHEMA main CASCADE",
    "CREATE TABLE u (k INT)",
    "CREATE TABLE u AS SELECT * FROM t",
    "CREATE OR REPLACE TABLE t AS SELECT 1 AS k",
    "CREATE VIEW w AS SELECT 1 AS k",
    "CREATE FUNCTION lake.main.f(x INT) RETURNS INT RETURN x + 1",
    "ALTER TABLE t ADD COLUMN x INT",
    "ALTER TABLE t RENAME TO u",
    "COMMENT ON TABLE t IS 'x'",
    "DROP TABLE t",
    "DROP VIEW recent",
    "INSERT INTO t SELECT * FROM t",
    "INSERT OVERWRITE t SELECT * FROM t",
    "DELETE FROM t WHERE k = 20",
    "DELETE FROM t WHERE false",
    "UPDATE t SET k = k + 1",
    "UPDATE small SET k = k + 1",
    "MERGE INTO t USING small s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *",
    "TRUNCATE TABLE t",
    "CALL lake.set_option('target_file_size', '1MB')",
    "CALL lake.add_data_files('main.t', 'x.parquet')",
    "CALL lake.expire_snapshots(older_than => timestamp '2100-01-01')",
    "CALL lake.merge_adjacent_files()",
    "CALL lake.rewrite_data_files()",
    "CALL lake.flush_inlined_data()",
    "CALL lake.cleanup_old_files(cleanup_all => true)",
    "CALL lake.delete_orphaned_files(cleanup_all => true)",
    "CALL lake.checkpoint()",
    "CALL lake.create_indexes()",
    "CALL lake.rollback(2)",
)


@pytest.fixture(scope="module")
def on(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    """A lake that both engines have written, with a table in files and one in the catalog."""
    with sql_lake(session, tmp_path_factory.mktemp("lake")) as opened:
        opened.duck_runs(
            "CREATE TABLE t (k INTEGER, v VARCHAR)",
            "CALL lake.set_option('data_inlining_row_limit', 0, table_name => 't')",
            "INSERT INTO t SELECT i, 'v' || i FROM range(30) r(i)",
            "DELETE FROM t WHERE k < 3",
            "CREATE TABLE small (k INTEGER, v VARCHAR)",
            "INSERT INTO small VALUES (1, 'a'), (2, 'b')",
            "UPDATE small SET v = 'c' WHERE k = 2",
            "CREATE VIEW recent AS SELECT k, v FROM main.t WHERE k > 10",
        )
        opened.run("INSERT INTO t VALUES (50, 'ours')", "DELETE FROM t WHERE k = 5")
        yield opened


def _files(on: SqlLake) -> list[Path]:
    return sorted(Path(on.address.data_path).parent.rglob("*"))


def test_every_way_to_read_works_and_every_change_is_rejected(on: SqlLake) -> None:
    before = [on.rows(query) for query in READ]
    migrate(on.address)
    assert [on.rows(query) for query in READ] == before
    dumped, files = on.address.dump(), _files(on)
    for statement in WRITES:
        with pytest.raises(UnwritableVersionError) as rejected:
            on.lake.sql(statement)
        assert "DUCKLAKE_VERSION '1.0'" in str(rejected.value), statement
        assert _files(on) == files, statement
    on.run("BEGIN")
    with pytest.raises(UnwritableVersionError, match="transaction is still open"):
        on.run("INSERT INTO t VALUES (51, 'x')")
    assert on.rows("SELECT count(*) FROM recent")
    with pytest.raises(UnwritableVersionError):
        on.run("CALL lake.set_commit_message(author => 'me')")
    on.run("ROLLBACK")
    assert _files(on) == files
    assert on.address.dump() == dumped
    with Lake(on.lake.session.sibling(), {"lake": on.address.open()}) as lake:
        assert sorted(map(tuple, lake.sql(READ[0]).collect()), key=repr) == before[0]
        with pytest.raises(UnwritableVersionError):
            lake.sql(WRITES[0])


def test_a_migration_during_a_statement_leaves_nothing_behind(
    session: Session, tmp_path: Path
) -> None:
    with sql_lake(session, tmp_path) as on:
        on.run("CREATE TABLE t AS SELECT id AS k FROM range(9)")
        files = _files(on)
        on.run("BEGIN")
        on.run("INSERT INTO t VALUES (10)", "DELETE FROM t WHERE k = 3")
        assert len(on.rows("FROM t")) == 9
        migrate(on.address)
        dumped = on.address.dump()
        with pytest.raises(UnwritableVersionError, match="rolled back"):
            on.run("COMMIT")
        assert on.address.dump() == dumped
        assert _files(on) == files
        assert on.rows("SELECT count(*) FROM t") == [(9,)]


def test_vectors_of_several_snapshots_are_read(session: Session, tmp_path: Path) -> None:
    """A delete file with the snapshot of each position becomes a container with the same."""
    with sql_lake(session, tmp_path) as on:
        on.run(
            "CREATE TABLE t AS SELECT id AS k FROM range(0, 1000, 1, 1)",
            "DELETE FROM t WHERE k IN (1, 2)",
            "DELETE FROM t WHERE k IN (5, 999)",
            "DELETE FROM t WHERE k BETWEEN 100 AND 200",
        )
        queries = [f"SELECT * FROM t VERSION AS OF {at}" for at in range(1, 5)]
        queries += ["SELECT * FROM lake.table_changes('main.t', 2, 4)", "CALL lake.verify()"]
        before = [on.rows(query) for query in queries]
        assert [len(rows) for rows in before] == [1000, 998, 996, 895, 105, 0]
        ((name,),) = on.address.sql("SELECT path FROM ducklake_delete_file")
        old = Path(on.address.data_path, "main/t", name)
        deletes = pq.read_table(old)
        snapshots = deletes.column(2)
        vectors = [
            (str(at), of(*deletes.filter(pc.less_equal(snapshots, at))["pos"].to_pylist()))
            for at in (2, 3, 4)
        ]
        new = old.with_suffix(".puffin")
        new.write_bytes(container(*vectors))
        migrate(on.address)
        on.address.run(
            "UPDATE ducklake_delete_file SET format = 'puffin', footer_size = 0, "
            f"file_size_bytes = {new.stat().st_size}, path = '{new.name}'"
        )
        old.unlink()
        assert [on.rows(query) for query in queries] == before


def test_new_types_are_read(session: Session, tmp_path: Path) -> None:
    with sql_lake(session, tmp_path) as on:
        on.duck_runs(
            "CREATE TABLE t (k INTEGER, at_ns TIMESTAMP_NS, nothing INTEGER, ns TIMESTAMP_NS[])",
            "INSERT INTO t VALUES (1, '2024-03-31 01:30:00.000001', NULL, "
            "[TIMESTAMP_NS '1969-12-31 23:59:59.999999'])",
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "INSERT INTO t VALUES (2, '2024-03-31 01:30:00.000002', NULL, NULL), "
            "(3, 'infinity', NULL, [NULL])",
        )
        (old,) = Path(on.address.data_path).rglob("*.parquet")
        data = pq.read_table(old)
        zoned = pa.timestamp("ns", "UTC")
        data = data.set_column(
            1, data.schema.field(1).with_type(zoned), data.column(1).cast(pa.int64()).cast(zoned)
        )
        pq.write_table(data, old, use_dictionary=False)
        migrate(on.address)
        on.address.run(
            "UPDATE ducklake_column SET column_type = 'timestamptz_ns' "
            "WHERE column_type = 'timestamp_ns'",
            "UPDATE ducklake_column SET column_type = 'null' WHERE column_name = 'nothing'",
            f"UPDATE ducklake_data_file SET file_size_bytes = {old.stat().st_size}, "
            "footer_size = NULL",
        )
        on.lake.sql("SET spark.sql.session.timeZone = Europe/Berlin")
        rows = on.rows("SELECT k, unix_micros(at_ns), nothing, unix_micros(ns[0]) FROM t")
        first = 1_711_848_600_000_001
        assert rows == [
            (1, first, None, -1),
            (2, first + 1, None, None),
            (3, 2**63 - 1, None, None),
        ]
        assert on.rows("SELECT k FROM t WHERE at_ns = timestamp_micros(1711848600000002)") == [(2,)]
        described = {row[0]: row[1] for row in on.rows("DESCRIBE t")}
        assert described["at_ns"] == "timestamp"
        assert described["nothing"] == "void"
