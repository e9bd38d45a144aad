"""How a model's configs lay out its table, by our names and by those of dbt-duckdb."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from dbt.adapters.ducklake.model_config import Configs

_NAMES = ("partitioned_by", "partition_by", "sorted_by", "sort_by", "table_options")
# What is this much like one of the names is taken for a slip: it would be without effect.
_SLIP = 0.9


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Keys as SQL writes them, and DuckLake's options as texts."""

    partitioned_by: tuple[str, ...]
    sorted_by: tuple[str, ...]
    options: Mapping[str, str]


def table_layout(config: Mapping[str, Any]) -> TableLayout:
    """The layout, or one error that tells all that is wrong with the configs."""
    found = Configs(config)
    slips = [key for key in config if get_close_matches(key, _NAMES, n=1, cutoff=_SLIP)]
    found.name_unknown(slips, _NAMES, "config")
    layout = TableLayout(
        partitioned_by=found.texts_of_either("partitioned_by", "partition_by"),
        sorted_by=found.texts_of_either("sorted_by", "sort_by"),
        options={key: _text(value) for key, value in found.mapping("table_options").items()},
    )
    found.tell_all("this table's layout")
    return layout


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
