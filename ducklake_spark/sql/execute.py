"""Runs statements: finds what a text asks for, and hands it to the part that does it."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from ducklake_spark.config import refuse_duckdb_settings
from ducklake_spark.errors import AlreadyExistsError, ConfigError, NotFoundError, QueryError
from ducklake_spark.sql import change, define, inform, macros
from ducklake_spark.sql.arguments import Given, evaluated
from ducklake_spark.sql.failures import SPARK_ERRORS, query_error
from ducklake_spark.sql.parse_changes import queries_of
from ducklake_spark.sql.parser import parse
from ducklake_spark.sql.result import Outcome, Result
from ducklake_spark.sql.scope import Scope
from ducklake_spark.sql.splice import Edit, Spliced, spliced
from ducklake_spark.sql.statements import (
    Alter,
    Begin,
    Call,
    Comment,
    Commit,
    CreateFunction,
    CreateSchema,
    CreateTable,
    CreateTemporaryView,
    CreateView,
    Delete,
    Describe,
    DescribeSchema,
    Drop,
    DropFunction,
    DropSchema,
    Explain,
    Insert,
    Merge,
    OnRelation,
    Query,
    Rollback,
    Show,
    SparkCommand,
    Statement,
    Truncate,
    Update,
    Use,
)
from ducklake_spark.sql.tokens import Cursor, literal, quoted
from ducklake_spark.sql.workspace import Relation, Work, Workspace

# A script and EXECUTE IMMEDIATE can contain a SET.
_SETTING_COMMANDS = {"SET", "RESET", "EXECUTE", "BEGIN"}

# What commands of other table formats are for a lake.
_EQUIVALENTS = {
    "OPTIMIZE": "CALL lake.merge_adjacent_files() joins the small files of a lake. For ZORDER, set "
    "the order of rows with ALTER TABLE … SET SORTED BY (…), in dbt with sorted_by.",
    "VACUUM": "CALL lake.expire_snapshots(older_than => …) and then CALL lake.cleanup_old_files() "
    "remove what old snapshots of a lake used.",
    "REORG": "CALL lake.rewrite_data_files() removes deleted rows from the files of a lake.",
    "RESTORE": "CALL lake.rollback(…) brings back an older state of a lake.",
    "FSCK": "CALL lake.verify() looks for damage in a lake.",
    "MSCK": "CALL lake.add_data_files(…) adds files to a table of a lake.",
}

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Executor:
    """Runs statements one after the other in a workspace."""

    workspace: Workspace

    def run(self, text: str) -> Result:
        """Carry out one statement."""
        scope = Scope(self.workspace, text.rstrip())
        statement = parse(text)
        try:
            # Python code may have changed a setting of the session past this package.
            if changed := self.workspace.session.keep_settings():
                _log.warning("Reset %s: DuckLake tables depend on the value.", ", ".join(changed))
            # Views keep what they have read: what the statement returns needs no scratch files.
            with self.workspace.session.scratch.emptied():
                done = self._carry_out(scope, statement, text)
        except SPARK_ERRORS as error:  # of what was asked beside the query itself
            raise query_error(error) from error
        finally:
            # Spark's own commands may have kept a text that names them.
            if not isinstance(statement, SparkCommand):
                scope.close()
        if isinstance(done, Outcome):
            return Result(self.workspace.session, outcome=done)
        return Result(self.workspace.session, done)

    def moment(self, text: str) -> datetime.datetime:
        """Return the point in time that a text names, as TIMESTAMP AS OF reads it."""
        return Scope(self.workspace).moment(literal(text))

    def _carry_out(self, scope: Scope, statement: Statement, text: str) -> DataFrame | Outcome:
        match statement:
            case Query(query):
                return scope.query(query)
            case SparkCommand():
                return self._sparks(scope, statement)
            case Explain():
                return inform.explain(scope, statement)
            case Show() | Describe() | DescribeSchema():
                return self._inform(scope, statement, text)
            case CreateTemporaryView():
                return self._temporary_view(scope, statement)
            case Call():
                return self._call(scope, statement)
            case Begin() | Commit() | Rollback() | Use():
                return self._control(statement)
            case CreateSchema() | DropSchema():
                return self._schema(statement)
            case _:
                return self._on_relation(scope, statement, text)

    # --- without a commit ---

    def _sparks(self, scope: Scope, command: SparkCommand) -> DataFrame:
        if command.query_at is None:
            cursor = Cursor(command.text)
            if cursor.accept("SET"):
                refuse_duckdb_settings([cursor.peek().text])
            frame = _run_command(scope, command.text)
            self._keep_settings(command.text)
            return frame
        at = command.query_at
        inner = scope.splice(command.text[at:])
        moved = [Edit(e.start + at, e.end + at, e.text) for e in inner.edits]
        return scope.run(spliced(command.text, moved))

    def _keep_settings(self, command: str) -> None:
        """Restore the settings that tables depend on, and reject a command that changed one."""
        first = Cursor(command).peek().word
        if first not in _SETTING_COMMANDS:
            return
        changed = self.workspace.session.keep_settings()
        if changed and first != "RESET":
            raise ConfigError(
                f"Cannot change {', '.join(changed)}: DuckLake tables depend on the value.",
                hint="The previous value stays in effect. Remove the SET statement.",
            )

    def _inform(
        self, scope: Scope, wanted: Show | Describe | DescribeSchema, text: str
    ) -> DataFrame:
        if not self._is_of_lakes(scope, wanted):
            return scope.run(Spliced(text, text))
        match wanted:
            case Show():
                return inform.show(scope, wanted)
            case Describe():
                return inform.describe(scope, wanted)
            case DescribeSchema():
                return inform.describe_schema(scope, wanted)

    def _is_of_lakes(self, scope: Scope, wanted: Show | Describe | DescribeSchema) -> bool:
        match wanted:
            case Show("catalogs" | "schemas") | Describe(query=str()):
                return True
            case Show("tables" | "views") | DescribeSchema():
                is_ours = inform.is_of_lake(scope, wanted.name)
                return is_ours or not scope.spark_has_schema(wanted.name)
            case _:
                return self._is_ours(scope, wanted, wanted.name)

    def _temporary_view(self, scope: Scope, wanted: CreateTemporaryView) -> Outcome:
        frame = scope.query(wanted.query)
        if wanted.columns:
            frame = frame.toDF(*wanted.columns)
        if wanted.cached:
            frame = frame.cache()
        if wanted.replace:
            frame.createOrReplaceTempView(quoted(wanted.name))
        elif self.workspace.session.spark.catalog.tableExists(quoted(wanted.name)):
            raise AlreadyExistsError(f"There is already a view {wanted.name} of this session.")
        else:
            frame.createTempView(quoted(wanted.name))
        return Outcome("CREATE TEMPORARY VIEW")

    def _call(self, scope: Scope, wanted: Call) -> DataFrame:
        *qualifiers, name = wanted.name
        texts = [f"{key} => {text}" if key is not None else text for key, text in wanted.arguments]
        given = evaluated(scope, ", ".join(texts))
        if qualifiers:
            lake = self.workspace.required_lake(qualifiers[0])
        else:
            lake, given = self._lake_by_place(name, given)
        name = name.lower().removeprefix("ducklake_")
        # Here, for it leads to all of maintenance, which other statements need not wait for.
        from ducklake_spark.sql.procedures import PROCEDURES

        procedure = PROCEDURES.get(name)
        if procedure is None:
            raise NotFoundError(f"The procedure {name!r}", near=PROCEDURES, wanted=name)
        return procedure.frame(self.workspace, lake, given, scope.time_zone())

    def _lake_by_place(self, name: str, given: Given) -> tuple[str, Given]:
        """The lake, which DuckDB's `ducklake_…` functions take as their first argument."""
        if name.lower().startswith("ducklake_") and given.by_place:
            first, *others = given.by_place
            lake = self.workspace.lake_named(first) if isinstance(first, str) else None
            if lake is not None:
                return lake, replace(given, by_place=others)
        return self.workspace.home, given

    def _control(self, statement: Begin | Commit | Rollback | Use) -> Outcome:
        match statement:
            case Begin():
                self.workspace.begin()
                return Outcome("BEGIN")
            case Commit(message):
                results = self.workspace.commit(message=message)
                new = [result.snapshot_id for result in results if result.is_new]
                return Outcome("COMMIT", snapshot_id=new[-1] if new else None)
            case Rollback():
                self.workspace.rollback()
                return Outcome("ROLLBACK")
            case Use(name):
                self.workspace.use(name)
                return Outcome("USE")

    # --- with a commit ---

    def _schema(self, wanted: CreateSchema | DropSchema) -> Outcome:
        *qualifiers, name = wanted.name
        lake = self.workspace.required_lake(qualifiers[0]) if qualifiers else self.workspace.home
        if isinstance(wanted, CreateSchema):
            return self._written(lake, lambda work: define.create_schema(work, name, wanted))
        return self._written(lake, lambda work: define.drop_schema(work, name, wanted))

    def _on_relation(self, scope: Scope, statement: OnRelation, text: str) -> DataFrame | Outcome:
        if isinstance(statement, Comment) and statement.kind == "column":
            statement = self._of_relation(scope, statement)
        if not self._is_ours(scope, statement, statement.name):
            return scope.query(text)
        to = self.workspace.target(statement.name)
        return self._written(to.lake, lambda work: _do(scope, work, to, statement))

    def _of_relation(self, scope: Scope, wanted: Comment) -> Comment:
        """The comment with the relation by itself, of which its name is a column or a field."""
        name = wanted.name
        known = [at for at in range(len(name) - 1, 0, -1) if scope.knows(name[:at])]
        at = known[0] if known else len(name) - 1
        return replace(wanted, name=name[:at], column=name[at:])

    def _is_ours(self, scope: Scope, statement: OnRelation | Show, name: tuple[str, ...]) -> bool:
        """Whether a statement is about a relation of a lake and not about one of Spark's, which
        wins where a name of one or two parts fits both, as it does in queries."""
        if len(name) > 2:
            return self.workspace.lake_named(name[0]) is not None
        if isinstance(statement, (CreateTable, CreateView)):
            return True
        return not scope.spark_has(name)

    def _written(self, lake: str, do: Callable[[Work], Outcome]) -> Outcome:
        with self.workspace.writing(lake) as work:
            outcome = do(work)
        if work.result is None or not work.result.is_new:
            return outcome
        return replace(outcome, snapshot_id=work.result.snapshot_id)


