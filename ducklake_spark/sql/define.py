"""Carries out statements about definitions, each inside a transaction's work."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import sqlglot
from pyspark.sql import DataFrame
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ducklake_spark.catalog import Field, Transaction, find_schema, new_columns, parse_sort_key
from ducklake_spark.errors import (
    AlreadyExistsError,
    InvalidDefinitionError,
    NotFoundError,
    UnsupportedFeatureError,
)
from ducklake_spark.scan.types import refuse_unwritable
from ducklake_spark.session import Session
from ducklake_spark.spec.model import Column, SortKey, Table
from ducklake_spark.spec.names import QualifiedName, fold, quote, split_identifier
from ducklake_spark.spec.types import FLOATS, UNSIGNED
from ducklake_spark.sql.defaults import computed_by_duckdb
from ducklake_spark.sql.known_columns import columns_for
from ducklake_spark.sql.parse_columns import column_path
from ducklake_spark.sql.reading import reject_variables
from ducklake_spark.sql.result import Outcome
from ducklake_spark.sql.scope import Scope
from ducklake_spark.sql.splice import Spliced
from ducklake_spark.sql.statements import (
    AddColumns,
    Alter,
    ChangeColumn,
    ColumnDefinition,
    Comment,
    CreateSchema,
    CreateTable,
    CreateView,
    Drop,
    DropColumns,
    DropSchema,
    RenameColumn,
    RenameTo,
    SetLayout,
    SetOptions,
    SetQuery,
)
from ducklake_spark.sql.tokens import Kind, tokenize
from ducklake_spark.sql.types import fields_of, lake_type
from ducklake_spark.sql.views import SPARK_TEXT, portable
from ducklake_spark.sql.workspace import Relation, Work
from ducklake_spark.write import append

_log = logging.getLogger(__name__)
_WITH_DUCKDB = (
    "Use a type that Spark can write, such as timestamp or string, or define it with DuckDB and "
    "write to the table with DuckDB only."
)
_CONSTANTS = {"TRUE", "FALSE", "NULL", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "-", "+"}


def create_schema(work: Work, name: str, wanted: CreateSchema) -> Outcome:
    if not (wanted.if_not_exists and find_schema(work.tx, name)):
        work.tx.create_schema(name)
    return Outcome("CREATE SCHEMA")


def drop_schema(work: Work, name: str, wanted: DropSchema) -> Outcome:
    if not wanted.if_exists or find_schema(work.tx, name):
        work.tx.drop_schema(name, cascade=wanted.cascade)
    return Outcome("DROP SCHEMA")


def create_table(scope: Scope, work: Work, to: Relation, wanted: CreateTable) -> Outcome:
    """CREATE TABLE, with the rows of a query if there is one: one commit, whole or not at all."""
    tx = work.tx
    if wanted.if_not_exists and _exists(tx, to.name):
        return Outcome("CREATE TABLE")
    if tx.find_view(to.name) is not None and wanted.replace:
        tx.drop_view(to.name)
    frame = scope.query(wanted.query) if wanted.query is not None else None
    fields = _fields(scope, wanted, frame)
    refuse_unwritable(new_columns(fields), to.name, _WITH_DUCKDB)
    table = tx.create_table(
        to.name,
        fields,
        partitioned_by=wanted.partitioned_by,
        sorted_by=_sort_keys(wanted.sorted_by),
        comment=wanted.comment,
        options=dict(wanted.options),
        replace_existing=wanted.replace,
    )
    if frame is None:
        return Outcome("CREATE TABLE")
    if wanted.columns:
        frame = frame.toDF(*(column.name for column in wanted.columns))
    staged = append(tx, table.name, frame)
    work.staged.append(staged)
    return Outcome(
        "CREATE TABLE AS",
        rows_inserted=staged.record_count,
        files=len(staged.files),
        bytes=staged.file_size_bytes,
    )


def _sort_keys(texts: Sequence[str]) -> list[SortKey]:
    """The keys; `id descending` is none, though Spark would read it as id by another name."""
    keys = [parse_sort_key(text) for text in texts]
    for text, key in zip(texts, keys, strict=True):
        if not _is_expression(key.expression):
            raise InvalidDefinitionError(
                f"{text!r} is no sort key.",
                hint="Write a column or an expression, such as: ts desc nulls last.",
            )
    return keys


def _is_expression(text: str) -> bool:
    if len(tokenize(text)) == 1:
        return True  # a name, whatever the word
    try:
        return not isinstance(sqlglot.parse_one(text, dialect="spark"), exp.Alias)
    except SqlglotError:
        return False


def _fields(scope: Scope, wanted: CreateTable, frame: DataFrame | None) -> list[Field]:
    if wanted.like is not None:
        model = scope.workspace.target(wanted.like)
        return [_like(column) for column in scope.reader(model.lake).table(model.name).columns]
    fields = [field_of(scope, column) for column in wanted.columns]
    if frame is None:
        return fields
    given = fields_of(frame.schema)
    if wanted.columns and len(given) != len(fields):
        raise InvalidDefinitionError(
            f"The table is to have {len(fields)} columns, and its query gives {len(given)}."
        )
    return fields or given


def _like(column: Column) -> Field:
    return Field(column.name, column.type, column.nullable, comment=column.comment)


def field_of(scope: Scope, wanted: ColumnDefinition) -> Field:
    """A column as the catalog takes it; constant defaults become values."""
    session = scope.workspace.session
    data_type = lake_type(wanted.type, session)
    value, expression = None, None
    if wanted.default is not None and is_constant(wanted.default):
        value = _evaluated(scope, wanted.default, wanted.type)
    elif wanted.default is not None:
        expression = computed_by_duckdb(scope, wanted.default, wanted.name)
    return Field(wanted.name, data_type, wanted.nullable, value, expression, wanted.comment)


def is_constant(expression: str) -> bool:
    """Whether an expression is a literal, which existing rows can be given as well."""
    return all(
        token.kind in (Kind.STRING, Kind.BYTES, Kind.NUMBER) or token.word in _CONSTANTS
        for token in tokenize(expression)
    )


def _evaluated(scope: Scope, expression: str, type_text: str) -> Any:
    query = f"SELECT {expression} AS v"
    value = scope.run(Spliced(query, query)).toArrow()["v"][0].as_py()
    wanted = lake_type(type_text, scope.workspace.session)
    return _fitted(value, wanted.name)


def _fitted(value: Any, type_name: str) -> Any:
    """A constant for a column of a type that has no literals of its own, such as 1 for a double."""
    try:
        if type_name in FLOATS and value is not None:
            return float(value)  # of texts too: Spark has no literals for NaN and infinities
        if type_name == "time" and isinstance(value, str):
            return datetime.time.fromisoformat(value)
    except ValueError:  # whoever takes the default says what is wrong with it
        return value
    if type_name in UNSIGNED and isinstance(value, Decimal) and value == int(value):
        return int(value)
    return value


def _exists(tx: Transaction, name: QualifiedName) -> bool:
    if find_schema(tx, name.schema) is None:
        return False
    return tx.find_table(name) is not None or tx.find_view(name) is not None


def create_view(scope: Scope, work: Work, to: Relation, wanted: CreateView) -> Outcome:
    """CREATE VIEW; the query is tried first, so that no view is broken from the start."""
    tx = work.tx
    if wanted.if_not_exists and _exists(tx, to.name):
        return Outcome("CREATE VIEW")
    reject_variables(wanted.query, f"the view {to}")
    if wanted.replace and tx.find_table(to.name) is not None:
        tx.drop_table(to.name)
    frame = scope.query(wanted.query)
    names = [name for name, _ in wanted.columns]
    if names and len(names) != len(frame.columns):
        raise InvalidDefinitionError(
            f"The view {to} names {len(names)} columns, and its query gives {len(frame.columns)}."
        )
    text = scope.qualified(wanted.query, to).strip()
    stored, dialect = portable(text, to.lake, str(to), columns_for(scope, to.lake), frame.columns)
    if scope.sparks_own and dialect == "duckdb":
        _log.warning(
            "DuckDB will not be able to use the view %s, because it reads %s, which is in Spark's "
            "SQL only.",
            to,
            ", ".join(map(str, scope.sparks_own)),
        )
    tags = {SPARK_TEXT: text} | ({"comment": wanted.comment} if wanted.comment else {})
    tags |= {f"comment.{name}": comment for name, comment in wanted.columns if comment}
    tx.create_view(
        to.name,
        stored,
        dialect=dialect,
        column_aliases=names,
        tags=tags,
        replace_existing=wanted.replace,
    )
    return Outcome("CREATE VIEW")


def drop(_: Scope, work: Work, to: Relation, wanted: Drop) -> Outcome:
    tx, operation = work.tx, f"DROP {wanted.kind.upper()}"
    find = tx.find_table if wanted.kind == "table" else tx.find_view
    exists = find_schema(tx, to.name.schema) is not None and find(to.name) is not None
    if not exists and wanted.if_exists:
        return Outcome(operation)
    if wanted.kind == "table":
        tx.drop_table(to.name)
    else:
        tx.drop_view(to.name)
    return Outcome(operation)


# --- ALTER ---


def alter(scope: Scope, work: Work, to: Relation, wanted: Alter) -> Outcome:
    tx, operation = work.tx, f"ALTER {wanted.kind.upper()}"
    if wanted.if_exists and not _exists(tx, to.name):
        return Outcome(operation)
    if wanted.kind == "view":
        _alter_view(scope, work, to, wanted)
        return Outcome(operation)
    match wanted.change:
        case RenameTo(name):
            tx.rename_table(to.name, _new_name(scope, to, name))
        case SetQuery():
            raise InvalidDefinitionError(f"{to} is a table; only a view has a query.")
        case SetOptions(options):
            set_options(tx, to.name, options)
        case SetLayout("partitioning", keys):
            tx.set_partitioning(to.name, keys)
        case SetLayout(_, keys):
            tx.set_sort_order(to.name, _sort_keys(keys))
        case _:
            _alter_columns(scope, tx, to.name, wanted.change)
    return Outcome(operation)


def _new_name(scope: Scope, to: Relation, parts: Sequence[str]) -> str:
    new = scope.workspace.target(parts) if len(parts) > 1 else None
    if new is not None and (new.lake, fold(new.name.schema)) != (to.lake, fold(to.name.schema)):
        raise UnsupportedFeatureError(
            f"{to} cannot move to {new}: a table stays in its schema.",
            hint="Create the other one with CREATE TABLE … AS SELECT.",
        )
    return parts[-1]


def set_options(tx: Transaction, name: QualifiedName, options: Any) -> None:
    for key, value in options.items():
        tx.set_option(key, value, table=name)


def _alter_view(scope: Scope, work: Work, to: Relation, wanted: Alter) -> None:
    match wanted.change:
        case RenameTo(name):
            work.tx.rename_view(to.name, _new_name(scope, to, name))
        case SetQuery(query):
            before = work.tx.view(to.name)
            create_view(scope, work, to, CreateView(wanted.name, query, replace=True))
            if before.comment:
                work.tx.comment_on_view(to.name, before.comment)
        case _:
            raise InvalidDefinitionError(
                f"{to} is a view, which can only be renamed or given another query."
            )


def _alter_columns(scope: Scope, tx: Transaction, name: QualifiedName, change: object) -> None:
    match change:
        case AddColumns(columns, if_not_exists):
            for column in columns:
                _add_column(scope, tx, name, column, if_not_exists)
        case DropColumns(paths, if_exists):
            for path in paths:
                if not (if_exists and _lacks(tx.table(name), path)):
                    tx.drop_column(name, path)
        case RenameColumn(path, new_name):
            tx.rename_column(name, path, new_name)
        case ChangeColumn():
            _change_column(scope, tx, name, change)


def _add_column(
    scope: Scope, tx: Transaction, name: QualifiedName, column: ColumnDefinition, quietly: bool
) -> None:
    *parents, last = split_identifier(column.name)
    field = field_of(
        scope,
        ColumnDefinition(last, column.type, column.nullable, column.default, column.comment),
    )
    refuse_unwritable(new_columns([field]), name, _WITH_DUCKDB)
    parent = ".".join(map(quote, parents)) or None
    try:
        tx.add_column(name, field, parent=parent)
    except AlreadyExistsError:
        if not quietly:
            raise


def _lacks(table: Table, path: str) -> bool:
    try:
        table.column(path)
    except NotFoundError:
        return True
    return False


def _change_column(
    scope: Scope, tx: Transaction, name: QualifiedName, change: ChangeColumn
) -> None:
    path = change.path
    match change.what:
        case "type":
            data_type = lake_type(change.text, _session(scope))
            refuse_unwritable(new_columns([Field(path, data_type)]), name, _WITH_DUCKDB)
            tx.set_column_type(name, path, data_type)
        case "not null" | "null":
            tx.set_column_nullable(name, path, change.what == "null")
        case "comment":
            tx.comment_on_column(name, path, change.text)
        case "no default":
            tx.set_column_default(name, path)
        case _:
            data_type = tx.table(name).column(path).type
            if is_constant(change.text):
                value = _fitted(_evaluated(scope, change.text, str(data_type)), data_type.name)
                tx.set_column_default(name, path, value)
            else:
                computed = computed_by_duckdb(scope, change.text, path)
                tx.set_column_default(name, path, expression=computed)


def _session(scope: Scope) -> Session:
    return scope.workspace.session


def comment(_: Scope, work: Work, to: Relation, wanted: Comment) -> Outcome:
    """COMMENT ON a table, view or column; `to` is the relation."""
    tx = work.tx
    match wanted.kind:
        case "table":
            tx.comment_on_table(to.name, wanted.text)
        case "view":
            tx.comment_on_view(to.name, wanted.text)
        case "column" if tx.find_table(to.name) is None and tx.find_view(to.name) is not None:
            tag = tx.view(to.name).column_tag(".".join(wanted.column))
            tx.set_view_tag(to.name, tag, wanted.text)
        case _:
            tx.comment_on_column(to.name, column_path(wanted.column), wanted.text)
    return Outcome("COMMENT")
