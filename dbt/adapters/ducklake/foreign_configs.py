"""Configs that a model brings from another adapter, or lacks: what to write here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

_LAYOUT = "DuckLake tables have partitioned_by and sorted_by"
_BUCKETS = "Write partitioned_by=['bucket(16, column)']"
_OPTIONS = "Options of a table are in table_options"
_INSTEAD = {
    "file_format": "The files of a lake are Parquet",
    "table_format": "The tables of a lake are DuckLake tables",
    "location_root": "Files are below data_path, which the profile sets",
    "location": "Files are below data_path, which the profile sets",
    "clustered_by": _BUCKETS,
    "buckets": _BUCKETS,
    "tblproperties": _OPTIONS,
    "options": _OPTIONS,
    "liquid_clustered_by": _LAYOUT,
    "auto_liquid_cluster": _LAYOUT,
    "cluster_by": _LAYOUT,
    "zorder": _LAYOUT,
    "indexes": _LAYOUT,
}


def advice(get: Callable[[str], Any]) -> Iterator[str]:
    """Say what is without effect, or probably not meant; `get` reads a config by its name."""
    for name, instead in _INSTEAD.items():
        value = get(name)
        if value and not (name == "file_format" and str(value).lower() == "parquet"):
            yield f"The config {name} has no effect. {instead}."
    strategy = get("incremental_strategy")
    has_key = get("unique_key") or (strategy == "merge" and get("merge_on_using_columns"))
    is_incremental = get("materialized") == "incremental"
    if is_incremental and strategy in ("merge", "delete+insert") and not has_key:
        yield (
            f"The strategy {strategy} has no unique_key, so that each run appends all of its rows. "
            "Set unique_key, or incremental_strategy='append'."
        )
