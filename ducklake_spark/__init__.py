"""DuckLake lakes on Spark: the SQL-first warehouse layer, independent of dbt."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ducklake_spark.lake import Lake

__all__ = ["Lake"]


def __getattr__(name: str) -> Any:
    # The catalog serves those who have no Spark: the front door opens when it is asked for.
    if name != "Lake":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("ducklake_spark.lake").Lake
