"""The views of the SQL standard's information schema, for each lake.

They have the names, the order and the meaning of DuckDB's columns; what a lake has no notion of is
NULL. Types are Spark's, because Spark runs the queries that read them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ducklake_spark.catalog import LakeReader, find_schema
from ducklake_spark.errors import DuckLakeError, NotFoundError
from ducklake_spark.scan import shown_type
from ducklake_spark.spec.model import COMMENT, Column, View
from ducklake_spark.spec.names import QualifiedName, fold
from ducklake_spark.sql.scope import INFORMATION_SCHEMA, Scope
from ducklake_spark.sql.show_create import default_text
from ducklake_spark.sql.workspace import Relation

Row = dict[str, object]

_log = logging.getLogger(__name__)

_SCHEMATA = """catalog_name schema_name schema_owner default_character_set_catalog
    default_character_set_schema default_character_set_name sql_path schema_comment""".split()
_TABLES = """table_catalog table_schema table_name table_type self_referencing_column_name
    reference_generation user_defined_type_catalog user_defined_type_schema user_defined_type_name
    is_insertable_into is_typed commit_action table_comment""".split()
_VIEWS = """table_catalog table_schema table_name view_definition check_option is_updatable
    is_insertable_into is_trigger_updatable is_trigger_deletable
    is_trigger_insertable_into""".split()
_COLUMNS = """table_catalog table_schema table_name column_name ordinal_position column_default
    is_nullable data_type character_maximum_length character_octet_length numeric_precision
    numeric_precision_radix numeric_scale datetime_precision interval_type interval_precision
    character_set_catalog character_set_schema character_set_name collation_catalog
    collation_schema collation_name domain_catalog domain_schema domain_name udt_catalog udt_schema
    udt_name scope_catalog scope_schema scope_name maximum_cardinality dtd_identifier
    is_self_referencing is_identity identity_generation identity_start identity_increment
    identity_maximum identity_minimum identity_cycle is_generated generation_expression is_updatable
    column_comment""".split()
_NUMBERS = frozenset(
    """ordinal_position character_maximum_length character_octet_length numeric_precision
    numeric_precision_radix numeric_scale datetime_precision interval_precision
    maximum_cardinality""".split()
)
_INTEGER_BITS: dict[type[T.DataType], int] = {
    T.ByteType: 8,
    T.ShortType: 16,
    T.IntegerType: 32,
    T.LongType: 64,
}
_FLOAT_BITS: dict[type[T.DataType], int] = {T.FloatType: 24, T.DoubleType: 53}


def information_view(scope: Scope, relation: Relation, reader: LakeReader) -> DataFrame | None:
    """Return the rows of a view of the information schema; None for another relation.

    A schema of the lake that has the same name takes precedence.
    """
    schema = relation.name.schema
    if fold(schema) != INFORMATION_SCHEMA or find_schema(reader, schema) is not None:
        return None
    name = fold(relation.name.name)
    if name not in _VIEWS_BY_NAME:
        raise NotFoundError(f"Table or view {relation}", near=_VIEWS_BY_NAME, wanted=name)
    columns, rows = _VIEWS_BY_NAME[name]
    fields = T.StructType(
        [T.StructField(c, T.IntegerType() if c in _NUMBERS else T.StringType()) for c in columns]
    )
    values = [tuple(row.get(c) for c in columns) for row in rows(scope, relation.lake, reader)]
    return scope.workspace.session.spark.createDataFrame(values, fields)


def _schemata(_: Scope, lake: str, reader: LakeReader) -> Iterator[Row]:
    for schema in reader.schemas():
        yield {
            "catalog_name": lake,
            "schema_name": schema.name,
            "schema_comment": schema.tags.get(COMMENT),
        }


def _tables(_: Scope, lake: str, reader: LakeReader) -> Iterator[Row]:
    for schema in reader.schemas():
        for table in reader.tables(schema.name):
            yield _named(lake, table.name) | {
                "table_type": "BASE TABLE",
                "is_insertable_into": "YES",
                "is_typed": "NO",
                "table_comment": table.comment,
            }
        for view in reader.views(schema.name):
            yield _named(lake, view.name) | {
                "table_type": "VIEW",
                "is_insertable_into": "NO",
                "is_typed": "NO",
                "table_comment": view.comment,
            }


def _views(scope: Scope, lake: str, reader: LakeReader) -> Iterator[Row]:
    for schema in reader.schemas():
        for view in reader.views(schema.name):
            yield _named(lake, view.name) | {
                "view_definition": _definition(scope, view, Relation(lake, view.name)),
                "check_option": "NONE",
                "is_updatable": "NO",
                "is_insertable_into": "NO",
                "is_trigger_updatable": "NO",
                "is_trigger_deletable": "NO",
                "is_trigger_insertable_into": "NO",
            }


def _definition(scope: Scope, view: View, relation: Relation) -> str | None:
    """The query of a view in Spark's SQL; None if it is DuckDB's and has no translation."""
    try:
        return scope.text_of(view, relation)
    except DuckLakeError:
        return None


def _columns(scope: Scope, lake: str, reader: LakeReader) -> Iterator[Row]:
    for schema in reader.schemas():
        for entry in reader.tables(schema.name):
            for at, column in enumerate(reader.table(entry.name).columns, start=1):
                yield _named(lake, entry.name) | _table_column(column, at)
        for view in reader.views(schema.name):
            yield from _view_columns(scope, Relation(lake, view.name), view, reader)


def _table_column(column: Column, place: int) -> Row:
    default = column.default
    has_default = not default.is_none and default.value is not None
    return _typed(column.name, place, shown_type(column)) | {
        "column_default": default_text(column, default.value or "") if has_default else None,
        "is_nullable": "YES" if column.nullable else "NO",
        "is_updatable": "YES",
        "column_comment": column.comment,
    }


def _view_columns(
    scope: Scope, relation: Relation, view: View, reader: LakeReader
) -> Iterator[Row]:
    try:
        fields = scope.view_rows(relation, view, reader).schema.fields
    except DuckLakeError as error:
        _log.warning("The columns of the view %s are left out: %s", relation, error)
        return
    for at, field in enumerate(fields, start=1):
        yield (
            _named(relation.lake, view.name)
            | _typed(field.name, at, field.dataType)
            | {
                "is_nullable": "YES",
                "is_updatable": "NO",
                "column_comment": view.column_comment(field.name),
            }
        )


def _named(lake: str, name: QualifiedName) -> Row:
    return {"table_catalog": lake, "table_schema": name.schema, "table_name": name.name}


def _typed(name: str, place: int, kind: T.DataType) -> Row:
    precision, radix, scale = _precision(kind)
    times = isinstance(kind, (T.TimestampType, T.TimestampNTZType))
    return {
        "column_name": name,
        "ordinal_position": place,
        "data_type": kind.simpleString(),
        "numeric_precision": precision,
        "numeric_precision_radix": radix,
        "numeric_scale": scale,
        "datetime_precision": 6 if times else 0 if isinstance(kind, T.DateType) else None,
        "is_identity": "NO",
        "is_generated": "NEVER",
    }


def _precision(kind: T.DataType) -> tuple[int | None, int | None, int | None]:
    """Precision, its radix and the scale of a number; of floats, the bits of the mantissa."""
    if isinstance(kind, T.DecimalType):
        return kind.precision, 10, kind.scale
    if bits := _INTEGER_BITS.get(type(kind)):
        return bits, 2, 0
    if bits := _FLOAT_BITS.get(type(kind)):
        return bits, 2, None
    return None, None, None


_VIEWS_BY_NAME: Mapping[
    str, tuple[list[str], Callable[[Scope, str, LakeReader], Iterator[Row]]]
] = {
    "schemata": (_SCHEMATA, _schemata),
    "tables": (_TABLES, _tables),
    "views": (_VIEWS, _views),
    "columns": (_COLUMNS, _columns),
}
