"""INSERT, DELETE, UPDATE, MERGE and TRUNCATE through SQL; DuckDB reads the rows afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ducklake_spark.errors import DuckLakeError, QueryError
from ducklake_spark.session import Session
from support.sql_lakes import Rows, SqlLake, sql_lake

T = "CREATE TABLE lake.main.t (id INT, v STRING DEFAULT 'new', n DOUBLE)"


@pytest.fixture(scope="module")
def shared(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path_factory.mktemp("changes")) as opened:
        yield opened


@pytest.fixture
def on(shared: SqlLake) -> SqlLake:
    """A table `t` of three rows, anew for each test; one Spark and one lake are faster."""
    shared.run(
        "CREATE OR REPLACE " + T.removeprefix("CREATE "),
        "INSERT INTO lake.main.t VALUES (1, 'a', 1.5), (2, 'b', NULL), (3, DEFAULT, 3)",
    )
    return shared


@pytest.mark.parametrize(
    ("statement", "rows", "affected"),
    [
        ("INSERT INTO t VALUES (4, 'd', 4)", [(4, "d", 4.0)], 1),
        ("INSERT INTO TABLE main.t SELECT 4, 'd', 4", [(4, "d", 4.0)], 1),
        ("INSERT INTO t (n, id) VALUES (4, 4)", [(4, "new", 4.0)], 1),
        ("INSERT INTO t BY NAME SELECT 4 AS n, 5 AS id", [(5, "new", 4.0)], 1),
        ("INSERT INTO t (id, v) VALUES (4, DEFAULT), (5, NULL)",
         [(4, "new", None), (5, None, None)], 2),
        ("INSERT INTO t VALUES (4, CASE WHEN true THEN 'x,y' END, -1.0)", [(4, "x,y", -1.0)], 1),
        ("INSERT INTO t SELECT id + 10, v, n FROM t WHERE id = 1", [(11, "a", 1.5)], 1),
        ("INSERT INTO t TABLE t", [(1, "a", 1.5), (2, "b", None), (3, "new", 3.0)], 3),
        ("WITH c AS (SELECT 4 AS id) INSERT INTO t SELECT id, 'c', 0 FROM c", [(4, "c", 0.0)], 1),
        ("INSERT INTO t WITH c AS (SELECT 4 AS id) SELECT id, 'c', 0 FROM c", [(4, "c", 0.0)], 1),
        ("INSERT INTO t FROM range(4, 6) SELECT id, 'r', 0", [(4, "r", 0.0), (5, "r", 0.0)], 2),
        ("INSERT INTO t (SELECT 4, 'p', 0)", [(4, "p", 0.0)], 1),
        ("INSERT INTO t SELECT 1, 'a', 1 WHERE false", [], 0),
    ],
)  # fmt: skip
def test_insert(on: SqlLake, statement: str, rows: list[tuple[object, ...]], affected: int) -> None:
    before = on.duck("SELECT * FROM t")
    newest = on.newest
    outcome = on.run(statement)
    assert on.same("SELECT * FROM t") == sorted([*before, *rows], key=repr)
    assert (outcome.rows_inserted, outcome.rows_affected) == (affected, affected)
    assert (outcome.files > 0) == (affected > 0)
    assert outcome.snapshot_id == (newest + 1 if affected else None)


@pytest.mark.parametrize(
    ("statement", "left", "deleted"),
    [
        ("INSERT OVERWRITE t VALUES (9, 'z', 9)", [(9, "z", 9.0)], 3),
        ("INSERT OVERWRITE TABLE t SELECT id, v, n FROM t WHERE id > 2", [(3, "new", 3.0)], 3),
        ("INSERT INTO t REPLACE WHERE id < 3 SELECT 8, 'y', 8", [(3, "new", 3.0), (8, "y", 8.0)],
         2),
        ("INSERT INTO t AS x REPLACE ONLY WHERE x.id < 3 "
         "VALUES (2, 'y', 8), (4, 'z', 4), (null, 'n', 1)", [(2, "y", 8.0), (3, "new", 3.0)], 2),
        ("DELETE FROM t WHERE id = 1", [(2, "b", None), (3, "new", 3.0)], 1),
        ("DELETE FROM lake.main.t AS x WHERE x.id IN (SELECT max(id) FROM t)",
         [(1, "a", 1.5), (2, "b", None)], 1),
        ("DELETE FROM t WHERE EXISTS (SELECT 1 FROM (VALUES (2)) q(k) WHERE q.k = main.t.id)",
         [(1, "a", 1.5), (3, "new", 3.0)], 1),
        ("DELETE FROM t WHERE n IS NULL OR t.v LIKE 'n%'", [(1, "a", 1.5)], 2),
        ("DELETE FROM t WHERE v NOT LIKE 'n%'", [(3, "new", 3.0)], 2),
        ("DELETE FROM t WHERE id > 100", [(1, "a", 1.5), (2, "b", None), (3, "new", 3.0)], 0),
        ("DELETE FROM t", [], 3),
        ("TRUNCATE TABLE t", [], 3),
    ],
)  # fmt: skip
def test_what_takes_rows_away(
    on: SqlLake, statement: str, left: list[tuple[object, ...]], deleted: int
) -> None:
    outcome = on.run(statement)
    assert on.same("SELECT * FROM t") == sorted(left, key=repr)
    assert outcome.rows_deleted == deleted


def test_rows_that_replace_only_leaves_out_are_counted(on: SqlLake) -> None:
    outcome = on.run(
        "INSERT INTO t REPLACE ONLY WHERE id < 3 SELECT 3, 'x', 1 UNION SELECT 1, 'y', 1"
    )
    assert (outcome.rows_inserted, outcome.rows_deleted, outcome.rows_left_out) == (1, 2, 1)
    outcome = on.run("INSERT INTO t REPLACE ONLY WHERE id < 3 SELECT 3, 'x', 1")
    assert (outcome.rows_inserted, outcome.rows_deleted, outcome.rows_left_out) == (0, 1, 1)


@pytest.mark.parametrize(
    "test", ["id IN (SELECT max(id) FROM t)", "EXISTS (SELECT 1 WHERE id = 3)"]
)
def test_replace_only_takes_subqueries(on: SqlLake, test: str) -> None:
    new = "SELECT 3, 'x', 1 UNION SELECT 4, 'y', 1"
    outcome = on.run(f"INSERT INTO t REPLACE ONLY WHERE {test} {new}")
    assert (outcome.rows_inserted, outcome.rows_deleted, outcome.rows_left_out) == (1, 1, 1)


def test_replace_only_judges_rows_as_they_are_stored(on: SqlLake) -> None:
    statement = (
        "INSERT INTO t BY NAME REPLACE ONLY WHERE n IS NULL AND length(id) = {} SELECT ' 4' AS id"
    )
    assert on.run(statement.format(2)).rows_left_out == 1  # ' 4' is stored as 4
    for _ in range(2):
        assert on.run(statement.format(1)).rows_inserted == 1
    assert on.rows("SELECT count(*) FROM t WHERE id = 4") == [(1,)]


@pytest.mark.parametrize(
    ("statement", "values", "updated"),
    [
        ("UPDATE t SET v = 'x'", "xxx", 3),
        ("UPDATE t SET v = DEFAULT WHERE id = 1", "nbn", 1),
        ("UPDATE t AS y SET y.v = concat(y.v, '!') WHERE y.id IN (1, 2)", "a!b!n", 2),
        ("UPDATE lake.main.t SET v = main.t.id, n = n + 1 WHERE main.t.id = 2", "a2n", 1),
        ("UPDATE t SET v = (SELECT max(v) FROM t q WHERE q.id < 3) WHERE id = 3", "abb", 1),
        ("UPDATE t SET v = NULL WHERE id = 9", "abn", 0),
        ("UPDATE t SET v = CASE WHEN id = 1 THEN 'one' ELSE v END, id = id", "onebn", 3),
    ],
)
def test_update(on: SqlLake, statement: str, values: str, updated: int) -> None:
    outcome = on.run(statement)
    found = [row[1] for row in on.same("SELECT * FROM t ORDER BY id")]
    assert "".join(value if value != "new" else "n" for value in found) == values
    assert outcome.rows_updated == updated


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("DELETE FROM t\nWHERE id = 1\n  OR nope", "nope"),
        ("UPDATE t SET v = 'a',\n  n = nope + 1 WHERE id = 1", "nope"),
        ("UPDATE t SET v = 'a'\nWHERE v = nope(1)\n", "nope(1)"),
        ("MERGE INTO t USING (\n SELECT 1 AS id,\n  nope\n FROM t) s ON t.id = s.id "
         "WHEN MATCHED THEN DELETE", "nope"),
        ("MERGE INTO t USING t AS s ON t.id = s.id\nWHEN MATCHED AND s.nope THEN DELETE", "s.nope"),
        ("MERGE INTO t USING t AS s ON t.id = s.id\nWHEN MATCHED\n THEN UPDATE SET n = s.nope",
         "s.nope"),
        ("INSERT INTO t\nSELECT id,\n  nope,\n n FROM t", "nope"),
        ("INSERT INTO t SELECT id, nope, n FROM t", "nope"),
        ("INSERT INTO t (id, n)\nSELECT id,\n  1 / (id - 1) FROM t", "1 / (id"),
        ("UPDATE t\n  SET n = 1 / (id - 1)", "1 / (id"),
        ("DELETE FROM t WHERE\n 1 / (id - 1) > 0", "1 / (id"),
    ],
)  # fmt: skip
def test_errors_show_their_place(on: SqlLake, statement: str, wrong: str) -> None:
    with pytest.raises(QueryError) as caught:
        on.run(statement)
    number, line = next((n, x) for n, x in enumerate(statement.splitlines(), 1) if wrong in x)
    shown = f"line {number}: {line}"
    assert str(caught.value).endswith(f"\n  {shown}\n  {' ' * shown.index(wrong)}^")
    assert "_ducklake_" not in str(caught.value)


def test_names_that_identifier_spells(on: SqlLake) -> None:
    on.run(
        "CREATE TABLE IDENTIFIER('lake.main.' || 'x') (a INT, b STRING)",
        "INSERT INTO IDENTIFIER('x') (a, b) VALUES (1, 'p'), (2, 'q'), (3, 'r')",
        "UPDATE IDENTIFIER('main.x') SET b = 'u' WHERE x.a = 1",
        "DELETE FROM IDENTIFIER('x') AS y WHERE y.a = 2",
        "MERGE INTO IDENTIFIER('lake.x') t USING IDENTIFIER('x') s ON t.a = s.a + 2 "
        "WHEN MATCHED THEN UPDATE SET b = s.b",
        "ALTER TABLE IDENTIFIER('x') RENAME TO IDENTIFIER('`new x`')",
        "CREATE VIEW IDENTIFIER('w') AS SELECT b FROM IDENTIFIER('lake.main.`new x`')",
        "COMMENT ON COLUMN IDENTIFIER('main.`new x`.a') IS 'c'",
    )
    assert on.same("SELECT * FROM w") == [("u",), ("u",)]
    assert on.duck('SELECT a FROM "new x"') == [(1,), (3,)]
    on.run("DROP VIEW IDENTIFIER('w')", "DROP TABLE IDENTIFIER('lake.main.`new x`')")


def test_fields_of_structs_are_set(on: SqlLake) -> None:
    on.run(
        "CREATE OR REPLACE TABLE n (id INT, s STRUCT<a: INT, b: STRUCT<c: STRING>>)",
        "INSERT INTO n VALUES (1, named_struct('a', 1, 'b', named_struct('c', 'x'))), (2, NULL)",
        "UPDATE n SET s.a = s.a + 1, s.b.c = 'y' WHERE id = 1",
    )
    assert on.duck("SELECT * FROM n") == [(1, {"a": 2, "b": {"c": "y"}}), (2, None)]


MERGE = "MERGE INTO lake.main.t AS t USING (SELECT * FROM VALUES (2, 'B'), (7, 'G') s(id, v)) AS s "


@pytest.mark.parametrize(
    ("clauses", "left", "counts"),
    [
        ("ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
         "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
         [(1, "a", 1.5), (2, "B", None), (3, "new", 3.0), (7, "G", None)], (1, 1, 0)),
        ("ON t.id = s.id WHEN MATCHED AND t.n IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET n=0 "
         "WHEN NOT MATCHED AND s.id > 100 THEN INSERT (id) VALUES (s.id)",
         [(1, "a", 1.5), (3, "new", 3.0)], (0, 0, 1)),
        ("ON main.t.id = s.id WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN DELETE "
         "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = CASE WHEN t.id = 1 THEN 'one' END "
         "WHEN NOT MATCHED BY TARGET THEN INSERT (id, v, n) VALUES (s.id, DEFAULT, 1)",
         [(1, "one", 1.5), (2, "b", None), (7, "new", 1.0)], (1, 1, 1)),
        ("ON t.id = s.id WHEN MATCHED AND s.v = 'B' THEN DO NOTHING WHEN MATCHED THEN ERROR 'no' "
         "WHEN NOT MATCHED AND s.id < 7 THEN ERROR WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
         [(1, "a", 1.5), (2, "b", None), (3, "new", 3.0), (7, "new", None)], (1, 0, 0)),
        ("ON t.id = s.id AND t.v = 'b' WHEN MATCHED THEN DELETE",
         [(1, "a", 1.5), (3, "new", 3.0)], (0, 0, 1)),
    ],
)  # fmt: skip
def test_merge(
    on: SqlLake, clauses: str, left: list[tuple[object, ...]], counts: tuple[int, int, int]
) -> None:
    outcome = on.run(MERGE + clauses)
    assert on.same("SELECT * FROM t") == sorted(left, key=repr)
    assert (outcome.rows_inserted, outcome.rows_updated, outcome.rows_deleted) == counts


@pytest.mark.parametrize(
    "source", ["src", "main.src", "lake.main.src VERSION AS OF {0} x", "(SELECT * FROM src)"]
)
def test_the_star_of_a_merge(on: SqlLake, source: str) -> None:
    on.run("CREATE OR REPLACE TABLE src AS SELECT 3 AS id, 'S' AS v, 0.5D AS n "
           "UNION ALL SELECT 8, 'T', NULL")  # fmt: skip
    source = source.format(on.newest)
    alias = "x" if source.endswith(" x") else "src" if "SELECT" not in source else "q"
    source += " q" if alias == "q" else ""
    on.run(f"MERGE INTO t USING {source} ON t.id = {alias}.id "
           "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")  # fmt: skip
    assert on.same("SELECT * FROM t") == [
        (1, "a", 1.5), (2, "b", None), (3, "S", 0.5), (8, "T", None),
    ]  # fmt: skip


@pytest.mark.parametrize("keys", ["g", "bucket(4, id)"])
def test_partitions_are_overwritten(on: SqlLake, keys: str) -> None:
    on.run(
        "CREATE OR REPLACE TABLE p (id INT, g STRING) PARTITIONED BY (" + keys + ")",
        "INSERT INTO p VALUES (1, 'a'), (2, 'a'), (3, 'b')",
    )
    if keys == "g":
        on.run("INSERT OVERWRITE p PARTITION (g = 'a') SELECT 9")
        assert on.same("SELECT * FROM p") == [(3, "b"), (9, "a")]
        on.run("INSERT OVERWRITE p PARTITION (g) SELECT 4, 'b'")
        assert on.same("SELECT * FROM p") == [(4, "b"), (9, "a")]
        on.run("INSERT INTO p PARTITION (g = 'c') VALUES (5)")
        assert on.same("SELECT * FROM p") == [(4, "b"), (5, "c"), (9, "a")]
        with pytest.raises(DuckLakeError, match="IF NOT EXISTS"):
            on.run("INSERT OVERWRITE p PARTITION (g = 'c') IF NOT EXISTS SELECT 6")
    on.run("INSERT OVERWRITE p VALUES (7, 'z')")
    assert on.same("SELECT * FROM p") == [(7, "z")]


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("DATE '2024-01-15'", "TIMESTAMP_NTZ", "k"),
        ("DATE '2024-01-15'", "TIMESTAMP_NTZ", "bucket(64, k)"),
        ("CAST(1.5 AS DECIMAL(5, 2))", "DECIMAL(9, 3)", "k"),
        ("7", "DOUBLE", "k"),
    ],
)
def test_partitions_of_a_promoted_column_are_overwritten(
    on: SqlLake, old: str, new: str, key: str
) -> None:
    on.run(
        f"CREATE OR REPLACE TABLE o PARTITIONED BY ({key}) AS "
        f"SELECT {old} AS k, 1 AS v UNION ALL SELECT NULL, 2"
    )
    value = f"CAST({old} AS {new})"
    on.run(f"ALTER TABLE o ALTER COLUMN k TYPE {new}", f"INSERT INTO o SELECT {value}, 3")
    for v in (4, 5):
        on.run(f"INSERT OVERWRITE o PARTITION (k) SELECT {value}, {v}")
    assert on.same("SELECT v FROM o") == [(2,), (5,)]


def test_partitions_of_a_column_promoted_in_the_same_transaction(on: SqlLake) -> None:
    on.run("BEGIN", "CREATE OR REPLACE TABLE o (d DATE, v INT) PARTITIONED BY (d)")
    on.run("INSERT INTO o VALUES (DATE '2024-01-15', 1), (DATE '2024-01-16', 2)")
    on.run("ALTER TABLE o ALTER COLUMN d TYPE TIMESTAMP_NTZ")
    on.run("INSERT OVERWRITE o PARTITION (d) SELECT TIMESTAMP_NTZ '2024-01-15', 3", "COMMIT")
    assert on.same("SELECT v FROM o") == [(2,), (3,)]


@pytest.mark.parametrize(
    ("mode", "rows"),
    [("dynamic", [(1, 1, 9), (1, 2, 2), (2, 1, 3)]), ("static", [(1, 1, 9), (2, 1, 3)])],
)
def test_partitions_that_are_named_in_part(on: SqlLake, mode: str, rows: Rows) -> None:
    on.run(
        "CREATE OR REPLACE TABLE p (a INT, b INT, v INT) PARTITIONED BY (a, b)",
        "INSERT INTO p VALUES (1, 1, 1), (1, 2, 2), (2, 1, 3)",
    )
    on.lake.sql(f"SET spark.sql.sources.partitionOverwriteMode = {mode}")
    on.run("INSERT OVERWRITE p PARTITION (a = 1, b) SELECT 1, 9")
    on.lake.sql("RESET spark.sql.sources.partitionOverwriteMode")
    assert on.same("SELECT * FROM p") == rows


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("DELETE FROM t WHERE id IN (SELECT id FROM c) OR id = (SELECT max(n) FROM d)",
         [(1, "a", 1.5)]),
        ("UPDATE t SET v = (SELECT max(n) FROM d) WHERE id IN (TABLE c)",
         [(1, "a", 1.5), (2, "3", None), (3, "new", 3.0)]),
        ("MERGE INTO t USING c ON t.id = c.id WHEN MATCHED AND c.id < (SELECT n FROM d) THEN "
         "DELETE", [(1, "a", 1.5), (3, "new", 3.0)]),
    ],
)  # fmt: skip
def test_with_before_a_change(on: SqlLake, statement: str, rows: Rows) -> None:
    defined = "WITH c AS (SELECT id FROM t WHERE id = 2), d (n) AS (SELECT max(id) FROM t)"
    on.run(f"{defined} {statement}")
    assert on.same("SELECT * FROM t") == rows


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT INTO t VALUES (1, 'a')", "2 columns, and 3"),
        ("INSERT INTO t (id, nope) VALUES (1, 2)", "nope"),
        ("INSERT INTO t (id, id) VALUES (1, 2)", "id"),
        ("INSERT INTO t BY NAME SELECT 1 AS nope", "nope"),
        ("INSERT INTO t VALUES ('abc', 'a', 1)", "abc|CAST|type"),
        ("INSERT INTO t SELECT id / (id - id), v, n FROM t", "(?i)zero"),
        ("INSERT INTO nope VALUES (1)", "nope"),
        ("INSERT INTO t", "VALUES"),
        ("INSERT t VALUES (1)", "INTO"),
        ("FROM t INSERT INTO t SELECT * INSERT INTO t SELECT *", "not supported"),
        ("DELETE FROM t WHERE nope = 1", "nope"),
        ("DELETE FROM t WHERE", "condition"),
        ("DELETE FROM t USING s WHERE true", "USING"),
        ("DELETE FROM nope", "nope"),
        ("UPDATE t SET nope = 1", "nope"),
        ("UPDATE t SET id = 1, id = 2", "twice"),
        ("UPDATE t SET v = 'a' FROM s", "FROM"),
        ("UPDATE t SET id = 'abc'", "abc|CAST"),
        ("UPDATE t SET", "column"),
        ("MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.nope WHEN MATCHED THEN DELETE", "nope"),
        ("MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id", "WHEN"),
        ("MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED AND t.id = 1 "
         "THEN ERROR 'one has come back' WHEN MATCHED THEN DELETE", "one has come back"),
        ("MERGE INTO t USING (SELECT 9 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN ERROR",
         "main.t: a row is not matched"),
        ("MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
         "lacks 'v', 'n'"),
        ("MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN "
         "INSERT (id, v) VALUES (1)", "2 columns and gives 1"),
        ("MERGE INTO t USING (SELECT 1 AS id FROM range(3)) s ON t.id = s.id "
         "WHEN MATCHED THEN UPDATE SET v = 'x'", "Several rows .* match .* for 1 row of"),
        ("MERGE WITH SCHEMA EVOLUTION INTO t USING s ON true WHEN MATCHED THEN DELETE", "ALTER"),
        ("TRUNCATE t", "TABLE"),
        ("WITH c AS (SELECT 1 AS n) DELETE FROM t WHERE id IN (SELECT nope FROM c)", "nope"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_changes_nothing(on: SqlLake, statement: str, message: str) -> None:
    before, rows = on.newest, on.duck("SELECT * FROM t")
    with pytest.raises(DuckLakeError, match=message) as caught:
        on.run(statement)
    assert "JVM" not in str(caught.value)
    assert on.newest == before
    assert on.duck("SELECT * FROM t") == rows


def test_an_outcome_is_a_row_too(on: SqlLake) -> None:
    (row,) = on.lake.sql("DELETE FROM t WHERE id = 1").collect()
    assert (row.operation, row.rows_affected, row.rows_deleted) == ("DELETE", 1, 1)
    assert row.snapshot_id == on.newest


def test_a_merge_by_keys_beyond_the_years_that_python_knows(on: SqlLake) -> None:
    on.duck_runs(
        "CALL lake.set_option('data_inlining_row_limit', 0)",
        "CREATE TABLE far (ts TIMESTAMP, d DATE, n INTEGER)",
        *(f"INSERT INTO far VALUES ('20{at}-01-01', '20{at}-01-01', 0)" for at in range(10, 18)),
        "INSERT INTO far VALUES ('infinity', 'infinity', 1), ('12000-01-01', '12000-01-01', 1)",
    )
    done = on.run(
        "MERGE INTO far USING (SELECT * FROM far WHERE n = 1) s ON far.ts = s.ts AND far.d = s.d "
        "WHEN MATCHED THEN UPDATE SET n = 2"
    )
    assert done.rows_updated == 2
    assert on.same("SELECT n, count(*) FROM far GROUP BY ALL") == [(0, 8), (2, 2)]
