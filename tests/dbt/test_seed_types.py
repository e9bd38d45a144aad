"""The types of a seed's columns, and the texts that Spark casts to them."""

from __future__ import annotations

from decimal import Decimal

import agate
import pytest
from dbt.adapters.ducklake import DuckLakeAdapter
from dbt.adapters.ducklake.seeds import _text


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2"], "bigint"),
        (["1", "1.5"], "double"),
        ([], "double"),
        (["1e3", "2"], "bigint"),
        (["1.0", "-0"], "bigint"),
        (["1", "NaN"], "double"),
        (["Infinity"], "double"),
        (["-9223372036854775808"], "bigint"),
        (["9223372036854775808"], "decimal(38,0)"),
        (["1e30"], "decimal(38,0)"),
        (["1e38"], "double"),
        (["12345678901234567890123456789.5"], "double"),
    ],
)
def test_numbers(values: list[str], expected: str) -> None:
    table = agate.Table([[Decimal(value)] for value in values], ["n"], [agate.Number()])
    assert DuckLakeAdapter.convert_number_type(table, 0) == expected


@pytest.mark.parametrize(
    ("value", "is_integer", "expected"),
    [
        (Decimal("1E+3"), True, "1000"),
        (Decimal("1.0"), True, "1"),
        (Decimal("-0.0"), False, "-0"),
        (Decimal("1E-7"), False, "0.0000001"),
        (Decimal("NaN"), False, "NaN"),
        (" 1e3 ", True, "1000"),
        ("1e3", False, "1e3"),
        ("1.5", True, "1.5"),  # which Spark rejects
        ("1e400", True, "1e400"),
        ("one", True, "one"),
        (True, True, "true"),
        (None, True, None),
    ],
)
def test_texts(value: object, is_integer: bool, expected: str | None) -> None:
    assert _text(value, is_integer) == expected
