"""Every kind of commit our transaction can make, as named scenarios."""

from support.scenarios.columns import COLUMNS
from support.scenarios.definitions import SCHEMAS, TABLES, VIEWS
from support.scenarios.layout import LAYOUT
from support.scenarios.rows import INLINED, ROWS
from support.scenarios.steps import Scenarios, Step

SCENARIOS: Scenarios = {
    **SCHEMAS,
    **TABLES,
    **VIEWS,
    **COLUMNS,
    **LAYOUT,
    **ROWS,
    **INLINED,
}

__all__ = ["SCENARIOS", "Step"]
