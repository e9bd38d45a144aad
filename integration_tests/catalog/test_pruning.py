"""Statistics never rule out a file that holds a matching row, and rule out what they can.

The truth is DuckDB's, about a copy of the rows in memory. Random predicates have fixed seeds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ducklake_spark.catalog import Field
from ducklake_spark.spec.model import Column, Table
from ducklake_spark.spec.predicates import OneOf
from support.lakes import LakeAddress
from support.parquet import append
from support.probes import (
    Probe,
    Target,
    assert_pruned_right,
    copy_truth,
    every_probe,
    matching_files,
    random_probes,
    target,
)
from support.shared_duck import SharedDuck
from support.states import kept_open
from support.values import VALUES, value_rows

_SEEDS = (11, 12, 13)
_PER_SEED = 40
_NESTED = ("[]", "STRUCT(", "MAP(")
_PLAIN = [kind for kind in VALUES if not any(mark in kind for mark in _NESTED)]
# Values between and beyond those in the files.
_BETWEEN = {
    "TINYINT": ["0"],
    "INTEGER": ["0", "-1"],
    "BIGINT": ["0", "4294967296"],
    "UBIGINT": ["9223372036854775807", "18446744073709551614"],
    "FLOAT": ["0", "1", "0.10000001"],
    "DOUBLE": ["0", "0.1::FLOAT", "0.1000000000000001", "1e-320", "-1e300"],
    "DECIMAL(4,1)": ["0.0", "0.2"],
    "DECIMAL(9,9)": ["0.123456788", "0"],
    "DECIMAL(38,10)": ["9999999999999999999999999999.9999999999", "0.0000000002"],
    "TIME": ["'12:00:00'"],
    "DATE": ["'1970-01-01'", "'9999-12-31'", "'10000-01-01'", "'0001-01-01'"],
    "TIMESTAMP": ["'2024-02-29'", "'2024-02-29 10:11:12.1'", "'9999-12-31 23:59:59.999999'"],
    "TIMESTAMP_MS": ["'1970-01-01'"],
    "TIMESTAMPTZ": ["'2024-02-29 23:30:00+00'", "'2024-03-01 02:00:00.5+00'"],
    "VARCHAR": ["'i'", "'it'", "'j'", "'☃'", "'~'", "chr(0)", "'it' || chr(0)"],
    "UUID": ["'7fffffff-ffff-4fff-bfff-ffffffffffff'"],
}


def _literals(kind: str) -> list[str]:
    return [f"CAST({text} AS {kind})" for text in VALUES[kind] + _BETWEEN.get(kind, [])]


def _plain_rows() -> list[str]:
    """One row for each place in the lists of VALUES, the last of them all NULL."""
    return value_rows(_PLAIN)


def _probes(targets: list[Target]) -> list[Probe]:
    probes = list(every_probe(targets))
    for seed in _SEEDS:
        probes += random_probes(seed, targets, _PER_SEED)
    return probes


def _table(lake: LakeAddress) -> Table:
    with lake.open(read_only=True) as catalog:
        return catalog.at().table("t")


def _check(
    lake: LakeAddress, columns: list[tuple[Column, str, list[str]]], *, exact: bool = False
) -> None:
    """Probe columns, given with their SQL and literals, of table t."""
    with SharedDuck(lake) as duck:
        copy_truth(duck, "t")
        probes = _probes([target(duck, *column) for column in columns])
        truth = matching_files(duck, probes)
    with kept_open(lake), lake.open(read_only=True) as catalog:
        table = catalog.at().table("t")
        files = {file.path for file in catalog.at().files(table)} if exact else set()
        assert_pruned_right(catalog, table, probes, truth, exact=files)


def test_files_of_duckdb_with_values_of_every_type(lake: LakeAddress) -> None:
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(_PLAIN))
    with SharedDuck(lake) as duck:
        duck.run(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            f"CREATE TABLE t ({columns})",
            "BEGIN",
            *(f"INSERT INTO t VALUES {row}" for row in _plain_rows()),
            "COMMIT",
            f"INSERT INTO t VALUES {', '.join(_plain_rows()[1:3])}",
            f"INSERT INTO t VALUES {', '.join(_plain_rows())}",
        )
    table = _table(lake)
    literals = [(c, c.name, _literals(k)) for c, k in zip(table.columns, _PLAIN, strict=True)]
    _check(lake, literals, exact=True)


def test_files_flushed_from_the_catalog_and_files_added_as_they_are(
    lake: LakeAddress, tmp_path: Path
) -> None:
    # DuckDB adds no file with these: it reads them back as other types.
    kinds = [k for k in _PLAIN if k not in ("HUGEINT", "UHUGEINT", "TIMETZ", "INTERVAL")]
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(kinds))
    rows = value_rows(kinds)
    with SharedDuck(lake) as duck:
        duck.run(f"CREATE TABLE t ({columns})")
        for at, row in enumerate([rows[0], ", ".join(rows[1:3]), ", ".join(rows), rows[-1]]):
            path = f"{tmp_path}/{at}.parquet"
            duck.run(
                f"INSERT INTO t VALUES {row}",
                f"COPY (FROM t) TO '{path}' (FORMAT parquet)",
                "CALL ducklake_flush_inlined_data('lake')",
                f"CALL ducklake_add_data_files('lake', 't', '{path}')",
            )
    table = _table(lake)
    _check(lake, [(c, c.name, _literals(k)) for c, k in zip(table.columns, kinds, strict=True)])


def test_files_of_pyarrow_with_values_of_every_type(lake: LakeAddress) -> None:
    # PyArrow has no counterpart, or support/parquet.py none.
    without = ("HUGEINT", "UHUGEINT", "TIMETZ", "INTERVAL", "UUID")
    kinds = [kind for kind in _PLAIN if kind not in without]
    rows = value_rows(kinds)
    with SharedDuck(lake) as duck:
        names = ", ".join(f"c{at}" for at in range(len(kinds)))
        batches = [[row] for row in rows] + [rows[1:3], rows]
        data = [
            duck.connection.execute(
                f"SELECT * FROM (VALUES {', '.join(batch)}) v({names})"
            ).to_arrow_table()
            for batch in batches
        ]
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.create_table("t", [Field(f"c{at}", kind) for at, kind in enumerate(kinds)])
        for batch in data:
            append(tx, "t", batch)
    table = _table(lake)
    literals = [(c, c.name, _literals(k)) for c, k in zip(table.columns, kinds, strict=True)]
    _check(lake, literals, exact=True)


_LONG = {
    "short": "'a'",
    "at the limit": "repeat('a', 256)",
    "beyond": "repeat('a', 257)",
    "the last differs": "repeat('a', 256) || 'b'",
    "much longer": "repeat('a', 5000) || 'z'",
    "two bytes at the cut": "repeat('a', 255) || 'é' || 'zz'",
    "four bytes at the cut": "repeat('a', 253) || '😀' || 'zz'",
    "highest": "repeat(chr(1114111), 300)",
    "not ASCII": "repeat('é', 300)",
    "nul": "'a' || chr(0) || 'b'",
    "tilde": "repeat('~', 300)",
    "delete": "repeat(chr(127), 300)",
}


def test_strings_longer_than_statistics_hold(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run("CALL lake.set_option('data_inlining_row_limit', 0)", "CREATE TABLE t (s VARCHAR)")
        duck.run(*(f"INSERT INTO t VALUES ({text}), ('b')" for text in _LONG.values()))
        duck.run(*(f"INSERT INTO t VALUES ({text})" for text in _LONG.values()))
        values = [duck.value(f"SELECT {text}") for text in _LONG.values()]
    with lake.open() as catalog, catalog.transaction() as tx:
        for value in values:
            append(tx, "t", [{"s": value}])
    literals = [*_LONG.values(), *(f"left({text}, 255)" for text in _LONG.values()), "''", "'b'"]
    literals += [f"{text} || 'x'" for text in _LONG.values()]
    _check(lake, [(_table(lake).columns[0], "s", literals)])


_PROMOTED = [
    ("TINYINT", "BIGINT", [], ["-128", "127", "9000000000"]),
    ("INTEGER", "DOUBLE", [], ["-2147483648", "2147483647", "0.5", "'nan'", "'inf'"]),
    ("FLOAT", "DOUBLE", ["1e-40", "16777217"], ["0.1", "0.1::FLOAT", "1e-40::FLOAT", "16777217"]),
    ("DECIMAL(4,1)", "DECIMAL(38,4)", [], ["0.1", "0.10001", "999.9", "-999.9", "999.9001"]),
    ("DATE", "TIMESTAMP", [], ["'2024-02-29'", "'2024-02-29 00:00:01'", "'infinity'"]),
    ("TIMESTAMP_S", "TIMESTAMP", [], ["'1969-12-31 23:59:59'", "'1969-12-31 23:59:59.5'"]),
    ("TIMESTAMP", "TIMESTAMPTZ", [], ["'2024-02-29 10:11:12.123456+00'", "'infinity'"]),
    ("UINTEGER", "BIGINT", [], ["0", "4294967295", "4294967296", "-1"]),
]


def test_columns_of_a_wider_type_than_their_files(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        names = [f"c{at}" for at in range(len(_PROMOTED))]
        typed = zip(names, (old for old, *_ in _PROMOTED), strict=True)
        duck.run(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            f"CREATE TABLE t ({', '.join(f'{name} {old}' for name, old in typed)})",
            "BEGIN",
        )
        for name, (old, _, extra, _) in zip(names, _PROMOTED, strict=True):
            values = VALUES[old] + extra
            duck.run(*(f"INSERT INTO t ({name}) VALUES (CAST({v} AS {old}))" for v in values))
        duck.run("COMMIT")
        for name, (_, new, _, literals) in zip(names, _PROMOTED, strict=True):
            duck.run(f"ALTER TABLE t ALTER {name} SET DATA TYPE {new}", "BEGIN")
            duck.run(*(f"INSERT INTO t ({name}) VALUES (CAST({v} AS {new}))" for v in literals))
            duck.run("COMMIT")
    columns = _table(lake).columns
    checked = [
        (column, column.name, [*literals, *(f"CAST({v} AS {old})" for v in VALUES[old] + extra)])
        for column, (old, _, extra, literals) in zip(columns, _PROMOTED, strict=True)
    ]
    _check(lake, checked)


def test_columns_and_fields_that_older_files_lack(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE t (id INTEGER, s STRUCT(a INTEGER, b VARCHAR), gone VARCHAR)",
            "INSERT INTO t VALUES (1, {'a': 1, 'b': 'x'}, 'g'), (2, NULL, NULL)",
            "INSERT INTO t VALUES (3, NULL, 'h')",
            "ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 7",
            "ALTER TABLE t ADD COLUMN plain VARCHAR",
            "ALTER TABLE t ADD COLUMN s.c INTEGER DEFAULT 9",
            "INSERT INTO t VALUES (4, {'a': 5, 'b': NULL, 'c': 1}, 'i', 8, 'p')",
            "ALTER TABLE t DROP COLUMN gone",
            "ALTER TABLE t ADD COLUMN gone VARCHAR DEFAULT 'back'",
            "INSERT INTO t VALUES (5, {'a': NULL, 'b': 'y', 'c': NULL}, NULL, NULL, 'k')",
            "ALTER TABLE t RENAME n TO m",
            "UPDATE t SET m = m + 1 WHERE id = 3",
        )
    table = _table(lake)
    _check(
        lake,
        [
            (table.column("id"), "id", ["1", "3", "6"]),
            (table.column("m"), "m", ["7", "8", "9"]),
            (table.column("plain"), "plain", ["'p'", "''"]),
            (table.column("gone"), "gone", ["'back'", "'g'", "'k'"]),
            (table.column("s.a"), "s.a", ["1", "3", "5"]),
            (table.column("s.b"), "s.b", ["'x'", "'y'"]),
            (table.column("s.c"), "s.c", ["9", "1"]),
        ],
    )


@pytest.mark.parametrize("count", [0, 1, 50, 51, 600])
def test_lists_of_any_length_rule_out_what_they_can(lake: LakeAddress, count: int) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (a INTEGER)",
            *(f"INSERT INTO t SELECT {at * 20} + range FROM range(20)" for at in range(5)),
        )
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        table = reader.table("t")
        wanted = OneOf(table.columns[0].id, (*range(1000, 1000 + count), *([45] if count else [])))
        files = reader.files(table, predicate=wanted)
        assert [file.row_id_start for file in files] == ([40] if count else [])
