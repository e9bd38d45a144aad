"""ALTER TABLE and ALTER VIEW."""

from __future__ import annotations

from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.sql.parse_columns import (
    CONSTRAINTS,
    accept_if_not_exists,
    column,
    column_path,
    keys,
    no_constraint,
    properties,
    type_text,
)
from ducklake_spark.sql.statements import (
    AddColumns,
    Alter,
    Alteration,
    ChangeColumn,
    DropColumns,
    RenameColumn,
    RenameTo,
    SetLayout,
    SetOptions,
    SetQuery,
    Statement,
)
from ducklake_spark.sql.tokens import Cursor


def parse(cursor: Cursor) -> Statement | None:
    """The rest of the statement, after ALTER."""
    kind = cursor.accept_any("TABLE", "VIEW")
    if not kind:
        return None
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.dotted(f"the name of a {kind.lower()}")
    change = _alteration(cursor)
    cursor.finish()
    return Alter("table" if kind == "TABLE" else "view", name, if_exists, change)


def _alteration(cursor: Cursor) -> Alteration:
    if cursor.accept("AS"):
        return SetQuery(cursor.query())
    _refuse_partitions(cursor)
    if cursor.accept("ADD"):
        return _add_columns(cursor)
    if cursor.accept("DROP"):
        return _drop_columns(cursor)
    if cursor.accept("RENAME", "TO"):
        return RenameTo(cursor.dotted())
    if cursor.accept("RENAME"):
        cursor.accept("COLUMN")
        path = column_path(cursor.dotted("a column"))
        cursor.expect("TO")
        return RenameColumn(path, cursor.name("the new name"))
    if cursor.accept("ALTER") or cursor.accept("CHANGE"):
        cursor.accept("COLUMN")
        change = _change_column(cursor)
        _refuse_more_changes(cursor)
        return change
    if cursor.accept("SET"):
        return _set(cursor)
    if cursor.accept("RESET"):
        return _reset(cursor)
    if cursor.accept("UNSET", "TBLPROPERTIES"):
        cursor.accept("IF", "EXISTS")
        return SetOptions(dict.fromkeys(key.strip("'\"`") for key in keys(cursor)))
    raise cursor.error("ADD, DROP, RENAME, ALTER, SET or RESET")


def _refuse_partitions(cursor: Cursor) -> None:
    """Hive's way: partitions as something of their own."""
    words = [cursor.peek(at).word for at in range(5)]
    adds_or_drops = words[0] in ("ADD", "DROP") and (
        words[1:3] == ["PARTITION", "("] or (words[1] == "IF" and "PARTITION" in words[3:])
    )
    if adds_or_drops or words[0] in ("PARTITION", "RECOVER"):
        raise UnsupportedFeatureError(
            "The partitions of a table are those of its rows: none is added, dropped or renamed.",
            hint="DELETE FROM or INSERT OVERWRITE change the rows of a partition, and ALTER TABLE "
            "… SET PARTITIONED BY (…) how new rows are partitioned.",
        )


def _refuse_more_changes(cursor: Cursor) -> None:
    if cursor.sees_any("FIRST", "AFTER"):
        raise UnsupportedFeatureError(
            "DuckLake keeps columns in the order in which they came.",
            hint="List them in the order you want in a SELECT or a view.",
        )
    if cursor.sees_any(","):
        raise UnsupportedFeatureError(
            "ALTER TABLE … ALTER COLUMN changes one column at a time.",
            hint="Write a statement for each, between BEGIN and COMMIT to make it one snapshot.",
        )


def _add_columns(cursor: Cursor) -> AddColumns:
    cursor.accept_any("COLUMN", "COLUMNS")
    if_not_exists = accept_if_not_exists(cursor)
    in_group = cursor.accept("(")
    columns = []
    while True:
        if cursor.sees_any(*CONSTRAINTS):
            raise no_constraint(cursor)
        columns.append(column(cursor, column_path(cursor.dotted("a column"))))
        if not cursor.accept(","):
            break
    if cursor.accept_any("FIRST", "AFTER"):
        raise UnsupportedFeatureError(
            "DuckLake adds columns at the end only.", hint="Leave out FIRST or AFTER."
        )
    if in_group:
        cursor.expect(")")
    return AddColumns(tuple(columns), if_not_exists)


def _drop_columns(cursor: Cursor) -> DropColumns:
    if cursor.sees_any(*CONSTRAINTS):
        raise no_constraint(cursor)
    cursor.accept_any("COLUMN", "COLUMNS")
    if_exists = cursor.accept("IF", "EXISTS")
    in_group = cursor.accept("(")
    paths = [column_path(cursor.dotted("a column"))]
    while cursor.accept(","):
        paths.append(column_path(cursor.dotted("a column")))
    if in_group:
        cursor.expect(")")
    return DropColumns(tuple(paths), if_exists)


def _change_column(cursor: Cursor) -> ChangeColumn:
    path = column_path(cursor.dotted("a column"))
    if cursor.accept("SET", "DATA", "TYPE") or cursor.accept("TYPE"):
        return ChangeColumn(path, "type", type_text(cursor))
    if cursor.accept("SET", "NOT", "NULL"):
        return ChangeColumn(path, "not null")
    if cursor.accept("DROP", "NOT", "NULL"):
        return ChangeColumn(path, "null")
    if cursor.accept("SET", "DEFAULT"):
        return ChangeColumn(path, "default", cursor.rest())
    if cursor.accept("DROP", "DEFAULT"):
        return ChangeColumn(path, "no default")
    if cursor.accept("COMMENT"):
        return ChangeColumn(path, "comment", cursor.string())
    _refuse_more_changes(cursor)
    if cursor.peek().is_name and not cursor.sees_any("SET", "DROP"):
        raise UnsupportedFeatureError(
            "A column gets a new name and a new type by a statement each.",
            hint="Write ALTER TABLE … RENAME COLUMN a TO b, and ALTER COLUMN b TYPE …",
        )
    raise cursor.error("TYPE, SET NOT NULL, DROP NOT NULL, SET DEFAULT, DROP DEFAULT or COMMENT")


def _set(cursor: Cursor) -> Alteration:
    if cursor.accept("PARTITIONED", "BY"):
        return SetLayout("partitioning", keys(cursor))
    if cursor.accept("SORTED", "BY"):
        return SetLayout("sort order", keys(cursor))
    if cursor.accept("TBLPROPERTIES"):
        return SetOptions(dict(properties(cursor)))
    raise cursor.error("PARTITIONED BY, SORTED BY or TBLPROPERTIES")


def _reset(cursor: Cursor) -> Alteration:
    if cursor.accept("PARTITIONED", "BY"):
        return SetLayout("partitioning", ())
    if cursor.accept("SORTED", "BY"):
        return SetLayout("sort order", ())
    raise cursor.error("PARTITIONED BY or SORTED BY")
