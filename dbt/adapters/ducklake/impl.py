"""The adapter: what dbt asks of a warehouse, answered by the lake."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.ducklake.column import DuckLakeColumn
from dbt.adapters.ducklake.connections import DuckLakeConnectionManager, report_lake_errors
from dbt.adapters.ducklake.engine import Handle
from dbt.adapters.ducklake.event_time import within
from dbt.adapters.ducklake.foreign_configs import advice
from dbt.adapters.ducklake.lake_catalogs import LakeCatalog
from dbt.adapters.ducklake.loading import load_engine
from dbt.adapters.ducklake.merge_config import MergePlan, merge_plan
from dbt.adapters.ducklake.relation import DuckLakeRelation, refuse_same_names
from dbt.adapters.ducklake.table_layout import TableLayout, table_layout
from dbt.adapters.events.types import AdapterEventWarning
from dbt.adapters.sql import SQLAdapter
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.events.base_types import EventLevel
from dbt_common.events.functions import fire_event, warn_or_error
from dbt_common.events.types import Note
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from ducklake_spark.spec.names import QualifiedName, split_identifier

if TYPE_CHECKING:
    import agate

    from ducklake_spark.spec.model import Table
    from ducklake_spark.sql import Alterations

_ALWAYS = CapabilitySupport(support=Support.Full)
# The commands that hardly ever get by without Spark.
_USE_SPARK = ("build", "clone", "retry", "run", "seed", "show", "snapshot", "test")


class DuckLakeAdapter(SQLAdapter):
    ConnectionManager = DuckLakeConnectionManager
    Relation = DuckLakeRelation
    CATALOG_INTEGRATIONS = (LakeCatalog,)
    Column = DuckLakeColumn
    connections: DuckLakeConnectionManager

    CONSTRAINT_SUPPORT = {  # noqa: RUF012 - as dbt declares it
        ConstraintType.check: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.primary_key: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_SUPPORTED,
    }
    _capabilities = CapabilityDict(
        {
            Capability.SchemaMetadataByRelations: _ALWAYS,
            Capability.TableLastModifiedMetadata: _ALWAYS,
            Capability.TableLastModifiedMetadataBatch: _ALWAYS,
            Capability.GetCatalogForSingleRelation: _ALWAYS,
            Capability.MicrobatchConcurrency: _ALWAYS,
            Capability.CatalogsV2: _ALWAYS,
        }
    )

    def __init__(self, config: Any, mp_context: Any) -> None:
        super().__init__(config, mp_context)
        self._warning = threading.Lock()
        self._warned: set[tuple[str, str]] = set()
        # `dbt debug` makes an adapter of the profile alone, which has no args.
        if getattr(getattr(config, "args", None), "which", None) in _USE_SPARK:
            self.connections.start_early()

    # --- SQL ---

    @classmethod
    def date_function(cls) -> str:
        return "current_timestamp()"

    @classmethod
    def quote(cls, identifier: str) -> str:
        return "`" + identifier.replace("`", "``") + "`"

    @classmethod
    def convert_text_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        return "string"

    @classmethod
    def convert_integer_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        return "bigint"

    @classmethod
    def convert_number_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        from dbt.adapters.ducklake.seeds import number_type

        return number_type(row[col_idx] for row in agate_table.rows)

    @classmethod
    def convert_datetime_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        return "timestamp"

    @classmethod
    def convert_time_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        return "string"

    def timestamp_add_sql(self, add_to: str, number: int = 1, interval: str = "hour") -> str:
        return f"({add_to} + interval {number} {interval})"

    def valid_incremental_strategies(self) -> list[str]:
        return ["append", "merge", "delete+insert", "insert_overwrite", "microbatch"]

    @available
    def merge_plan(self, config: dict[str, Any]) -> MergePlan:
        """What a model's configs say of its merge, or one error with all that is wrong."""
        return merge_plan(config)

    @available
    def table_layout(self, config: dict[str, Any]) -> TableLayout:
        """What a model's configs say of its table's layout, or one error with all that is wrong."""
        return table_layout(config)

    @available
    def within_event_time(
        self, column: str, start: datetime.datetime | None, end: datetime.datetime | None
    ) -> list[str]:
        """Conditions for the rows of a batch."""
        return within(column, start, end)

    @available.parse_none
    def warn_once(self, message: str) -> None:
        """Fire a warning, unless this invocation of dbt has fired it already."""
        with self._warning:
            is_new = (get_invocation_id(), message) not in self._warned
            self._warned.add((get_invocation_id(), message))
        if is_new:
            warn_or_error(AdapterEventWarning(base_msg=message))

    def pre_model_hook(self, config: Any) -> None:
        """Warn about configs that have no effect here."""
        for text in advice(config.get):
            self.warn_once(f"{config.model.unique_id}: {text}")

    # --- transactions ---

    @available.parse_none
    @report_lake_errors
    def look_again(self) -> None:
        """Let what follows see the newest snapshot, if the transaction has changed nothing."""
        self.handle.lake.look_again()

    # --- dbt debug ---

    def debug_query(self) -> None:
        """Look at Java, Spark, the catalog and the data path, and say what to do if one is ill."""
        from ducklake_spark.doctor import examine

        mine = self.config.credentials
        ill = []
        for finding in examine(
            mine.catalog,
            mine.data_path,
            mine.spark_settings,
            metadata_schema=mine.metadata_schema,
            attached=mine.attached,
        ):
            fire_event(Note(msg=f"  {finding}"), level=EventLevel.INFO)
            if not finding.is_well:
                ill.append(finding.subject)
        if ill:
            raise DbtRuntimeError(f"See above what to do about: {', '.join(ill)}.")

    # --- what there is, from the catalog and without Spark ---

    @property
    def handle(self) -> Handle:
        """This thread's connection to the lakes."""
        handle: Handle = self.connections.get_thread_connection().handle
        return handle

    def known(self, database: str | None) -> str:
        """The name of a lake of the profile; an error if it is not one."""
        # dbt asks for the schemas of a database by its rendered name.
        name = split_identifier(database)[0] if database else ""
        if not self.handle.knows(name):
            raise DbtRuntimeError(
                f"There is no lake {name!r} in the profile, which has "
                f"{', '.join(self.handle.lakes)}. Name it under attach."
            )
        return name

    @report_lake_errors
    def list_schemas(self, database: str) -> list[str]:
        reader = self.handle.reader(self.known(database))
        return [schema.name for schema in reader.schemas()]

    @available.parse(lambda *a, **k: False)
    @report_lake_errors
    def check_schema_exists(self, database: str, schema: str) -> bool:
        reader = self.handle.reader(self.known(database))
        from ducklake_spark.catalog import find_schema

        return find_schema(reader, schema) is not None

    @report_lake_errors
    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        database, schema = self.known(schema_relation.database), schema_relation.schema or ""
        reader = self.handle.reader(database)
        from ducklake_spark.catalog import find_schema

        known = find_schema(reader, schema)
        if known is None:
            return []
        # A macro may have the name of a table, which is what dbt then means.
        found = {macro.name.name: "function" for macro in reader.macros(known.name)}
        found |= {view.name.name: "view" for view in reader.views(known.name)}
        found |= {entry.name.name: "table" for entry in reader.tables(known.name)}
        return [
            self.Relation.create(
                database=database, schema=known.name, identifier=name, type=RelationType(kind)
            )
            for name, kind in found.items()
        ]

    def set_relations_cache(
        self,
        relation_configs: Iterable[Any],
        clear: bool = False,
        required_schemas: set[BaseRelation] | None = None,
    ) -> None:
        nodes = list(relation_configs)
        refuse_same_names(nodes)
        super().set_relations_cache(nodes, clear, required_schemas)

    @available
    @report_lake_errors
    def newest_snapshot(self, relation: BaseRelation) -> int:
        """The id of the newest snapshot of the lake that a relation is in."""
        return self.handle.catalog(self.known(relation.database)).at().snapshot.id

    @available.parse_list
    @report_lake_errors
    def get_columns_in_relation(self, relation: BaseRelation) -> list[DuckLakeColumn]:
        if relation.schema is None or not self.handle.knows(relation.database):
            return self._columns_of(f"select * from {relation.render()}")
        from ducklake_spark.catalog import find_schema
        from ducklake_spark.scan import shown_type

        reader = self.handle.reader(relation.database or "")
        name = QualifiedName(relation.schema, relation.identifier or "")
        if find_schema(reader, name.schema) is None:
            return []
        table = reader.find_table(name)
        if table is not None:
            return [
                self.Column(column.name, shown_type(column).simpleString())
                for column in table.columns
            ]
        if reader.find_view(name) is None:
            return []
        return self._columns_of(f"select * from {relation.render()}")

    def _columns_of(self, query: str) -> list[DuckLakeColumn]:
        _, cursor = self.connections.add_select_query(query)
        return [self.Column(name, dtype) for name, dtype in cursor.description]

    @report_lake_errors
    def expand_column_types(self, goal: BaseRelation, current: BaseRelation) -> None:
        self._alter(current, self._alterations(goal, current).widened)

    @available.parse_none
    @report_lake_errors
    def sync_nested_fields(self, source: BaseRelation, target: BaseRelation, mode: str) -> None:
        """Give the structs of a table the fields that rows have; `sync_all_columns` takes those
        away that these do not have, and gives columns and fields their types."""
        needed = self._alterations(source, target)
        clauses = needed.widened + needed.added
        if mode == "sync_all_columns":
            clauses += needed.dropped + needed.retyped
        self._alter(target, clauses)

    @available.parse_list
    @report_lake_errors
    def conforming_columns(self, query: str, target: BaseRelation) -> list[str]:
        """Return definitions for a copy of a query's rows if their structs differ from the table's.

        Return an empty list if the copy can have the types of the rows.
        """
        from ducklake_spark.sql import conforming_columns

        found = conforming_columns(self._table(target), self.handle.lake.sql(query).schema)
        return [f"{self.quote(name)} {kind}" for name, kind in found or []]

    def _alterations(self, source: BaseRelation, target: BaseRelation) -> Alterations:
        from ducklake_spark.sql import alterations

        rows = self.handle.lake.sql(f"select * from {source.render()}").schema
        return alterations(self._table(target), rows)

    def _table(self, relation: BaseRelation) -> Table:
        reader = self.handle.reader(self.known(relation.database))
        return reader.table(QualifiedName(relation.schema or "", relation.identifier or ""))

    def _alter(self, table: BaseRelation, clauses: Iterable[str]) -> None:
        for clause in clauses:
            self.connections.add_query(f"alter table {table.render()} {clause}")

    # --- documents and freshness ---

    @report_lake_errors
    def _get_one_catalog(
        self, information_schema: Any, schemas: set[str], used_schemas: Any
    ) -> agate.Table:
        relations = [
            relation
            for schema in schemas
            for relation in self.list_relations_without_caching(
                self.Relation.create(database=information_schema.database, schema=schema)
            )
        ]
        return self._get_one_catalog_by_relations(information_schema, relations, used_schemas)

    @report_lake_errors
    def _get_one_catalog_by_relations(
        self, information_schema: Any, relations: Iterable[BaseRelation], used_schemas: Any
    ) -> agate.Table:
        from dbt.adapters.ducklake.documents import catalog_rows
        from dbt_common.clients.agate_helper import table_from_data_flat

        columns, rows = catalog_rows(self, relations)
        table = table_from_data_flat(
            [dict(zip(columns, row, strict=True)) for row in rows], columns
        )
        return self._catalog_filter_table(table, used_schemas)

    @report_lake_errors
    def get_catalog_for_single_relation(self, relation: BaseRelation) -> Any:
        from dbt.adapters.ducklake.documents import catalog_table

        return catalog_table(self, relation)

    @report_lake_errors
    def calculate_freshness_from_metadata_batch(
        self, sources: list[BaseRelation], macro_resolver: Any = None
    ) -> Any:
        """When tables last changed, from the times of the snapshots: one query per lake."""
        from dbt.adapters.ducklake.documents import last_changes

        with self.connection_named("ducklake_freshness", should_release_connection=False):
            changed = last_changes(self, sources)
        now = datetime.datetime.now(datetime.UTC)
        responses = {
            source: self._create_freshness_response(when, now) for source, when in changed.items()
        }
        return [AdapterResponse(_message="OK")], responses

    def calculate_freshness_from_metadata(
        self, source: BaseRelation, macro_resolver: Any = None
    ) -> Any:
        answers, responses = self.calculate_freshness_from_metadata_batch([source], macro_resolver)
        if source not in responses:
            raise DbtRuntimeError(
                f"There is no table {source.render()}, so nothing says how fresh it is. "
                "A view needs a loaded_at_field."
            )
        return answers[0], responses[source]

    # --- operations ---

    @available.parse(lambda *a, **k: "")
    def operation_sql(
        self, procedure: str, arguments: dict[str, Any], database: str | None = None
    ) -> str:
        """The CALL of a procedure on the target's lake, or on another of the profile."""
        load_engine()
        from dbt.adapters.ducklake.operations import operation_sql

        return operation_sql(self.config.credentials, procedure, arguments, database)

    @available.parse(lambda *a, **k: "")
    def operation_text(self, procedure: str, call: str) -> str:
        """Carry out a CALL, and show its rows as a table."""
        from dbt.adapters.ducklake.operations import operation_text

        _, cursor = self.connections.add_query(call, auto_begin=False)
        return operation_text(procedure, cursor)

    @available.parse(lambda *a, **k: "")
    @report_lake_errors
    def write_report(self, path: str, database: str | None = None) -> str:
        """Write the page about the target's lake, or another of the profile; its path."""
        from ducklake_spark.report import write_report

        catalog = self.handle.catalog(self.known(database or self.config.credentials.database))
        return str(write_report(catalog, path))

    # --- rows that come from this process ---

    @available.parse(lambda *a, **k: "")
    def seed_view(self, name: str, agate_table: agate.Table, types: dict[str, str]) -> str:
        """Register the rows of a seed as a temporary view with string columns."""
        from dbt.adapters.ducklake.seeds import seed_frame

        frame = seed_frame(self.handle.lake.session.spark, agate_table, types)
        frame.createOrReplaceTempView(self.quote(name))
        return self.quote(name)

    def submit_python_job(
        self, parsed_model: dict[str, Any], compiled_code: str
    ) -> AdapterResponse:
        from dbt.adapters.ducklake.python_models import run_model

        return run_model(self.connections, parsed_model, compiled_code)

    def generate_python_submission_response(self, submission_result: Any) -> AdapterResponse:
        response: AdapterResponse = submission_result
        return response