def _run_command(scope: Scope, command: str) -> DataFrame:
    try:
        return scope.run(Spliced(command, command))
    except (NotFoundError, QueryError) as error:
        error.hint = _EQUIVALENTS.get(Cursor(command).peek().word, error.hint)
        raise


def _do(scope: Scope, work: Work, to: Relation, statement: OnRelation) -> Outcome:
    """Carry out a statement on a relation, within a transaction's work."""
    scope.read_through(to.lake, work.tx)
    carry_out = _DOERS[type(statement)]
    try:
        if isinstance(statement, (Delete, Update, Merge)):
            for name, query in queries_of(statement.before):
                scope.define(name, query)
        return carry_out(scope, work, to, statement)
    except SPARK_ERRORS as error:  # of rows that are only computed when they are written
        raise query_error(error, scope.last) from error


_DOERS: Mapping[type, Callable[[Scope, Work, Relation, Any], Outcome]] = {
    CreateFunction: macros.create_function,
    DropFunction: macros.drop_function,
    CreateTable: define.create_table,
    CreateView: define.create_view,
    Drop: define.drop,
    Alter: define.alter,
    Comment: define.comment,
    Insert: change.insert,
    Delete: change.delete_rows,
    Update: change.update_rows,
    Merge: change.merge_rows,
    Truncate: change.truncate_table,
}
