"""What a model's configs say of its table's layout."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.ducklake.table_layout import TableLayout, table_layout
from dbt_common.exceptions import CompilationError

from support.macros import Rendering


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ({}, TableLayout((), (), {})),
        ({"partitioned_by": "region", "partition_by": []}, TableLayout(("region",), (), {})),
        ({"partition_by": ["year(d)", "x"], "sort_by": "x"},
         TableLayout(("year(d)", "x"), ("x",), {})),
        ({"table_options": {"sort_on_insert": False, "parquet_version": 2}},
         TableLayout((), (), {"sort_on_insert": "false", "parquet_version": "2"})),
        ({"sort": "x", "partitions": ["x"], "tblproperties": {}, "table_format": "x"},
         TableLayout((), (), {})),
    ],
)  # fmt: skip
def test_what_configs_become(configs: dict[str, Any], expected: TableLayout) -> None:
    assert table_layout(configs) == expected


@pytest.mark.parametrize(
    ("configs", "problems"),
    [
        ({"partition_by": {"field": "d", "data_type": "date"}, "sorted_by": 1},
         ["partition_by must be a list of texts", "sorted_by must be a list of texts"]),
        ({"partitioned_by": ["a"], "partition_by": ["b"]}, ["two names of the same"]),
        ({"table_options": ["target_file_size"]}, ["table_options must be a dictionary"]),
        ({"partioned_by": ["a"], "table_option": {}, "sorted_bye": "a"},
         ["partioned_by is no config; is partitioned_by meant",
          "table_option is no config; is table_options meant",
          "sorted_bye is no config; is sorted_by meant"]),
    ],
)  # fmt: skip
def test_all_that_is_wrong_is_told_at_once(configs: dict[str, Any], problems: list[str]) -> None:
    with pytest.raises(CompilationError) as raised:
        table_layout(configs)
    for problem in problems:
        assert problem in str(raised.value)


def test_options_are_texts_of_sql(rendering: Rendering) -> None:
    rendering.config["table_options"] = {"parquet_compression": "it's"}
    clauses = rendering("ducklake__layout_clauses")
    assert clauses == r"tblproperties ('parquet_compression' = 'it\'s')"
