"""Our client reads the rows and deletes that DuckDB keeps in the catalog, at every snapshot."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.lakes import LakeAddress
from support.reader import read_rows
from support.shared_duck import SharedDuck
from support.states import assert_read_alike, row_counts
from support.values import value_columns, value_rows

_T = ("main", "t")


def test_values_of_every_type_are_read_from_the_catalog(lake: LakeAddress) -> None:
    total = len(value_rows())
    with SharedDuck(lake) as duck:
        duck.run(f"CREATE TABLE t ({value_columns()})")
        duck.run(f"INSERT INTO t VALUES {', '.join(value_rows())}")
        duck.run("DELETE FROM t WHERE c1 = 127", "INSERT INTO t (c1) VALUES (1)")
    states = assert_read_alike(lake)
    assert row_counts(states) == [0, 0, total, total - 1, total]
    assert all(state.files.get(_T, []) == [] for state in states.values())


def test_inlined_rows_are_updated_and_deleted(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (k INTEGER, v VARCHAR)",
            "INSERT INTO t SELECT range, 'a' FROM range(10)",
            "UPDATE t SET v = 'u' WHERE k IN (2, 3)",
            "DELETE FROM t WHERE k IN (3, 4)",
            "INSERT INTO t VALUES (20, 'b')",
            "BEGIN",
            "INSERT INTO t VALUES (21, 'c'), (22, 'c')",
            "DELETE FROM t WHERE k IN (5, 21)",
            "UPDATE t SET v = 'w' WHERE k IN (22, 6)",
            "UPDATE t SET v = 'x' WHERE k = 6",
            "COMMIT",
            "TRUNCATE t",
            "INSERT INTO t VALUES (1, 'again')",
            "BEGIN",
            "DELETE FROM t",
            "INSERT INTO t VALUES (2, 'overwritten')",
            "COMMIT",
        )
    states = assert_read_alike(lake)
    assert row_counts(states) == [0, 0, 10, 10, 8, 9, 9, 0, 1, 1]
    assert [row["v"] for _, row in states[6].rows[_T]][-2:] == ["b", "w"]


def test_small_deletes_from_files_stay_in_the_catalog(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t AS SELECT range AS k, 'f' || range AS v FROM range(30)",
            "DELETE FROM t WHERE k IN (3, 7)",
            "INSERT INTO t SELECT range, 'g' FROM range(100, 120)",
            "DELETE FROM t WHERE k IN (8, 105)",
            "UPDATE t SET v = 'u' WHERE k = 9",
            "DELETE FROM t WHERE k BETWEEN 10 AND 25",
            "DELETE FROM t WHERE k IN (26, 106)",
            "BEGIN",
            "INSERT INTO t SELECT range, 'h' FROM range(200, 220)",
            "DELETE FROM t WHERE k IN (27, 107, 201)",
            "COMMIT",
            "DELETE FROM t WHERE k < 100",
        )
    states = assert_read_alike(lake)
    assert row_counts(states) == [0, 30, 28, 48, 46, 46, 30, 28, 45, 36]
    with lake.open(read_only=True) as catalog:
        reader = catalog.at(4)
        files = reader.files(reader.table("t"))
        assert [file.inlined_deletes for file in files] == [(3, 7, 8), (5,)]


def test_columns_change_while_rows_are_inlined(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (a INTEGER, b VARCHAR, c FLOAT, e DECIMAL(35,2))",
            "INSERT INTO t VALUES (1, 'one', 0.1, -123456789012345678901234567890123.45), "
            "(2, NULL, 'nan', 0.01)",
            "ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 7",
            "INSERT INTO t VALUES (3, 'three', 3.5, NULL, 8)",
            "ALTER TABLE t ALTER e SET DATA TYPE DECIMAL(38,4)",
            "ALTER TABLE t DROP COLUMN b",
            "ALTER TABLE t ADD COLUMN b DATE DEFAULT '2024-01-01'",
            "ALTER TABLE t RENAME a TO x",
            "INSERT INTO t VALUES (4, 4.5, 0.0001, 9, NULL)",
            "ALTER TABLE t ALTER c SET DATA TYPE DOUBLE",
            "ALTER TABLE t ALTER x SET DATA TYPE BIGINT",
            "ALTER TABLE t ALTER b SET DATA TYPE TIMESTAMP",
            "INSERT INTO t VALUES (5000000000, 0.1, 1, 10, '2024-02-02 01:02:03')",
            "UPDATE t SET d = d + 1 WHERE x IN (1, 4)",
            "DELETE FROM t WHERE x = 2",
            "ALTER TABLE t RENAME TO t2",
            "INSERT INTO t2 VALUES (6, 6.5, 1, 11, NULL)",
            'ALTER TABLE t2 RENAME d TO "Odd Näme"',
            "INSERT INTO t2 VALUES (7, 7.5, 2, 12, NULL)",
            "ALTER TABLE t2 SET PARTITIONED BY (x)",
            "INSERT INTO t2 VALUES (8, 8.5, 3, 13, NULL)",
        )
    states = assert_read_alike(lake)
    assert len(states[max(states)].rows["main", "t2"]) == 7


def test_nested_fields_change_while_rows_are_inlined(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (id INTEGER, s STRUCT(a INTEGER, b STRUCT(x INTEGER, y VARCHAR)), "
            "l STRUCT(p INTEGER, q VARCHAR)[], m MAP(VARCHAR, STRUCT(v INTEGER)))",
            "INSERT INTO t VALUES (1, {'a': 1, 'b': {'x': 2, 'y': 'y'}}, "
            "[{'p': 1, 'q': 'q'}, NULL], MAP {'k': {'v': 1}}), (2, NULL, NULL, NULL), "
            "(3, {'a': 3, 'b': NULL}, [], MAP {})",
            "ALTER TABLE t ADD COLUMN s.c VARCHAR",
            "ALTER TABLE t ADD COLUMN s.b.z INTEGER DEFAULT 9",
            "ALTER TABLE t ADD COLUMN l.element.r INTEGER",
            "ALTER TABLE t ADD COLUMN m.value.w DOUBLE",
            "INSERT INTO t VALUES (4, {'a': 4, 'b': {'x': 5, 'y': 'yy', 'z': 6}, 'c': 'c'}, "
            "[{'p': 2, 'q': 'qq', 'r': 3}], MAP {'k2': {'v': 2, 'w': 0.5}})",
            "ALTER TABLE t RENAME s.a TO renamed",
            "ALTER TABLE t DROP COLUMN s.b.x",
            "ALTER TABLE t DROP COLUMN l.element.p",
            "ALTER TABLE t ALTER s SET DATA TYPE "
            "STRUCT(renamed BIGINT, b STRUCT(y VARCHAR, z INTEGER), c VARCHAR)",
            "INSERT INTO t VALUES (5, {'renamed': 5000000000, 'b': NULL, 'c': 'd'}, NULL, NULL)",
        )
    assert_read_alike(lake)


def test_flushed_rows_keep_their_history(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (k INTEGER, v VARCHAR)",
            "INSERT INTO t SELECT range, 'a' FROM range(9)",
            "UPDATE t SET v = 'u' WHERE k IN (2, 3)",
            "DELETE FROM t WHERE k = 4",
            "ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 3",
            "INSERT INTO t VALUES (20, 'b', 4)",
            "CALL ducklake_flush_inlined_data('lake')",
            "INSERT INTO t VALUES (21, 'c', 5)",
            "DELETE FROM t WHERE k IN (5, 20)",
            "INSERT INTO t SELECT range, 'f', 6 FROM range(100, 130)",
            "DELETE FROM t WHERE k IN (6, 103)",
            "CALL ducklake_flush_inlined_data('lake', table_name => 't')",
            "DELETE FROM t WHERE k = 104",
            "UPDATE t SET v = 'last' WHERE k IN (105, 21, 0)",
            "CALL ducklake_flush_inlined_data('lake')",
        )
    states = assert_read_alike(lake)
    assert row_counts(states)[6:8] == [9, 9]
    assert row_counts(states)[11:] == [36, 36, 35, 35, 35]


def test_inlining_is_turned_off_and_on_again(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (k INTEGER)",
            "CREATE TABLE other (k INTEGER)",
            "CALL lake.set_option('data_inlining_row_limit', 0, table_name => 't')",
            "INSERT INTO t VALUES (1), (2), (3)",
            "INSERT INTO other VALUES (1), (2), (3)",
            "DELETE FROM t WHERE k = 1",
            "DELETE FROM other WHERE k = 1",
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE late (row_id INTEGER, begin_snapshot VARCHAR)",
            "INSERT INTO late VALUES (1, 'x')",
            "DROP TABLE late",
            "CREATE TABLE soon (k INTEGER)",
            "CALL lake.set_option('data_inlining_row_limit', 5)",
            "INSERT INTO soon VALUES (1), (2)",
            "INSERT INTO soon SELECT * FROM range(6)",
            "ALTER TABLE soon ADD COLUMN n INTEGER DEFAULT 4",
            "INSERT INTO soon VALUES (7, 8)",
            "DELETE FROM soon WHERE k = 2",
        )
    states = assert_read_alike(lake)
    assert row_counts(states, "soon")[-1] == 7


def test_tables_with_inlined_rows_are_replaced_and_dropped(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t AS SELECT 1 AS a",
            "CREATE OR REPLACE TABLE t AS SELECT 'x' AS b",
            "INSERT INTO t VALUES ('y')",
            "BEGIN",
            "CREATE TABLE n AS SELECT 1 AS i",
            "INSERT INTO n VALUES (2)",
            "ALTER TABLE n ADD COLUMN j INTEGER DEFAULT 5",
            "INSERT INTO n VALUES (3, 6)",
            "COMMIT",
            "DROP TABLE t",
            "CREATE TABLE t (b VARCHAR)",
            "INSERT INTO t VALUES ('z')",
        )
    states = assert_read_alike(lake)
    assert row_counts(states, "t") == [0, 1, 1, 2, 2, 0, 0, 1]
    assert row_counts(states, "n")[-1] == 3


@pytest.mark.parametrize("text", ["it's", 'say "hi"', "back\\slash", "a, 'b': c}", "", "NULL"])
def test_strings_in_inlined_structs_are_read_as_they_were_written(
    lake: LakeAddress, text: str
) -> None:
    # DuckDB itself reads some of them wrong, or not at all, so there is no comparing with it.
    literal = "'" + text.replace("'", "''") + "'"
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (s STRUCT(a VARCHAR, d DATE), l STRUCT(a VARCHAR)[])",
            f"INSERT INTO t VALUES ({{'a': {literal}, 'd': NULL}}, [{{'a': {literal}}}])",
        )
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        assert read_rows(reader, reader.table("t")) == [
            {"s": {"a": text, "d": None}, "l": [{"a": text}]}
        ]


def test_intervals_are_read_whatever_the_database_is_set_to(
    make_lake: Callable[[str], LakeAddress],
) -> None:
    lake = make_lake("postgres")
    with SharedDuck(lake) as duck:
        duck.run("CREATE TABLE t (i INTERVAL)")
        duck.run("INSERT INTO t VALUES (INTERVAL '1 month -2 days 03:04:05.6')")
    ((name,),) = lake.sql("SELECT current_database()")
    found = []
    for style in ("postgres", "iso_8601", "sql_standard"):
        lake.sql(f'ALTER DATABASE "{name}" SET IntervalStyle = {style}')
        with lake.open(read_only=True) as catalog:
            reader = catalog.at()
            found += read_rows(reader, reader.table("t"))
    assert len(found) == 3
    assert found == found[:1] * 3
