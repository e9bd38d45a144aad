"""Connections of dbt: one Spark session and one transaction at a time each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from dbt.adapters.contracts.connection import AdapterResponse, Connection, ConnectionState
from dbt.adapters.ducklake.engine import Engine, Handle
from dbt.adapters.sql import SQLConnectionManager
from dbt_common.events.contextvars import get_node_info
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from ducklake_spark.errors import CommitConflictError, DuckLakeError
from ducklake_spark.spec.sizes import count_text, size_text

if TYPE_CHECKING:
    import agate
    from dbt.adapters.ducklake.cursor import Cursor

    from ducklake_spark.catalog import CommitNote

P = ParamSpec("P")
T = TypeVar("T")
# The connection of `dbt run-operation --sql`. dbt 1.12 begins its transaction and never commits it.
_SQL_OPERATION = "inline_query"


@dataclass
class DuckLakeAdapterResponse(AdapterResponse):
    """What a statement changed. The snapshot is known once the transaction is committed."""

    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None
    rows_left_out: int | None = None
    files: int | None = None
    bytes: int | None = None
    snapshot_id: int | None = None

    def became(self, snapshot_id: int | None) -> None:
        """Take note of the snapshot that the statement is part of; None if nothing was changed."""
        self.snapshot_id = snapshot_id
        self._message += f" in snapshot {snapshot_id}" if snapshot_id else ", no new snapshot"


def report_lake_errors(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], T]:
    """Raise errors of the lake in a method of the adapter as errors of dbt.

    dbt prints the message of its own errors, and a traceback of all others.
    """

    @wraps(method)
    def call(adapter: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(adapter, *args, **kwargs)
        except DuckLakeError:
            with adapter.connections.exception_handler(method.__name__):
                raise

    return call


class DuckLakeConnectionManager(SQLConnectionManager):
    TYPE = "ducklake"

    def __init__(self, profile: Any, mp_context: Any) -> None:
        super().__init__(profile, mp_context)
        self._engine = Engine(profile.credentials)

    def start_early(self) -> None:
        """Have Spark start before the first statement needs it."""
        self._engine.start_early()

    # dbt declares it for the class; the engine belongs to one manager.
    def open(self, connection: Connection) -> Connection:  # type: ignore[override]
        if connection.state != ConnectionState.OPEN:
            connection.handle = Handle(self._engine, partial(self._note, connection))
            connection.state = ConnectionState.OPEN
        return connection

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        try:
            yield
        except DuckLakeError as error:
            self.rollback_if_open()
            error.aftermath = None  # dbt's transaction ends with its node
            if isinstance(error, CommitConflictError):
                error.hint = "`dbt retry` runs it again, from the lake as it is by then."
            raise DbtDatabaseError(str(error)) from error
        except DbtRuntimeError:
            self.rollback_if_open()
            raise
        except Exception as error:
            self.rollback_if_open()
            raise DbtRuntimeError(str(error)) from error

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        from dbt_common.clients.agate_helper import empty_table

        _, cursor = self.add_query(self._add_query_comment(sql), auto_begin)
        response = self.get_response(cursor)
        with self.exception_handler(sql):
            if fetch:
                return response, self.get_result_from_cursor(cursor, limit)
            cursor.run_unfetched()
        if auto_begin and self.get_thread_connection().name == _SQL_OPERATION:
            self.commit()
        return response, empty_table()  # type: ignore[no-untyped-call]

    def cancel(self, connection: Connection) -> None:
        connection.handle.cancel()

    @classmethod
    def get_response(cls, cursor: Cursor) -> DuckLakeAdapterResponse:
        outcomes = cursor.outcomes
        if not outcomes:
            return DuckLakeAdapterResponse(_message="OK")
        rows = sum(outcome.rows_affected for outcome in outcomes)
        files = sum(outcome.files for outcome in outcomes)
        size = sum(outcome.bytes for outcome in outcomes)
        code = outcomes[-1].operation
        counts = [count_text(rows, "row")]
        if rows or files:
            counts += [count_text(files, "file"), size_text(size)]
        done = f" ({', '.join(counts)})" if rows or files or outcomes[-1].is_row_change else ""
        response = DuckLakeAdapterResponse(
            _message=f"{code}{done}",
            code=code,
            rows_affected=rows,
            rows_inserted=sum(outcome.rows_inserted for outcome in outcomes),
            rows_updated=sum(outcome.rows_updated for outcome in outcomes),
            rows_deleted=sum(outcome.rows_deleted for outcome in outcomes),
            rows_left_out=sum(outcome.rows_left_out for outcome in outcomes),
            files=files,
            bytes=size,
            snapshot_id=outcomes[-1].snapshot_id,
        )
        cursor.handle.on_commit(response.became)
        return response

    @classmethod
    def data_type_code_to_name(cls, type_code: int | str) -> str:
        return str(type_code)

    # --- transactions ---

    def add_begin_query(self) -> None:
        connection = self.get_thread_connection()
        with self.exception_handler("BEGIN"):
            connection.handle.begin()

    def add_commit_query(self) -> None:
        connection = self.get_thread_connection()
        with self.exception_handler("COMMIT"):
            connection.handle.commit()

    def begin(self) -> Connection:  # type: ignore[override]
        connection = self.get_thread_connection()
        if not connection.transaction_open:
            self.add_begin_query()
            connection.transaction_open = True
        return connection

    def commit(self) -> Connection:  # type: ignore[override]
        connection = self.get_thread_connection()
        if connection.transaction_open:
            # Whatever becomes of it, this transaction is over.
            connection.transaction_open = False
            self.add_commit_query()
        return connection

    def _note(self, connection: Connection) -> CommitNote:
        """Which run and which node make a snapshot."""
        from ducklake_spark.catalog import CommitNote

        info = get_node_info()
        facts = {
            "invocation_id": get_invocation_id(),
            "node_id": info.get("unique_id") or connection.name,
            "target": self.profile.target_name,
            "project": getattr(self.profile, "project_name", None),
            "query_comment": self.query_header and self.query_header.comment.query_comment,
        }
        lineage = json.dumps({key: value for key, value in facts.items() if value})
        return CommitNote(message=f"dbt: {connection.name}", extra_info=lineage)

    def cleanup_all(self) -> None:
        super().cleanup_all()
        self._engine.close()
