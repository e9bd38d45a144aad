"""Relations of a lake: three parts, in backticks."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.relation import EventTimeFilter
from dbt.adapters.contracts.relation import ComponentName, Policy, RelationType

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

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        # No two names of a lake differ in their case alone, quoted or not.
        part = self.path.get_part(field)
        return part == value or (part is not None and fold(part) == fold(value))

    def _render_event_time_filtered(self, event_time_filter: EventTimeFilter) -> str:
        # Typed, so that a column of dates or times is compared as such and files can be left out.
        name = event_time_filter.field_name
        bounds = [
            f"{name} {operator} timestamp'{moment}'"
            for operator, moment in ((">=", event_time_filter.start), ("<", event_time_filter.end))
            if moment
        ]
        return " and ".join(bounds)
