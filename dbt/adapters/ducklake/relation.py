"""Relations of a lake: three parts, in backticks."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.relation import EventTimeFilter
from dbt.adapters.contracts.relation import Policy, RelationType


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
    renameable_relations: frozenset[RelationType] = frozenset(
        {RelationType.Table, RelationType.View}
    )
    replaceable_relations: frozenset[RelationType] = frozenset(
        {RelationType.Table, RelationType.View}
    )

    def quoted(self, identifier: str) -> str:
        return "`" + identifier.replace("`", "``") + "`"

    def _render_event_time_filtered(self, event_time_filter: EventTimeFilter) -> str:
        # Typed, so that a column of dates or times is compared as such and files can be left out.
        name = event_time_filter.field_name
        bounds = [
            f"{name} {operator} timestamp'{moment}'"
            for operator, moment in ((">=", event_time_filter.start), ("<", event_time_filter.end))
            if moment
        ]
        return " and ".join(bounds)
