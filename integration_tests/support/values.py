"""Values for tests, as DuckDB's SQL: for every type the edges of its range and what is odd."""

from __future__ import annotations

from collections.abc import Sequence

VALUES = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "127"],
    "SMALLINT": ["-32768", "32767"],
    "INTEGER": ["-2147483648", "2147483647"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807"],
    "HUGEINT": ["0", "-12345", "9007199254740993"],
    "UTINYINT": ["0", "255"],
    "USMALLINT": ["0", "65535"],
    "UINTEGER": ["0", "4294967295"],
    "UBIGINT": ["0", "9223372036854775808", "18446744073709551615"],
    "UHUGEINT": ["0", "12345"],
    "FLOAT": ["0.1", "-0.0", "'nan'", "'inf'", "'-inf'", "3.4028235e38", "1e-45"],
    "DOUBLE": ["0.1", "-0.0", "'nan'", "'inf'", "'-inf'", "1.7976931348623157e308", "5e-324"],
    "DECIMAL(4,1)": ["-999.9", "999.9", "0.1"],
    "DECIMAL(9,9)": ["0.123456789", "-0.000000001"],
    "DECIMAL(18,3)": ["-999999999999999.999", "0.001"],
    "DECIMAL(38,10)": [
        "-9999999999999999999999999999.9999999999",
        "1234567890123456789012345678.9012345678",
        "0.0000000001",
    ],
    "TIME": ["'00:00:00'", "'23:59:59.999999'", "'24:00:00'"],
    "TIMETZ": ["'10:00:01.5+02'", "'00:00:00+00'"],
    "DATE": ["'2024-02-29'", "'infinity'", "'-infinity'", "'0044-03-15 (BC)'", "'12345-06-07'"],
    "TIMESTAMP": [
        "'2024-02-29 10:11:12.123456'",
        "'infinity'",
        "'-infinity'",
        "'0044-03-15 (BC) 01:02:03'",
        "'12345-06-07 00:00:00.1'",
    ],
    "TIMESTAMP_S": ["'1969-12-31 23:59:59'"],
    "TIMESTAMP_MS": ["'1969-12-31 23:59:59.999'", "'infinity'", "'-infinity'"],
    "TIMESTAMP_NS": ["'1969-12-31 23:59:59.999999999'", "'infinity'"],
    "TIMESTAMPTZ": ["'2024-02-29 23:30:00-02:30'", "'infinity'", "'0044-03-15 (BC) 01:02:03+00'"],
    "INTERVAL": ["'0 days'", "'14 months 3 days 01:02:03.004'"],
    "VARCHAR": [
        "''",
        "'it''s \"q\" \\\\ ☃ 😀'",
        "'NULL'",
        "'a\nb\tc'",
        "'long, longer, longest, 012345'",
    ],
    "BLOB": ["''", "'\\x00\\xFF\\x27a\\x5C'"],
    "JSON": ["""'{"a": [1, null, "x"]}'""", "'null'", "'\"s\"'"],
    "UUID": ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-4fff-bfff-ffffffffffff'"],
    "INTEGER[]": ["[]", "[NULL]", "[1, NULL, -3]"],
    "VARCHAR[][]": [
        "[['a', ''], [], NULL, [NULL, 'b,c', '[d]']]",
        "[['it''s', 'd\"q', '\\', 'null', 'NULL', ' x ', '{y}', 'k=v', 'a: b', '☃']]",
    ],
    "STRUCT(a INTEGER, b VARCHAR)": ["{'a': NULL, 'b': NULL}", "{'a': 1, 'b': 'x, y: z'}"],
    "STRUCT(a STRUCT(x INTEGER[], y DOUBLE))[]": [
        "[{'a': {'x': [1, NULL], 'y': 0.5}}, NULL, {'a': NULL}]",
        "[{'a': {'x': NULL, 'y': 'nan'::DOUBLE}}]",
    ],
    "MAP(VARCHAR, INTEGER)": ["MAP {}", "MAP {'k=1': 1, 'n': NULL}"],
    "MAP(INTEGER, STRUCT(l DATE[], m MAP(VARCHAR, BOOLEAN)))": [
        "MAP {1: {'l': ['2024-01-01'::DATE, NULL], 'm': MAP {'x': true}}, 2: NULL}"
    ],
}


def value_columns() -> str:
    """Columns c0, c1… for CREATE TABLE, one for every type."""
    return ", ".join(f"c{at} {kind}" for at, kind in enumerate(VALUES))


def value_rows(kinds: Sequence[str] = tuple(VALUES)) -> list[str]:
    """Rows for VALUES that together hold every value of every type; the last is all NULL."""
    longest = max(len(VALUES[kind]) for kind in kinds)
    return [f"({', '.join(_cell(kind, at) for kind in kinds)})" for at in range(longest + 1)]


def _cell(kind: str, at: int) -> str:
    value = VALUES[kind][at] if at < len(VALUES[kind]) else "NULL"
    return f"CAST({value} AS {kind})"
