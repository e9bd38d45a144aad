"""Columns under the types of Spark's SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dbt.adapters.base import Column

_TEXTS = ("string", "varchar", "char", "text")
_INTEGERS = ("tinyint", "smallint", "int", "integer", "bigint", "long", "short", "byte")


@dataclass
class DuckLakeColumn(Column):
    TYPE_LABELS: ClassVar[dict[str, str]] = {
        "STRING": "string",
        "TEXT": "string",
        "INTEGER": "int",
        "BIGINT": "bigint",
        "FLOAT": "double",
        "NUMERIC": "decimal(38,10)",
        "TIMESTAMP": "timestamp",
    }

    @property
    def quoted(self) -> str:
        return "`" + self.column.replace("`", "``") + "`"

    @property
    def data_type(self) -> str:
        return self.dtype

    @property
    def expanded_data_type(self) -> str:
        return self.dtype

    def is_string(self) -> bool:
        return self.dtype.lower().partition("(")[0] in _TEXTS

    def is_integer(self) -> bool:
        return self.dtype.lower() in _INTEGERS

    def is_float(self) -> bool:
        return self.dtype.lower() in ("float", "double", "real")

    def is_numeric(self) -> bool:
        return self.dtype.lower().startswith("decimal")

    def string_size(self) -> int:
        return 256

    @classmethod
    def string_type(cls, size: int) -> str:
        return "string"

    @classmethod
    def numeric_type(cls, dtype: str, precision: object, scale: object) -> str:
        return dtype if precision is None or scale is None else f"{dtype}({precision},{scale})"
