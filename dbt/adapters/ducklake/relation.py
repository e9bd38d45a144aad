"""Relations of a lake: three parts, in backticks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.relation import EventTimeFilter, InformationSchema
from dbt.adapters.contracts.relation import ComponentName, Policy, RelationType
from dbt.adapters.ducklake.event_time import within
from dbt_common.exceptions import DbtRuntimeError

from ducklake_spark.spec.names import fold


@dataclass
class _All(Policy):
    database: bool = True
    schema: bool = True
    identifier: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class DuckLakeRelation(BaseRelation):
    quote_policy: Policy = field(default_factory=lambda: _All())
    include_policy: Policy = field(default_factory=lambda: _All())
    quote_character: str = "`"
    require_alias: bool = False
    renameable_relations: frozenset[RelationType] = frozenset(
        {RelationType.Table, RelationType.View}
    )
    replaceable_relations: frozenset[RelationType] = frozenset(
        {RelationType.Table, RelationType.View}
    )

    def quoted(self, identifier: str) -> str:
        return "`" + identifier.replace("`", "``") + "`"

    def _render_iterator(self) -> Iterator[tuple[ComponentName | None, str | None]]:
        """Leave out the database of a relation without a schema.

        Packages clear the schema of a temporary view, whose name has one part.
        """
        is_temporary_view = self.identifier is not None and self.schema is None
        for key, part in super()._render_iterator():
            if not (is_temporary_view and key == ComponentName.Database):
                yield key, part

    def information_schema(self, view_name: str | None = None) -> InformationSchema:
        """Return the information schema of the lake, or one of its views, in backticks."""
        found = super().information_schema(view_name)
        renamed: InformationSchema = found.replace(quote_character=self.quote_character)
        return renamed

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        # No two names of a lake differ in their case alone, quoted or not.
        part = self.path.get_part(field)
        return part == value or (part is not None and fold(part) == fold(value))

    def _render_event_time_filtered(self, event_time_filter: EventTimeFilter) -> str:
        wanted = event_time_filter
        return " and ".join(within(wanted.field_name, wanted.start, wanted.end))


def refuse_same_names(nodes: Iterable[Any]) -> None:
    """Raise for nodes whose relations differ in the case of their names alone, which dbt lets pass:
    they would be one table, and each would replace the other's."""
    taken: dict[tuple[str, ...], Any] = {}
    for node in sorted(nodes, key=lambda node: str(node.unique_id)):
        parts = (node.database, node.schema, node.identifier)
        first = taken.setdefault(tuple(fold(part or "") for part in parts), node)
        if first is not node:
            raise DbtRuntimeError(
                f"{first.unique_id} and {node.unique_id} are built as one relation, for names of "
                f"a lake ignore case: {first.identifier} and {node.identifier} in {node.schema}. "
                "Give one another alias or schema."
            )
