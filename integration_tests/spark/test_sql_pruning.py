"""Pruning is never wrong: random conditions find the same rows with it and without."""

from __future__ import annotations

import os
import random
import struct
import uuid
from collections import defaultdict
from collections.abc import Iterator

import pytest

from ducklake_spark.session import Session
from support.sql_lakes import SqlLake, sql_lake

ROUNDS = int(os.environ.get("DUCKLAKE_TEST_ROUNDS", "2"))
FILES, ROWS, CONDITIONS = 14, 6, 40
ZONES = ["UTC", "Europe/Berlin", "+05:30", "America/St_Johns", "PST"]
TYPES = {
    "b": "BOOLEAN", "i8": "TINYINT", "i32": "INTEGER", "i64": "BIGINT", "u8": "UTINYINT",
    "u32": "UINTEGER", "f32": "FLOAT", "f64": "DOUBLE", "d9": "DECIMAL(9, 2)",
    "d30": "DECIMAL(30, 5)", "s": "VARCHAR", "d": "DATE", "ts": "TIMESTAMP",
    "tz": "TIMESTAMPTZ", "u": "UUID",
}  # fmt: skip
WORDS = ["", "a", "ab", "abc", "b", "B", "ä", "it's", "%", "a_b", "z" * 40, "𝄞", "a\\b", " a"]


def value(rng: random.Random, name: str, about: int) -> str:
    """A value near a number, as DuckDB's SQL casts it from text."""
    near = about + rng.randrange(-2, 3)
    match name:
        case "b":
            return str(about % 2 == 0).lower()
        case "i8" | "i32" | "u8" | "u32":
            return str(near % 100)
        case "i64":
            return str(rng.choice([near, near - 50, 2**53 + near, -(2**62) + near]))
        case "f32" | "f64":
            return rng.choice([f"{near / 10}", "NaN", "-0.0", "Infinity", f"{near}e30", f"{near}"])
        case "d9" | "d30":
            return f"{near / 4:.2f}"
        case "s":
            return WORDS[near % len(WORDS)]
        case "d":
            return f"2024-{near % 12 + 1:02}-{near % 28 + 1:02}"
        case "ts" | "tz":
            zone = "+00" if name == "tz" else ""
            fraction = rng.choice(["", ".5", ".000001"])
            return (
                f"2024-{near % 12 + 1:02}-{near % 28 + 1:02} {near % 24:02}:00:00{fraction}{zone}"
            )
        case _:
            return str(uuid.UUID(int=(near % 100) << rng.choice([0, 120])))


def text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def constant(rng: random.Random, name: str) -> str:
    """A value as Spark's SQL writes it, in one of the ways there are."""
    found = value(rng, name, rng.randrange(110))
    match name:
        case "b":
            return found
        case "i8" | "i32" | "i64" | "u8" | "u32":
            return rng.choice([found, f"{found}L", f"{found}.0", f"{found}.5", f"{found}e0",
                               f"CAST({found}.7 AS BIGINT)", f"- {found.lstrip('-')}",
                               text(found)])  # fmt: skip
        case "f32" | "f64":
            if found in ("NaN", "Infinity"):
                return f"CAST('{found}' AS {rng.choice(['DOUBLE', 'FLOAT'])})"
            exact = f"{struct.unpack('f', struct.pack('f', float(found)))[0]!r}D"
            forms = [found, f"{found}D", exact, f"CAST({found} AS INT)", f"{found}F"]
            return rng.choice(forms[:3] if "e" in found else forms)
        case "d9" | "d30":
            return rng.choice([found, f"{found}1", f"{found}D", f"{found}BD",
                               f"CAST({found} AS INT)"])  # fmt: skip
        case "d":
            return rng.choice([text(found), f"DATE '{found}'", f"TIMESTAMP '{found} 01:00:00'",
                               f"CAST('{found} 05:00:00' AS DATE)"])  # fmt: skip
        case "ts" | "tz":
            plain = found.removesuffix("+00")
            return rng.choice([text(plain), f"TIMESTAMP '{plain}'", f"DATE '{plain[:10]}'",
                               f"TIMESTAMP_NTZ '{plain}'", f"CAST('{plain}' AS DATE)"])  # fmt: skip
        case "u":
            return text(rng.choice([found, found.upper()]))
        case _:
            return text(found)


