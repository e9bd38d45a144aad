"""The types of a seed's columns."""

from __future__ import annotations

import agate
import pytest
from dbt.adapters.ducklake import DuckLakeAdapter


@pytest.mark.parametrize(
    ("values", "expected"), [([1, 2], "bigint"), ([1, 1.5], "double"), ([], "double")]
)
def test_numbers(values: list[float], expected: str) -> None:
    table = agate.Table([[value] for value in values], ["n"], [agate.Number()])
    assert DuckLakeAdapter.convert_number_type(table, 0) == expected
