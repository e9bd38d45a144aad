"""SHOW, DESCRIBE and EXPLAIN: what is in the lakes, as rows."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from pyspark.sql import DataFrame

from ducklake_spark.catalog import LakeReader, find_schema
from ducklake_spark.errors import NotFoundError, StatementError
from ducklake_spark.scan.types import shown_type
from ducklake_spark.spec.model import COMMENT, Table, View
from ducklake_spark.spec.names import QualifiedName, fold
from ducklake_spark.sql.conditions import predicate_text
from ducklake_spark.sql.information_schema import information_view
from ducklake_spark.sql.scope import Scan, Scope
from ducklake_spark.sql.show_create import create_text, key_text, sort_text
from ducklake_spark.sql.splice import Spliced
from ducklake_spark.sql.statements import Describe, DescribeSchema, Explain, Show
from ducklake_spark.sql.workspace import MAIN, Relation

Rows = list[tuple[object, ...]]


def show(scope: Scope, wanted: Show) -> DataFrame:
    match wanted.what:
        case "catalogs":
            return _catalogs(scope, wanted.pattern)
        case "schemas":
            lake = scope.workspace.home
            if wanted.name:
                lake = scope.workspace.required_lake(".".join(wanted.name))
            names = [schema.name for schema in scope.reader(lake).schemas()]
            return _named(scope, "namespace string", [(n,) for n in _like(names, wanted.pattern)])
        case "tables" | "views":
            return _relations(scope, wanted)
    to = scope.workspace.target(wanted.name)
    reader = scope.reader(to.lake)
    match wanted.what:
        case "columns":
            columns = _columns_of(scope, to, reader)
            return _named(scope, "col_name string", [row[:1] for row in columns])
        case "tblproperties":
            options = reader.options(reader.table(to.name)).items()
            rows = [item for item in sorted(options) if wanted.pattern in (None, item[0])]
            return _named(scope, "key string, value string", rows)
        case "partitions":
            return _partitions(scope, reader, reader.table(to.name))
        case _:
            return _named(scope, "createtab_stmt string", [(create_text(scope, reader, to),)])


def _named(scope: Scope, schema: str, rows: Sequence[tuple[object, ...]]) -> DataFrame:
    return scope.workspace.session.spark.createDataFrame(list(rows), schema)


def _like(names: Sequence[str], pattern: str | None) -> list[str]:
    """Spark's patterns: * for anything, | between alternatives, case aside."""
    if pattern is None:
        return list(names)
    wanted = [fold(part.strip()).replace("%", "*") for part in pattern.split("|")]
    return [n for n in names if any(fnmatch.fnmatchcase(fold(n), part) for part in wanted)]


def _catalogs(scope: Scope, pattern: str | None) -> DataFrame:
    """The lakes, and what Spark knows of its own."""
    theirs = scope.workspace.session.spark.sql("SHOW CATALOGS").collect()
    names = sorted({*scope.workspace.lakes, *(row[0] for row in theirs)})
    return _named(scope, "catalog string", [(name,) for name in _like(names, pattern)])


def _relations(scope: Scope, wanted: Show) -> DataFrame:
    lake, schema = _schema_of(scope, wanted.name)
    reader = scope.reader(lake)
    found = [(view.name.name, "view") for view in reader.views(schema)]
    if wanted.what == "tables":
        found += [(entry.name.name, "table") for entry in reader.tables(schema)]
    names = _like(sorted(dict(found)), wanted.pattern)
    name = "viewName" if wanted.what == "views" else "tableName"
    columns = f"namespace string, {name} string, isTemporary boolean"
    if not wanted.extended:
        return _named(scope, columns, [(schema, name, False) for name in names])
    told = [
        (schema, name, False, _information(scope, reader, lake, schema, name)) for name in names
    ]
    return _named(scope, f"{columns}, information string", told)


def _information(scope: Scope, reader: LakeReader, lake: str, schema: str, name: str) -> str:
    to = Relation(lake, QualifiedName(schema, name))
    return "\n".join(f"{key}: {value}" for key, value in _facts(scope, reader, to).items())


def is_of_lake(scope: Scope, name: Sequence[str]) -> bool:
    """Whether a name is that of a lake or of a schema of one; none is that of the schema in use."""
    workspace = scope.workspace
    if not name or workspace.lake_named(name[0]) is not None:
        return True
    return len(name) == 1 and find_schema(scope.reader(workspace.home), name[0]) is not None


def _schema_of(scope: Scope, name: Sequence[str]) -> tuple[str, str]:
    workspace = scope.workspace
    match list(name):
        case []:
            return workspace.home, workspace.schema
        case [lake, schema]:
            known = workspace.required_lake(lake)
            return known, scope.reader(known).schema(schema).name
        case [single]:
            schemas = {fold(s.name): s.name for s in scope.reader(workspace.home).schemas()}
            lake_name = workspace.lake_named(single)
            if fold(single) not in schemas and lake_name is not None:
                return lake_name, MAIN
            return workspace.home, scope.reader(workspace.home).schema(single).name
        case _:
            raise StatementError(
                f"{'.'.join(name)} has too many parts for a schema.",
                hint="Name the lake and the schema, such as lake.main.",
            )