def condition(rng: random.Random, depth: int = 0) -> str:
    if depth < 2 and rng.random() < 0.35:
        parts = [condition(rng, depth + 1), condition(rng, depth + 1)]
        return rng.choice(["({} AND {})", "({} OR {})", "(NOT {} OR {})"]).format(*parts)
    name = rng.choice(list(TYPES))
    one, two = constant(rng, name), constant(rng, name)
    forms = [
        "{n} = {a}", "{n} < {a}", "{a} >= {n}", "{n} >= {a}", "{a} < {n}", "{n} IN ({a}, {b})",
        "{n} BETWEEN {a} AND {b}", "{n} IS NULL", "{n} IS NOT NULL", "{n} <=> {a}",
        "NOT {n} = {a}", "{n} NOT IN ({a})", "{n} NOT BETWEEN {a} AND {b}", "t.{n} == {a}",
    ]  # fmt: skip
    if name == "s":
        prefix = text(rng.choice(WORDS) + rng.choice(["%", "_", "%x"]))
        forms += [f"{{n}} LIKE {prefix}", f"{{n}} NOT LIKE {prefix}"]
    return rng.choice(forms).format(n=name, a=one, b=two)


@pytest.fixture(scope="module", params=range(ROUNDS))
def case(
    request: pytest.FixtureRequest, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[SqlLake, random.Random]]:
    """A table of many small files, each about a number, with NULLs and what else there is."""
    seed = int(os.environ.get("DUCKLAKE_TEST_SEED", 20260 + request.param))
    print(f"seed {seed}")
    rng = random.Random(seed)
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    statements = ["CALL lake.set_option('data_inlining_row_limit', 0)",
                  f"CREATE TABLE t (id INTEGER, {columns})"]  # fmt: skip
    for file in range(FILES):
        rows = []
        for at in range(ROWS):
            cells = [str(file * ROWS + at)]
            for name, kind in TYPES.items():
                empty = rng.random() < rng.choice([0, 0.2, 1 if file % 5 == 0 else 0])
                found = value(rng, name, file * 7).replace("'", "''")
                cells.append("NULL" if empty else f"'{found}'::{kind}")
            rows.append(f"({', '.join(cells)})")
        statements.append(f"INSERT INTO t VALUES {', '.join(rows)}")
    with sql_lake(session, tmp_path_factory.mktemp("pruning")) as lake:
        lake.duck_runs(*statements)
        yield lake, rng


def test_random_conditions(case: tuple[SqlLake, random.Random]) -> None:
    lake, rng = case
    lake.lake.sql(f"SET TIME ZONE '{rng.choice(ZONES)}'")
    conditions = [condition(rng) for _ in range(CONDITIONS)]
    truth: dict[int, set[int]] = defaultdict(set)
    columns = ", ".join(f"({one}) AS c{at}" for at, one in enumerate(conditions))
    for row in lake.lake.sql(f"SELECT id, {columns} FROM t").collect():
        for at in range(len(conditions)):
            if row[at + 1]:
                truth[at].add(row.id)
    query = " UNION ALL ".join(
        f"SELECT {at} AS at, id FROM t WHERE {one}" for at, one in enumerate(conditions)
    )
    found: dict[int, set[int]] = defaultdict(set)
    for row in lake.lake.sql(query).collect():
        found[row.at].add(row.id)
    for at, one in enumerate(conditions):
        assert found[at] == truth[at], one
    ((plan,),) = lake.rows(f"EXPLAIN {query}")
    pruned = [line for line in plan.splitlines() if f" of {FILES} files, by" in line]
    assert any(not line.startswith(f"{FILES} of") for line in pruned), plan[:2000]


def test_random_deletes(case: tuple[SqlLake, random.Random]) -> None:
    lake, rng = case
    for _ in range(3):
        one = condition(rng)
        (expected,) = lake.rows(f"SELECT count(*) FROM t WHERE coalesce({one}, false)")
        lake.run("BEGIN")
        deleted = lake.run(f"DELETE FROM t WHERE {one}").rows_deleted
        lake.run("ROLLBACK")
        assert (deleted,) == expected, one


@pytest.mark.parametrize("test", ["d = 0.001", "d IN (0.001, 7)", "d >= 0.001", "d < 0.005"])
def test_decimals_that_spark_rounds_before_it_compares_them(on: SqlLake, test: str) -> None:
    on.run("CREATE TABLE t (d DECIMAL(38, 2))", "INSERT INTO t VALUES (0)")
    found = on.rows(f"SELECT * FROM t WHERE {test}")
    with on.without_pruning():
        assert found == on.rows(f"SELECT * FROM t WHERE {test}")
