"""Our client finds the rows DuckDB writes into files as DuckDB does, at every snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.lakes import LakeAddress
from support.shared_duck import SharedDuck
from support.states import assert_read_alike, row_counts
from support.values import value_columns, value_rows

_T = ("main", "t")


def _no_inlining(duck: SharedDuck) -> None:
    duck.run("CALL lake.set_option('data_inlining_row_limit', 0)")


def test_values_of_every_type_are_read_from_files(lake: LakeAddress) -> None:
    total = len(value_rows())
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
        duck.run(f"CREATE TABLE t ({value_columns()})")
        duck.run(f"INSERT INTO t VALUES {', '.join(value_rows())}")
        duck.run("UPDATE t SET c0 = NOT c0", "DELETE FROM t WHERE c1 = 127")
    assert row_counts(assert_read_alike(lake)) == [0, 0, total, total, total - 1]


def test_rows_are_inserted_updated_deleted_merged_and_truncated(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
        duck.run(
            "CREATE TABLE t (k INTEGER, v VARCHAR)",
            "INSERT INTO t SELECT range, 'a' FROM range(10)",
            "INSERT INTO t SELECT range, 'b' FROM range(10, 20)",
            "UPDATE t SET v = 'u' WHERE k % 7 = 0",
            "DELETE FROM t WHERE k IN (3, 13)",
            "DELETE FROM t WHERE k IN (4, 14)",
            "DELETE FROM t WHERE k < 10",
            "MERGE INTO t USING (SELECT range AS k, 'm' AS v FROM range(15, 25)) s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v)",
            "MERGE INTO t USING (SELECT 16 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE",
            "DELETE FROM t WHERE k = 1000",
            "TRUNCATE t",
            "INSERT INTO t VALUES (1, 'again')",
            "DELETE FROM t",
        )
    states = assert_read_alike(lake)
    assert row_counts(states) == [0, 0, 10, 20, 20, 18, 16, 8, 13, 12, 0, 1, 0]
    assert {row["v"] for _, row in states[8].rows[_T]} == {"b", "m"}


def test_several_changes_in_one_transaction_are_one_snapshot(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
        duck.run(
            "BEGIN",
            "CREATE TABLE t (k INTEGER, v VARCHAR)",
            "INSERT INTO t SELECT range, 'a' FROM range(20)",
            "DELETE FROM t WHERE k < 5",
            "COMMIT",
            "BEGIN",
            "INSERT INTO t SELECT range, 'b' FROM range(100, 110)",
            "DELETE FROM t WHERE k IN (6, 103)",
            "UPDATE t SET v = 'c' WHERE k IN (7, 104)",
            "DELETE FROM t WHERE k = 104",
            "COMMIT",
            "BEGIN",  # an overwrite
            "DELETE FROM t",
            "INSERT INTO t SELECT range, 'd' FROM range(7)",
            "COMMIT",
            "BEGIN",
            "INSERT INTO t VALUES (1, 'never')",
            "ROLLBACK",
            "BEGIN",
            "INSERT INTO t VALUES (8, 'e')",
            "ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 5",
            "CREATE TABLE other AS SELECT * FROM t",
            "UPDATE t SET w = k WHERE k < 3",
            "COMMIT",
        )
    states = assert_read_alike(lake)
    assert row_counts(states) == [0, 15, 22, 7, 8]
    assert states[4].rows[_T][0][1] == {"k": 0, "v": "d", "w": 0}


def test_columns_added_dropped_and_renamed_are_found_by_id(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
        duck.run(
            "CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE)",
            "INSERT INTO t VALUES (1, 'one', 1.5), (2, 'two', 2.5)",
            "ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 7",
            "ALTER TABLE t ADD COLUMN s VARCHAR DEFAULT 'it''s'",
            "ALTER TABLE t ADD COLUMN n DATE",
            "INSERT INTO t VALUES (3, 'three', 3.5, 8, 'x', '2024-01-01')",
            "ALTER TABLE t DROP COLUMN b",
            "ALTER TABLE t ADD COLUMN b VARCHAR",
            "INSERT INTO t VALUES (4, 4.5, 9, 'y', NULL, 'back')",
            "ALTER TABLE t RENAME a TO b2",
            "ALTER TABLE t RENAME c TO a",
            "UPDATE t SET a = a + 1 WHERE b2 = 1",
            "ALTER TABLE t DROP COLUMN d",
            "ALTER TABLE t ALTER s SET DEFAULT 'later'",
            "INSERT INTO t (b2) VALUES (5)",
        )
    states = assert_read_alike(lake)
    rows = [row for _, row in states[max(states)].rows[_T]]
    assert rows[1] == {"b2": 2, "a": 2.5, "s": "it's", "n": None, "b": None}
    assert rows[4] == {"b2": 5, "a": None, "s": "later", "n": None, "b": None}


def test_fields_of_structs_lists_and_maps_evolve(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
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
            "ALTER TABLE t ADD COLUMN s.b.x VARCHAR",
            "ALTER TABLE t ALTER s SET DATA TYPE "
            "STRUCT(renamed BIGINT, b STRUCT(y VARCHAR, z INTEGER, x VARCHAR), c VARCHAR)",
            "INSERT INTO t VALUES (5, {'renamed': 5000000000, 'b': NULL, 'c': 'd'}, NULL, NULL)",
            "UPDATE t SET id = 40 WHERE id = 4",
        )
    assert_read_alike(lake)


def test_promoted_columns_show_old_values_as_the_new_type(lake: LakeAddress) -> None:
    promotions = [
        ("TINYINT", "SMALLINT", ["-128", "127"]),
        ("SMALLINT", "BIGINT", ["-32768", "32767"]),
        ("UINTEGER", "BIGINT", ["0", "4294967295"]),
        ("INTEGER", "DOUBLE", ["-2147483648", "2147483647"]),
        ("FLOAT", "DOUBLE", ["0.1", "'nan'", "'inf'", "1e-45"]),
        ("DECIMAL(9,2)", "DECIMAL(20,2)", ["-1234567.89", "0.01"]),
        ("DECIMAL(9,2)", "DECIMAL(38,4)", ["-1234567.89", "0.01"]),
        ("DECIMAL(35,2)", "DECIMAL(38,4)", ["-123456789012345678901234567890123.45"]),
        ("DATE", "TIMESTAMP", ["'2024-02-29'", "'infinity'", "'0044-03-15 (BC)'"]),
        ("TIMESTAMP_S", "TIMESTAMP", ["'2024-02-29 10:00:00'", "'1969-12-31 23:59:59'"]),
        ("TIMESTAMP", "TIMESTAMPTZ", ["'2024-02-29 10:00:00.5'", "'infinity'"]),
    ]
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
        rows = [", ".join(f"({value})" for value in values) for _, _, values in promotions]
        kinds = [(f"t{at}", old, new) for at, (old, new, _) in enumerate(promotions)]
        duck.run("BEGIN", *(f"CREATE TABLE {t} (v {old})" for t, old, _ in kinds), "COMMIT")
        for statement in (
            "INSERT INTO {table} VALUES (NULL), {rows}",
            "ALTER TABLE {table} ALTER v SET DATA TYPE {new}",
            "INSERT INTO {table} VALUES {rows}",
        ):
            duck.run("BEGIN")
            for (table, _, new), listed in zip(kinds, rows, strict=True):
                duck.run(statement.format(table=table, new=new, rows=listed))
            duck.run("COMMIT")
    assert_read_alike(lake)


def test_a_relative_data_path_starts_from_the_working_directory(
    lake: LakeAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    relative = LakeAddress(lake.kind, lake.catalog, "some/where/")
    with SharedDuck(relative) as duck:
        _no_inlining(duck)
        duck.run("CREATE TABLE t AS SELECT range AS a FROM range(5)", "DELETE FROM t WHERE a = 2")
    with relative.open(read_only=True) as catalog:
        assert catalog.data_path == f"{tmp_path}/some/where/"
        (file,) = catalog.at().files(catalog.at().table("t"))
        assert Path(file.path).is_relative_to(tmp_path / "some/where/main/t")
        assert file.delete_file is not None
        assert Path(file.delete_file.path).is_file()
