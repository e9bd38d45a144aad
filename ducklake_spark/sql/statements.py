"""What a statement asks for, as data. Names are as written; texts keep their place in the
statement, so that Spark's messages about them name the right line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """Rows, by Spark. `text` may be any query."""

    text: str


@dataclass(frozen=True, slots=True)
class SparkCommand:
    """A statement that is Spark's own; from `query_at` on it may name relations of lakes."""

    text: str
    query_at: int | None = None


@dataclass(frozen=True, slots=True)
class Explain:
    mode: str
    query: str


# --- definitions ---


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    name: str
    type: str
    nullable: bool = True
    default: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """`signature` is all between the name and RETURN."""

    name: Parts
    parameters: tuple[ColumnDefinition, ...]
    signature: str
    returns: str | None
    body: str
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class DropFunction:
    name: Parts
    if_exists: bool


@dataclass(frozen=True, slots=True)
class CreateSchema:
    name: Parts
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class DropSchema:
    name: Parts
    if_exists: bool
    cascade: bool


@dataclass(frozen=True, slots=True)
class CreateTable:
    name: Parts
    columns: tuple[ColumnDefinition, ...] = ()
    query: str | None = None
    like: Parts | None = None
    partitioned_by: tuple[str, ...] = ()
    sorted_by: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateView:
    name: Parts
    query: str
    columns: tuple[tuple[str, str | None], ...] = ()
    comment: str | None = None
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateTemporaryView:
    name: str
    query: str
    replace: bool = False
    columns: tuple[str, ...] = ()
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    kind: Literal["table", "view"]
    name: Parts
    if_exists: bool


@dataclass(frozen=True, slots=True)
class AddColumns:
    columns: tuple[ColumnDefinition, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropColumns:
    paths: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    path: str
    new_name: str


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """`what`: type, not null, null, default, no default, comment."""

    path: str
    what: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class SetLayout:
    """Partitioning or sort order; an empty list resets it."""

    what: Literal["partitioning", "sort order"]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RenameTo:
    name: Parts


@dataclass(frozen=True, slots=True)
class SetOptions:
    """Options of a table; None resets one."""

    options: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class SetQuery:
    """ALTER VIEW … AS."""

    query: str


Alteration = (
    AddColumns
    | DropColumns
    | RenameColumn
    | ChangeColumn
    | SetLayout
    | RenameTo
    | SetOptions
    | SetQuery
)


@dataclass(frozen=True, slots=True)
class Alter:
    kind: Literal["table", "view"]
    name: Parts
    if_exists: bool
    change: Alteration


@dataclass(frozen=True, slots=True)
class Comment:
    """`kind`: table, view, column. The name of a column includes its table, until it is known what
    part of it that is; `column` is the rest."""

    kind: str
    name: Parts
    text: str | None
    column: Parts = ()


# --- rows ---


@dataclass(frozen=True, slots=True)
class Insert:
    """`partition` gives the values of PARTITION (…), None for a key without one. `replace_where`
    may know the table by its alias. With `only_matching`, new rows that do not meet that condition
    are left out."""

    name: Parts
    query: str
    overwrite: bool = False
    columns: tuple[str, ...] = ()
    by_name: bool = False
    partition: Mapping[str, str | None] = field(default_factory=dict)
    replace_where: str | None = None
    alias: str | None = None
    only_matching: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """`before`, here and below, is the WITH before the statement."""

    name: Parts
    alias: str | None
    condition: str | None
    before: str = ""


@dataclass(frozen=True, slots=True)
class Update:
    name: Parts
    alias: str | None
    assignments: tuple[tuple[Parts, str], ...]
    condition: str | None
    before: str = ""


@dataclass(frozen=True, slots=True)
class When:
    """One clause of a MERGE. `assignments` None stands for the star: all columns by name.

    `message` is the text that an error has.
    """

    when: Literal["matched", "not matched", "not matched by source"]
    condition: str | None
    then: Literal["update", "delete", "insert", "do nothing", "error"]
    assignments: tuple[tuple[Parts, str], ...] | None = ()
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    name: Parts
    alias: str | None
    source: str
    source_alias: str | None
    on: str
    clauses: tuple[When, ...]
    before: str = ""


@dataclass(frozen=True, slots=True)
class Truncate:
    name: Parts


# --- transactions, and what is known ---


@dataclass(frozen=True, slots=True)
class Begin:
    pass


@dataclass(frozen=True, slots=True)
class Commit:
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Rollback:
    pass


@dataclass(frozen=True, slots=True)
class Use:
    name: Parts


@dataclass(frozen=True, slots=True)
class Show:
    """`what`: catalogs, schemas, tables, views, columns, create table, tblproperties, partitions.

    `pattern` is that of names, or the one property; `extended` tells more of each table.
    """

    what: str
    name: Parts = ()
    pattern: str | None = None
    extended: bool = False


@dataclass(frozen=True, slots=True)
class Describe:
    """A relation, one column of it or, with `query`, the columns of a query."""

    name: Parts = ()
    extended: bool = False
    query: str | None = None
    column: str | None = None


@dataclass(frozen=True, slots=True)
class DescribeSchema:
    name: Parts


@dataclass(frozen=True, slots=True)
class Call:
    """CALL lake.procedure(name => value): arguments as expressions, by name or by place."""

    name: Parts
    arguments: tuple[tuple[str | None, str], ...]


# Those on one relation, which may be the lake's or Spark's own.
OnRelation = (
    CreateFunction
    | DropFunction
    | CreateTable
    | CreateView
    | Drop
    | Alter
    | Comment
    | Insert
    | Delete
    | Update
    | Merge
    | Truncate
    | Describe
    | DescribeSchema
)
Statement = (
    OnRelation
    | Query
    | SparkCommand
    | Explain
    | CreateSchema
    | DropSchema
    | CreateTemporaryView
    | Begin
    | Commit
    | Rollback
    | Use
    | Show
    | Call
)
