"""Rows of dataclasses as DataFrames."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import fields
from enum import Enum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from pyspark.sql import DataFrame
from pyspark.sql import types as t

from ducklake_spark.session import Session

_TYPES: dict[type, type[t.DataType]] = {
    str: t.StringType,
    bool: t.BooleanType,
    int: t.LongType,
    float: t.DoubleType,
    datetime.datetime: t.TimestampType,
}


def frame_of(session: Session, row: type, rows: Iterable[Any]) -> DataFrame:
    """Rows of one dataclass, under the names of its fields."""
    hints = get_type_hints(row)
    names = [field.name for field in fields(row)]
    schema = t.StructType([t.StructField(name, _spark_type(hints[name])) for name in names])
    values = [tuple(_value(getattr(found, name)) for name in names) for found in rows]
    return session.spark.createDataFrame(values, schema)


def _spark_type(hint: Any) -> t.DataType:
    if get_origin(hint) in (tuple, list):
        return t.ArrayType(_spark_type(get_args(hint)[0]))
    if get_origin(hint) is dict:
        key, item = get_args(hint)
        return t.MapType(_spark_type(key), _spark_type(item))
    (kind,) = [part for part in get_args(hint) or (hint,) if part is not NoneType]
    return next(_TYPES[base] for base in kind.__mro__ if base in _TYPES)()


def _value(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.value if isinstance(value, Enum) else value
