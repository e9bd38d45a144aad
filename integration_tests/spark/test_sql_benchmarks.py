"""TPC-H and TPC-DS on a lake that DuckDB wrote: Spark's answers are DuckDB's, pruned or not.

A few queries by default; DUCKLAKE_TEST_ALL_QUERIES=1 runs them all.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from ducklake_spark.session import Session
from support.oracle import connect
from support.sql_lakes import SqlLake, sql_lake

ALL = os.environ.get("DUCKLAKE_TEST_ALL_QUERIES") == "1"
# Written in pieces by this column, so that there are files to leave unread.
PIECES = {
    "lineitem": "year(l_shipdate)",
    "orders": "year(o_orderdate)",
    "store_sales": "ss_sold_date_sk // 400",
    "catalog_sales": "cs_sold_date_sk // 400",
    "web_sales": "ws_sold_date_sk // 400",
    "date_dim": "d_year // 20",
}


@dataclass
class Corpus:
    """A lake with the data of a benchmark, and DuckDB with its queries."""

    lake: SqlLake
    duck: duckdb.DuckDBPyConnection
    queries: dict[int, str]


def filled(lake: SqlLake, extension: str, generate: str, queries: str) -> Corpus:
    duck = connect(extension)
    duck.execute(generate)
    address = lake.address
    duck.execute(f"ATTACH 'ducklake:{address.catalog}' AS lake (DATA_PATH '{address.data_path}')")
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    for (table,) in duck.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = "
                                 "'memory'").fetchall():  # fmt: skip
        duck.execute(f"CREATE TABLE lake.{table} AS FROM memory.{table} LIMIT 0")
        piece = PIECES.get(table, "1")
        for (value,) in duck.execute(f"SELECT DISTINCT {piece} FROM memory.{table}").fetchall():
            duck.execute(
                f"INSERT INTO lake.{table} FROM memory.{table} "
                f"WHERE {piece} IS NOT DISTINCT FROM {'NULL' if value is None else value}"
            )
    found = dict(duck.execute(f"SELECT query_nr, query FROM {queries}()").fetchall())
    duck.execute("DETACH lake")
    return Corpus(lake, duck, found)


@pytest.fixture(scope="module")
def tpch(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with sql_lake(session, tmp_path_factory.mktemp("tpch")) as lake:
        yield filled(lake, "tpch", "CALL dbgen(sf=0.01)", "tpch_queries")


@pytest.fixture(scope="module")
def tpcds(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with sql_lake(session, tmp_path_factory.mktemp("tpcds")) as lake:
        yield filled(lake, "tpcds", "CALL dsdgen(sf=0.01)", "tpcds_queries")


def normal(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return value.rstrip()
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


def key(row: list[Any]) -> str:
    """Rows that are equal but for the last digits sort side by side."""
    return repr([f"{v:.4g}" if isinstance(v, float) else v for v in row])


def same(ours: list[list[Any]], theirs: list[list[Any]]) -> bool:
    def equal(a: Any, b: Any) -> bool:
        if isinstance(a, float) and isinstance(b, float):
            # Decimals that one engine rounds are doubles in the other.
            return math.isclose(a, b, rel_tol=1e-6, abs_tol=0.011) or (a != a and b != b)
        return bool(a == b)

    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(equal, a, b)) for a, b in zip(ours, theirs, strict=True)
    )


def compare(corpus: Corpus, number: int) -> None:
    tree = sqlglot.parse_one(corpus.queries[number], dialect="duckdb")
    # Which of equal rows a limit keeps is anybody's choice.
    tree.set("limit", None)
    expected = corpus.duck.execute(tree.sql("duckdb")).fetchall()
    theirs = sorted(([normal(v) for v in row] for row in expected), key=key)
    query = for_spark(tree)
    ours = sorted(([normal(v) for v in row] for row in corpus.lake.rows(query)), key=key)
    assert same(ours, theirs), f"{ours[:3]} is not {theirs[:3]}"
    with corpus.lake.without_pruning():
        unpruned = sorted(([normal(v) for v in row] for row in corpus.lake.rows(query)), key=key)
    assert same(unpruned, ours)


def for_spark(tree: exp.Expression) -> str:
    return tree.sql("spark")


@pytest.mark.parametrize("number", range(1, 23) if ALL else (1, 3, 6, 13))
def test_tpch(tpch: Corpus, number: int) -> None:
    compare(tpch, number)


@pytest.mark.parametrize("number", range(1, 100) if ALL else (7, 41, 55, 68, 88))
def test_tpcds(tpcds: Corpus, number: int) -> None:
    compare(tpcds, number)


def test_files_are_left_unread(tpch: Corpus) -> None:
    """Without this, pruned and unpruned would be the same trivially."""
    query = "SELECT sum(l_tax) FROM lineitem WHERE l_shipdate < '1993-01-01'"
    ((plan,),) = tpch.lake.rows(f"EXPLAIN {query}")
    assert "1 of 7 files" in plan.splitlines()[0]