def _partitions(scope: Scope, reader: LakeReader, table: Table) -> DataFrame:
    columns = {column.id: column.name for column in table.columns}
    keys = [key_text(key.transform, columns[key.column_id]) for key in table.partition_fields]
    rows = {
        tuple(file.partition_values)
        for file in reader.recorded_files(table)
        if len(file.partition_values) == len(keys)
    }
    shown = [
        ("/".join(f"{key}={value}" for key, value in zip(keys, row, strict=True)),) for row in rows
    ]
    return _named(scope, "partition string", sorted(shown))


# --- DESCRIBE ---


def describe(scope: Scope, wanted: Describe) -> DataFrame:
    schema = "col_name string, data_type string, comment string"
    if wanted.query is not None:
        fields = scope.query(wanted.query).schema.fields
        rows: Rows = [(f.name, f.dataType.simpleString(), None) for f in fields]
        return _named(scope, schema, rows)
    to = scope.workspace.target(wanted.name)
    reader = scope.reader(to.lake)
    rows = _columns_of(scope, to, reader)
    if wanted.column is not None:
        return _one_column(scope, to, rows, wanted.column)
    if wanted.extended:
        details: Rows = [(name, value, None) for name, value in _facts(scope, reader, to).items()]
        rows += [("", "", None), ("# Detailed Table Information", "", None), *details]
    return _named(scope, schema, rows)


def describe_schema(scope: Scope, wanted: DescribeSchema) -> DataFrame:
    lake, name = _schema_of(scope, wanted.name)
    schema = scope.reader(lake).schema(name)
    facts = {
        "Catalog Name": lake,
        "Namespace Name": schema.name,
        "Comment": schema.tags.get(COMMENT, ""),
    }
    return _named(scope, "info_name string, info_value string", list(facts.items()))


def _columns_of(scope: Scope, to: Relation, reader: LakeReader) -> Rows:
    """Name, type and comment of the columns of a table or view."""
    if (found := information_view(scope, to, reader)) is not None:
        return [(f.name, f.dataType.simpleString(), None) for f in found.schema.fields]
    view = reader.find_view(to.name)
    if view is None:
        columns = reader.table(to.name).columns
        return [(c.name, shown_type(c).simpleString(), c.comment) for c in columns]
    fields = scope.view_rows(to, view, reader).schema.fields
    return [(f.name, f.dataType.simpleString(), view.column_comment(f.name)) for f in fields]


def _one_column(scope: Scope, to: Relation, rows: Rows, wanted: str) -> DataFrame:
    found = next((row for row in rows if fold(str(row[0])) == fold(wanted)), None)
    if found is None:
        near = [str(row[0]) for row in rows]
        raise NotFoundError(f"Column {wanted!r} of {to}", near=near, wanted=wanted)
    facts = zip(("col_name", "data_type", "comment"), found, strict=True)
    return _named(scope, "info_name string, info_value string", list(facts))


def _facts(scope: Scope, reader: LakeReader, to: Relation) -> dict[str, str]:
    names = {"Catalog": to.lake, "Database": to.name.schema, "Table": to.name.name}
    view = reader.find_view(to.name)
    return names | (_view_facts(scope, view, to) if view else _table_facts(reader, to))


def _view_facts(scope: Scope, view: View, to: Relation) -> dict[str, str]:
    return {
        "Type": "view",
        "Comment": view.comment or "",
        "View Text": scope.text_of(view, to),
    }


def _table_facts(reader: LakeReader, to: Relation) -> dict[str, str]:
    table = reader.table(to.name)
    columns = {column.id: column.name for column in table.columns}
    keys = [key_text(key.transform, columns[key.column_id]) for key in table.partition_fields]
    files = reader.recorded_files(table)
    return {
        "Type": "table",
        "Provider": "ducklake",
        "Comment": table.comment or "",
        "Location": table.location,
        "Partitioned by": ", ".join(keys),
        "Sorted by": ", ".join(map(sort_text, table.sort_keys)),
        "Files": str(len(files)),
        "Bytes": str(sum(file.file_size_bytes for file in files)),
        "Table id": str(table.id),
        "Snapshot": str(reader.snapshot.id),
    }


# --- EXPLAIN ---


def explain(scope: Scope, wanted: Explain) -> DataFrame:
    """Ours before Spark's: which files each table is read from, and what left out the others."""
    query = scope.splice(wanted.query)
    lines = [_scan_line(scan) for scan in scope.scans]
    scope.run(query)  # Spark's EXPLAIN would give an error as a plan
    mode = "" if wanted.mode == "simple" else wanted.mode.upper() + " "
    plan = scope.run(Spliced(query.original, f"EXPLAIN {mode}{query.text}"))
    text = plan.collect()[0][0]
    return _named(scope, "plan string", [("\n".join([*lines, "", text]),)])


def _scan_line(scan: Scan) -> str:
    total = len(scan.reader.files(scan.table))
    read = f"{scan.relation} @{scan.snapshot}:"
    if scan.predicate is None:
        return f"{read} all of its {total} files"
    kept = len(scan.reader.files(scan.table, predicate=scan.predicate))
    return f"{read} {kept} of {total} files, by {predicate_text(scan.predicate, scan.table)}"
