"""Conditions and values of a MERGE are evaluated for the rows that their clause is about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ducklake_spark.errors import QueryError
from ducklake_spark.session import Session
from support.sql_lakes import SqlLake, sql_lake


@pytest.fixture(scope="module")
def shared(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLake]:
    with sql_lake(session, tmp_path_factory.mktemp("merges")) as opened:
        yield opened


@pytest.fixture
def on(shared: SqlLake) -> SqlLake:
    shared.run(
        "CREATE OR REPLACE TABLE t AS SELECT * FROM VALUES (1, 10), (2, 0), (3, 5) AS v(id, x)",
        "CREATE OR REPLACE TABLE u AS SELECT * FROM VALUES (1, 0), (2, 4), (4, 8) AS v(id, x)",
    )
    return shared


MERGES = [
    # the row of the source that has x = 0 is matched
    ("WHEN NOT MATCHED AND 1 / u.x > 0 THEN INSERT *", [(1, 10), (2, 0), (3, 5), (4, 8)]),
    ("WHEN NOT MATCHED AND 1 / x > 0 THEN INSERT (id, x) VALUES (id, 16 DIV x)",
     [(1, 10), (2, 0), (3, 5), (4, 2)]),
    # an earlier clause has taken the row
    ("WHEN MATCHED AND u.x = 0 THEN DELETE "
     "WHEN MATCHED AND 1 / u.x > 0 THEN UPDATE SET x = 8 DIV u.x",
     [(2, 2), (3, 5)]),
    ("WHEN MATCHED AND u.x = 0 THEN DO NOTHING WHEN MATCHED THEN UPDATE SET x = 8 DIV u.x",
     [(1, 10), (2, 2), (3, 5)]),
    # the row of the target that has x = 0 is matched
    ("WHEN NOT MATCHED BY SOURCE AND 1 / t.x > 0 THEN DELETE", [(1, 10), (2, 0)]),
    ("WHEN NOT MATCHED BY SOURCE AND 1 / x > 0 THEN UPDATE SET x = 15 DIV x",
     [(1, 10), (2, 0), (3, 3)]),
    ("WHEN MATCHED AND t.x <> 0 AND 20 / t.x = 2 THEN UPDATE SET x = 7 "
     "WHEN NOT MATCHED BY SOURCE AND 1 / x > 0 THEN DELETE "
     "WHEN NOT MATCHED AND 1 / x > 0 THEN INSERT *",
     [(1, 7), (2, 0), (4, 8)]),
    ("WHEN NOT MATCHED AND u.x = 8 THEN INSERT (id, x) VALUES (9, 9) "
     "WHEN NOT MATCHED AND u.id = 4 THEN INSERT * "
     "WHEN NOT MATCHED BY SOURCE AND x = 5 THEN UPDATE SET x = 6 "
     "WHEN NOT MATCHED BY SOURCE THEN DELETE",
     [(1, 10), (2, 0), (3, 6), (9, 9)]),
    ("WHEN NOT MATCHED AND NULL THEN INSERT * WHEN NOT MATCHED BY SOURCE AND NULL THEN DELETE "
     "WHEN MATCHED AND NULL THEN DELETE", [(1, 10), (2, 0), (3, 5)]),
]  # fmt: skip


@pytest.mark.parametrize(("clauses", "expected"), MERGES)
def test_conditions(on: SqlLake, clauses: str, expected: list[tuple[int, int]]) -> None:
    on.run(f"MERGE INTO t USING u ON t.id = u.id {clauses}")
    assert on.same("SELECT id, x FROM t") == expected


def test_a_condition_that_fails_for_its_own_rows_stops_the_merge(on: SqlLake) -> None:
    with pytest.raises(QueryError, match="DIVIDE_BY_ZERO"):
        on.run("MERGE INTO t USING u ON t.id = u.id WHEN MATCHED AND 1 / u.x > 0 THEN DELETE")
    assert on.same("SELECT id, x FROM t") == [(1, 10), (2, 0), (3, 5)]


def test_names_with_variables_are_columns(on: SqlLake) -> None:
    on.run("CREATE OR REPLACE TABLE w AS SELECT id, x FROM t")
    on.duck_runs('ALTER TABLE w RENAME x TO "${env:PATH}"')
    on.run("UPDATE w SET id = id + 10", "MERGE INTO w USING w AS s ON w.id = s.id "
           "WHEN MATCHED THEN UPDATE SET * ")  # fmt: skip
    assert on.same("SELECT * FROM w") == [(11, 10), (12, 0), (13, 5)]
