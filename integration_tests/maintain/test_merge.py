"""merge_adjacent_files: fewer files, and every snapshot as it was."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import ConfigError, PartlyDoneError, UnsupportedFeatureError
from ducklake_spark.maintain import CompactedFile, merge_adjacent_files
from ducklake_spark.session import Session
from ducklake_spark.write import append
from support.compactions import done_as_foretold, known_files, parquet_files
from support.lakes import LakeAddress
from support.oracle import Oracle, duck_runs
from support.unharmed import seen_by_duckdb, unharmed

NO_INLINING = "CALL lake.set_option('data_inlining_row_limit', 0)"

merged = partial(done_as_foretold, merge_adjacent_files)


def inserts(first: int, files: int, rows: int = 4, table: str = "t") -> list[str]:
    """Statements that make a file each."""
    return [
        f"INSERT INTO {table} SELECT i, 's' || (i % 3) FROM range({at}, {at + rows}) r(i)"
        for at in range(first, first + files * rows, rows)
    ]


def prepared(lake: LakeAddress, *statements: str) -> None:
    duck_runs(lake, NO_INLINING, "CREATE TABLE t (k INTEGER, s VARCHAR)", *statements)


def files(lake: LakeAddress, table: str = "t") -> list[str]:
    """The data files of the newest snapshot."""
    with Oracle(lake) as duck:
        query = f"SELECT data_file FROM ducklake_list_files('lake', '{table}')"
        return [path for (path,) in duck.rows(query)]


def aim_at(lake: LakeAddress, size: int) -> None:
    """Set the size that files shall have; DuckDB takes no number without a unit."""
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.set_option("target_file_size", size)


def test_many_files_become_one(lake: LakeAddress, session: Session) -> None:
    prepared(lake, *inserts(0, 5))
    with unharmed(lake):
        assert merged(lake, session) == [CompactedFile("main", "t", 5, 1)]
    assert len(files(lake)) == 1
    assert merged(lake, session) == []


def test_duckdb_goes_on_with_a_merged_table(lake: LakeAddress, session: Session) -> None:
    prepared(lake, *inserts(0, 3))
    merged(lake, session)
    with Oracle(lake) as duck:
        duck.run(*inserts(100, 2), "DELETE FROM t WHERE k = 1", "UPDATE t SET s = 'u' WHERE k = 2")
    with unharmed(lake, by_duckdb=True), Oracle(lake) as duck:
        duck.run(
            "CALL ducklake_merge_adjacent_files('lake')",
            "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
            "CALL ducklake_merge_adjacent_files('lake')",
        )
    with Oracle(lake) as duck:
        newest = duck.snapshots()[-1]
        duck.run(
            f"CALL ducklake_expire_snapshots('lake', versions => {list(range(newest))})",
            "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
        )
        rows = duck.rows("SELECT k, s FROM t ORDER BY k")
    assert len(files(lake)) == 1
    expected = [k for k in [*range(12), *range(100, 108)] if k != 1]
    assert rows == [(k, "u" if k == 2 else f"s{k % 3}") for k in expected]


def test_each_set_of_columns_stays_by_itself(local: LakeAddress, session: Session) -> None:
    """What a column held before it was dropped, renamed or widened is there for old snapshots."""
    prepared(
        local,
        *inserts(0, 2),
        "ALTER TABLE t ADD COLUMN n STRUCT(a INTEGER, b VARCHAR)",
        "INSERT INTO t VALUES (50, 'x', {'a': 1, 'b': 'y'})",
        "INSERT INTO t VALUES (51, 'x', NULL)",
        "ALTER TABLE t ADD COLUMN n.c DOUBLE",
        "ALTER TABLE t ALTER k TYPE BIGINT",
        "ALTER TABLE t RENAME s TO label",
        "INSERT INTO t VALUES (52, 'x', {'a': 1, 'b': 'y', 'c': 0.5})",
        "INSERT INTO t VALUES (10000000000, NULL, {'a': 1, 'b': 'y', 'c': 'nan'})",
        "ALTER TABLE t DROP COLUMN n",
        "ALTER TABLE t ADD COLUMN s INTEGER DEFAULT 3",
        "INSERT INTO t VALUES (1, 'a', 1)",
        "INSERT INTO t VALUES (2, 'b', 2)",
    )
    with unharmed(local):
        done = merged(local, session)
    assert [row.files_processed for row in done] == [2, 2, 2, 2]


def test_lists_and_maps_come_along(local: LakeAddress, session: Session) -> None:
    with Oracle(local) as duck:
        duck.run(
            NO_INLINING,
            "CREATE TABLE t (k INTEGER, l STRUCT(x INTEGER[])[], m MAP(VARCHAR, DATE), u UUID)",
            "INSERT INTO t VALUES (1, [{'x': [1, NULL]}, NULL], MAP {'a': DATE '2024-01-01'}, "
            "uuid())",
            "INSERT INTO t VALUES (2, [], MAP {}, NULL), (3, NULL, NULL, uuid())",
        )
    with unharmed(local):
        merged(local, session)
    with unharmed(local, by_duckdb=True), Oracle(local) as duck:
        duck.run(
            "DELETE FROM t WHERE k = 2",
            "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
        )


@pytest.mark.parametrize("key", ["s", "bucket(3, k)"])
def test_partitions_stay_apart(local: LakeAddress, session: Session, key: str) -> None:
    prepared(
        local,
        *inserts(0, 2),
        f"ALTER TABLE t SET PARTITIONED BY ({key})",
        *inserts(100, 3, rows=9),
        "INSERT INTO t VALUES (NULL, NULL), (NULL, 'a/b c')",
        "ALTER TABLE t RESET PARTITIONED BY",
        *inserts(200, 2),
    )
    with unharmed(local):
        done = merged(local, session)
    assert sorted(row.files_processed for row in done) == [2, 2, 3, 3, 3]
    with Oracle(local) as duck:
        duck.run(f"ALTER TABLE t SET PARTITIONED BY ({key})", *inserts(300, 2, rows=9))
    with unharmed(local, by_duckdb=True), Oracle(local) as duck:
        duck.run("CALL ducklake_merge_adjacent_files('lake')")


def test_a_sorted_table_is_merged_in_its_order(local: LakeAddress, session: Session) -> None:
    prepared(
        local,
        *inserts(0, 2),
        "ALTER TABLE t RENAME s TO old",
        *inserts(20, 2),
        "ALTER TABLE t ADD COLUMN s INTEGER",
        "ALTER TABLE t SET SORTED BY (old DESC NULLS FIRST, s, k DESC)",
    )
    with unharmed(local):
        merged(local, session)
    for path in files(local):
        data = pq.read_table(path)
        found = list(zip(*(column.to_pylist() for column in data.columns[:2]), strict=True))
        assert found == sorted(found, key=lambda row: (row[1], row[0]), reverse=True)


def test_names_that_need_quotes(local: LakeAddress, session: Session) -> None:
    prepared(
        local,
        'ALTER TABLE t RENAME k TO "a.b c"',
        """ALTER TABLE t RENAME s TO "it's" """,
        'ALTER TABLE t SET SORTED BY ("a.b c" DESC)',
        *inserts(0, 2),
    )
    with unharmed(local):
        merged(local, session)


def test_files_with_deletes_are_left_alone(local: LakeAddress, session: Session) -> None:
    prepared(local, *inserts(0, 3), "DELETE FROM t WHERE k = 5")
    with unharmed(local):
        assert [row.files_processed for row in merged(local, session)] == [2]
    with Oracle(local) as duck:
        duck.run("CALL lake.set_option('data_inlining_row_limit', 10)", *inserts(50, 1))
        duck.run("DELETE FROM t WHERE k = 50")
    with unharmed(local):
        assert merged(local, session) == []


def test_updated_rows_keep_their_ids(local: LakeAddress, session: Session) -> None:
    prepared(local, *inserts(0, 2), "UPDATE t SET s = 'u' WHERE k IN (1, 5)", *inserts(50, 1))
    before = seen_by_duckdb(local)
    with unharmed(local):
        assert [row.files_processed for row in merged(local, session)] == [2]
    assert seen_by_duckdb(local).rows[max(before.rows)] == before.rows[max(before.rows)]


def test_what_spark_wrote_is_merged(local: LakeAddress, session: Session) -> None:
    """Its files have a name mapping, and each lies in a folder of its own."""
    prepared(local, *inserts(0, 1))
    for at in range(3):
        with local.open() as catalog, catalog.transaction() as tx:
            append(tx, "t", session.spark.createDataFrame([(at, "it's")], "k int, s string"))
    with unharmed(local):
        assert [row.files_processed for row in merged(local, session)] == [4]
    (path,) = files(local)
    assert Path(path).parent == Path(local.data_path) / "main" / "t"


def test_sizes_say_which_files_are_merged(local: LakeAddress, session: Session) -> None:
    prepared(local, *inserts(0, 2), *inserts(100, 2, rows=5000))
    with local.open() as catalog:
        sizes = sorted(f.file_size_bytes for f in catalog.at().files(catalog.at().table("t")))
    between = (sizes[1] + sizes[2]) // 2
    for options in ({"max_file_size": between}, {"min_file_size": between}):
        with local.open() as catalog:
            told = merge_adjacent_files(catalog, session, dry_run=True, **options)
        assert [row.files_processed for row in told] == [2]
    with Oracle(local) as duck:
        duck.run(*inserts(50, 3))
    aim_at(local, sizes[0] * 3)
    with unharmed(local):
        done = merged(local, session)
    assert [row.files_processed for row in done] == [3, 2]


def test_a_limit_counts_for_each_table(local: LakeAddress, session: Session) -> None:
    prepared(
        local, "CREATE TABLE u (k INTEGER, s VARCHAR)", *inserts(0, 4), *inserts(0, 4, table="u")
    )
    aim_at(local, 500)
    assert len(merged(local, session, max_compacted_files=1)) == 2
    assert len(merged(local, session)) == 2


def test_tables_can_opt_out(local: LakeAddress, session: Session) -> None:
    prepared(
        local,
        "CREATE SCHEMA other",
        "CREATE TABLE other.u (k INTEGER, s VARCHAR)",
        *inserts(0, 2),
        *inserts(0, 2, table="other.u"),
        "CALL lake.set_option('auto_compact', false, schema => 'other')",
    )
    with local.open() as catalog:
        told = merge_adjacent_files(catalog, session, schema="other", dry_run=True)
        assert told == []
    assert merged(local, session) == [CompactedFile("main", "t", 2, 1)]
    named = merged(local, session, schema="other", table_name="u")
    assert named == [CompactedFile("other", "u", 2, 1)]


def test_filters_find_the_same_rows_at_every_snapshot(local: LakeAddress, session: Session) -> None:
    prepared(
        local,
        "ALTER TABLE t ADD COLUMN f DOUBLE",
        *(
            f"INSERT INTO t VALUES ({k}, 's{k}', {f})"
            for k, f in enumerate((1, "'nan'", "NULL", -2))
        ),
    )
    questions = ("k >= 2", "s = 's1'", "f > 0", "f < 0", "f IS NULL", "k BETWEEN 1 AND 2")

    def answers() -> list[list[tuple[object, ...]]]:
        with Oracle(local) as duck:
            return [
                duck.rows(f"SELECT k FROM t AT (VERSION => {at}) WHERE {question} ORDER BY k")
                for at in range(2, 7)
                for question in questions
            ]

    before = answers()
    merged(local, session)
    assert answers() == before


@pytest.mark.parametrize(
    "value",
    [
        "INTERVAL 1 DAY",
        "'12:00:00+02'::TIMETZ",
        "TIMESTAMP_NS '2024-01-01'",
        "{'a': [TIMESTAMP_NS '2024-01-01']}",
        "1::VARIANT",
        "'POINT (1 2)'::GEOMETRY",
    ],
)
def test_tables_that_spark_cannot_write_are_left_alone_with_a_reason(
    local: LakeAddress, session: Session, value: str
) -> None:
    duck_runs(
        local,
        NO_INLINING,
        f'CREATE TABLE odd AS SELECT 1 AS k, {value} AS "a b"',
        f"INSERT INTO odd VALUES (2, {value})",
        "CREATE TABLE plain AS SELECT 1 AS k",
        "INSERT INTO plain VALUES (2)",
    )
    skipped, done = sorted(merged(local, session), key=lambda row: row.table_name)
    assert done == CompactedFile("main", "plain", 2, 1)
    assert (skipped.table_name, skipped.files_created) == ("odd", 0)
    assert re.fullmatch(
        r"Column 'a b' of main\.odd holds \w+, which Spark cannot write\.", skipped.skipped
    )
    with (
        local.open() as catalog,
        pytest.raises(UnsupportedFeatureError, match="its ducklake_merge_adjacent_files"),
    ):
        merge_adjacent_files(catalog, session, table_name="odd")
    duck_runs(local, "CALL ducklake_merge_adjacent_files('lake', 'odd')")
    assert merged(local, session) == []


def test_a_table_that_is_damaged_keeps_no_other_from_being_merged(
    local: LakeAddress, session: Session
) -> None:
    for name in ("damaged", "lost", "sound"):
        duck_runs(local, NO_INLINING, f"CREATE TABLE {name} (k INTEGER, s VARCHAR)")
        duck_runs(local, *inserts(0, 2, table=name))
    Path(files(local, "lost")[0]).unlink()
    local.sql(
        "UPDATE ducklake_data_file SET record_count = 9 WHERE data_file_id = "
        "(SELECT min(data_file_id) FROM ducklake_data_file)"
    )
    with local.open() as catalog, pytest.raises(PartlyDoneError) as caught:
        merge_adjacent_files(catalog, session)
    assert re.search(r"failed for main\.\w+, main\.\w+, and all else was done", str(caught.value))
    assert "of main.damaged from" in str(caught.value)
    assert "catalog counts 13" in str(caught.value)
    assert [len(files(local, name)) for name in ("damaged", "lost", "sound")] == [2, 2, 1]
    assert parquet_files(local) | {Path(files(local, "lost")[0]).name} == known_files(local)


def test_a_file_that_two_tables_share_stays(
    local: LakeAddress, session: Session, tmp_path: Path
) -> None:
    added = [f"{tmp_path}/data/added/{at}.parquet" for at in range(2)]
    Path(added[0]).parent.mkdir(parents=True)
    prepared(
        local,
        "CREATE TABLE u AS FROM t",
        *(f"COPY (SELECT {at} AS k, 'x' AS s) TO '{path}'" for at, path in enumerate(added)),
        f"CALL ducklake_add_data_files('lake', 'u', {added})",
        f"CALL ducklake_add_data_files('lake', 't', {added})",
    )
    with unharmed(local), unharmed(local, "u"):
        assert [row.files_processed for row in merged(local, session, table_name="t")] == [2]
        duck_runs(local, "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    with unharmed(local, "u"):
        merged(local, session)
        duck_runs(local, "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert not any(Path(path).exists() for path in added)


@pytest.mark.parametrize(
    "options",
    [
        {"max_compacted_files": 0},
        {"max_file_size": 0},
        {"min_file_size": 10, "max_file_size": 10},
        {"min_file_size": -1},
    ],
)
def test_limits_that_make_no_sense_are_refused(
    local: LakeAddress, session: Session, options: dict[str, int]
) -> None:
    prepared(local)
    with local.open() as catalog, pytest.raises(ConfigError, match="_file"):
        merge_adjacent_files(catalog, session, **options)
