"""The types of Spark's SQL as those of a lake."""

from __future__ import annotations

import re

from pyspark.sql import types as T

from ducklake_spark.catalog import Field
from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.session import Session
from ducklake_spark.spec.types import (
    DataType,
    ListType,
    MapType,
    Primitive,
    StructType,
    decimal,
    list_of,
    map_of,
    parse_type,
    struct_of,
)
from ducklake_spark.sql.tokens import quoted, tokenize

_SPARK: dict[type[T.DataType], str] = {
    T.BooleanType: "boolean",
    T.ByteType: "int8",
    T.ShortType: "int16",
    T.IntegerType: "int32",
    T.LongType: "int64",
    T.FloatType: "float32",
    T.DoubleType: "float64",
    T.StringType: "varchar",
    T.CharType: "varchar",
    T.VarcharType: "varchar",
    T.BinaryType: "blob",
    T.DateType: "date",
    T.TimestampType: "timestamptz",
    T.TimestampNTZType: "timestamp",
    T.NullType: "int32",  # as DuckDB types a column of nothing but NULL
}


# Spark's words for the types of a lake; all others go by DuckLake's own name.
_WORDS = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float32": "float",
    "float64": "double",
    "varchar": "string",
    "blob": "binary",
    "timestamptz": "timestamp_ltz",  # whatever spark.sql.timestampType makes of TIMESTAMP
    "timestamp": "timestamp_ntz",
}
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def type_text(data_type: DataType) -> str:
    """A type of a lake in words that CREATE TABLE and ALTER TABLE take for just that type."""
    match data_type:
        case ListType(element=element):
            return f"array<{type_text(element)}>"
        case MapType(key=key, value=value):
            return f"map<{type_text(key)},{type_text(value)}>"
        case StructType(fields=fields):
            inner = (
                f"{name if _PLAIN_NAME.fullmatch(name) else quoted(name)}:{type_text(kind)}"
                for name, kind in fields
            )
            return f"struct<{','.join(inner)}>"
    return _WORDS.get(data_type.name, str(data_type))


def fields_of(schema: T.StructType) -> list[Field]:
    """The columns of a table that shall hold the rows of a DataFrame."""
    return [Field(field.name, _lakes(field.dataType, field.name)) for field in schema.fields]


def _lakes(data_type: T.DataType, column: str) -> DataType:
    match data_type:
        case T.ArrayType(elementType=element):
            return list_of(_lakes(element, column))
        case T.MapType(keyType=key, valueType=value):
            return map_of(_lakes(key, column), _lakes(value, column))
        case T.StructType(fields=fields):
            return struct_of(*((field.name, _lakes(field.dataType, column)) for field in fields))
        case T.DecimalType(precision=precision, scale=scale):
            return decimal(precision, scale)
    name = _SPARK.get(type(data_type))
    if name is None and data_type.typeName() == "time":
        name = "time"
    if name is None:
        raise InvalidDefinitionError(
            f"Column {column!r} is {data_type.simpleString()}, which Spark cannot write to a lake.",
            hint="Convert it in the query, for example with CAST(… AS STRING).",
        )
    return Primitive(name)


def lake_type(text: str, session: Session) -> DataType:
    """The type that a text names as Spark reads it; DuckLake's own types have their names."""
    words = list(tokenize(text))
    plain = session.spark.conf.get("spark.sql.timestampType", "TIMESTAMP_LTZ")
    parts = []
    for at, token in enumerate(words):
        following = words[at + 1].word if at + 1 < len(words) else ""
        before = words[at - 1].word if at else ""
        shown = text[token.start : token.end]
        is_type = following != ":" and not (before in ("<", ",", "(") and _is_name(following))
        if is_type and token.word == "TIMESTAMP" and following not in ("WITH", "WITHOUT"):
            shown = "timestamp" if plain == "TIMESTAMP_NTZ" else "timestamptz"
        elif is_type and token.word == "TIMESTAMP_LTZ":
            shown = "timestamptz"
        elif is_type and token.word in ("DECIMAL", "DEC", "NUMERIC") and following != "(":
            shown = "decimal(10,0)"
        elif is_type and token.word == "VOID":
            shown = str(Primitive(_SPARK[T.NullType]))
        parts.append(shown)
    return parse_type(" ".join(parts))


def _is_name(word: str) -> bool:
    return bool(word) and word[0].isalpha()
