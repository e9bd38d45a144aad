"""What CALL can carry out: functions, each with what it is given to work on.

The arguments of a procedure and the columns of its rows are those its function declares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from ducklake_spark import maintain
from ducklake_spark.catalog import LakeReader, Transaction
from ducklake_spark.errors import StatementError
from ducklake_spark.spec.moments import Moment
from ducklake_spark.spec.names import split_identifier
from ducklake_spark.sql.arguments import Given, Parameter, Signature
from ducklake_spark.sql.failures import SPARK_ERRORS, query_error
from ducklake_spark.sql.rows import frame_of
from ducklake_spark.sql.workspace import MAIN, Workspace

Arguments = dict[str, Any]


class On(Enum):
    """What a procedure works on, and thereby how it goes with an open transaction."""

    VIEW = auto()  # a LakeReader: the lake as the next statement sees it
    SNAPSHOT = auto()  # the same, or the lake at a snapshot that the arguments name
    COMMITTED = auto()  # a Catalog that it reads only
    TRANSACTION = auto()  # a Transaction: the open one, or one of its own
    OPEN_TRANSACTION = auto()  # a Transaction that must be open
    ITSELF = auto()  # a Catalog: commits by itself, so never inside of a transaction


@dataclass(frozen=True, slots=True)
class Procedure:
    """A function that CALL can carry out; with `spark`, it takes a Session after the lake."""

    function: Callable[..., list[Any]]
    on: On
    spark: bool
    signature: Signature

    @property
    def tells(self) -> bool:
        """Whether it changes nothing, so that a query can read from it."""
        return self.on in (On.VIEW, On.SNAPSHOT, On.COMMITTED)

    def frame(self, workspace: Workspace, lake: str, given: Given, zone: str) -> DataFrame:
        """Carry it out on a lake; its rows.

        `zone` is that of times that do not say theirs.
        """
        arguments = located(workspace, lake, self.signature.bound(given, zone))
        rows = self._carry_out(workspace, lake, arguments)
        if rows is None:
            waiting = Deferred(self.signature.name, "after the COMMIT of the open transaction")
            return frame_of(workspace.session, Deferred, [waiting])
        return frame_of(workspace.session, self.signature.row, rows)

    def _carry_out(self, workspace: Workspace, lake: str, arguments: Arguments) -> list[Any] | None:
        """Its rows; None if it must wait for the open transaction."""
        match self.on:
            case On.VIEW:
                return self._run(workspace, workspace.reader(lake), arguments)
            case On.SNAPSHOT:
                return self._run(workspace, _travelled(workspace, lake, arguments), arguments)
            case On.COMMITTED:
                return self._run(workspace, workspace.lakes[lake], arguments)
            case On.TRANSACTION | On.OPEN_TRANSACTION:
                with workspace.writing(lake) as work:
                    if self.on is On.OPEN_TRANSACTION and not workspace.in_transaction:
                        raise StatementError(
                            f"{self.signature.name} says something of a transaction, "
                            "and none is open.",
                            hint="Start one with BEGIN.",
                        )
                    return self._run(workspace, work.tx, arguments)
        run = partial(self._run, workspace, workspace.lakes[lake], arguments)
        if arguments.get("dry_run"):
            return run()
        return workspace.by_itself(lake, self.signature.name, run)

    def _run(self, workspace: Workspace, on: Any, arguments: Arguments) -> list[Any]:
        with _translated():
            if self.spark:
                return self.function(on, workspace.session, **arguments)
            return self.function(on, **arguments)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except SPARK_ERRORS as error:
        raise query_error(error) from error


@dataclass(frozen=True, slots=True)
class Deferred:
    """What becomes of an operation that cannot be part of the open transaction."""

    procedure: str
    carried_out: str


def located(workspace: Workspace, lake: str, arguments: Arguments) -> Arguments:
    """The arguments with the table named by its schema and its bare name.

    Functions without a schema among their arguments give their tables dotted names.
    """
    schema_key = next((key for key in ("schema", "schema_name") if key in arguments), None)
    name = arguments.get("table_name")
    if schema_key is None or name is None or arguments[schema_key] is not None:
        return arguments
    *outer, table = split_identifier(name)
    if len(outer) == 2 and workspace.lake_named(outer[0]) == lake:
        del outer[0]
    if len(outer) > 1:
        raise StatementError(
            f"{name} is no table of the lake {lake}.", hint="Write it as schema.table."
        )
    here = workspace.schema if lake == workspace.home else MAIN
    return arguments | {"table_name": table, schema_key: outer[0] if outer else here}


def _travelled(workspace: Workspace, lake: str, arguments: Arguments) -> LakeReader:
    version, moment = (arguments.pop(name) for name in ("snapshot_version", "snapshot_time"))
    if version is None and moment is None:
        return workspace.reader(lake)
    return workspace.lakes[lake].at(version, timestamp=moment)


@dataclass(frozen=True, slots=True)
class Described:
    """What the open transaction's commit will say of itself."""

    author: str | None
    commit_message: str | None
    extra_info: str | None


def set_commit_message(
    tx: Transaction,
    *,
    author: str | None = None,
    commit_message: str | None = None,
    extra_info: str | None = None,
) -> list[Described]:
    """Say who makes the open transaction's commit and why."""
    tx.describe_commit(author=author, message=commit_message, extra_info=extra_info)
    return [Described(author, commit_message, extra_info)]


_TRAVEL = (
    Parameter("snapshot_version", int, None, takes_null=True),
    Parameter("snapshot_time", Moment, None, takes_null=True),
)


def _procedure(function: Callable[..., list[Any]], on: On, *, spark: bool = False) -> Procedure:
    signature = Signature.of(function)
    if on is On.SNAPSHOT:
        signature = replace(signature, parameters=(*signature.parameters, *_TRAVEL))
    return Procedure(function, on, spark, signature)


PROCEDURES: Mapping[str, Procedure] = {
    procedure.signature.name: procedure
    for procedure in (
        _procedure(maintain.snapshots, On.COMMITTED),
        _procedure(maintain.options, On.VIEW),
        _procedure(maintain.table_info, On.SNAPSHOT),
        _procedure(maintain.list_files, On.SNAPSHOT),
        _procedure(maintain.set_option, On.TRANSACTION),
        _procedure(set_commit_message, On.OPEN_TRANSACTION),
        _procedure(maintain.add_data_files, On.TRANSACTION),
        _procedure(maintain.create_indexes, On.ITSELF),
        _procedure(maintain.expire_snapshots, On.ITSELF),
        _procedure(maintain.cleanup_old_files, On.ITSELF),
        _procedure(maintain.delete_orphaned_files, On.ITSELF),
        _procedure(maintain.merge_adjacent_files, On.ITSELF, spark=True),
        _procedure(maintain.rewrite_data_files, On.ITSELF, spark=True),
        _procedure(maintain.flush_inlined_data, On.ITSELF, spark=True),
        _procedure(maintain.checkpoint, On.ITSELF, spark=True),
        _procedure(maintain.rollback, On.ITSELF, spark=True),
        _procedure(maintain.verify, On.COMMITTED),
    )
}
