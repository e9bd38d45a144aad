"""Macros rendered without an engine: dbt's own Jinja, and an adapter that only knows columns."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dbt.adapters.ducklake import DuckLakeColumn, DuckLakeRelation
from dbt.adapters.ducklake.merge_config import MergePlan, merge_plan
from dbt.adapters.ducklake.table_layout import TableLayout, table_layout
from dbt_common.clients.jinja import CallableMacroGenerator
from dbt_common.exceptions import CompilationError, MacroReturn

_MACRO = re.compile(r"\{%-?\s*macro\s+(\w+)\s*\(.*?\{%-?\s*endmacro\s*-?%\}", re.DOTALL)


@dataclass(frozen=True)
class Macro:
    name: str
    macro_sql: str


def macros_of(package: str) -> dict[str, Macro]:
    """The macros in one of dbt's packages, by name."""
    spec = importlib.util.find_spec(f"dbt.include.{package}")
    assert spec is not None
    assert spec.origin is not None
    files = (Path(spec.origin).parent / "macros").rglob("*.sql")
    found = [match for file in files for match in _MACRO.finditer(file.read_text())]
    return {match[1]: Macro(match[1], match[0]) for match in found}


@dataclass
class Adapter:
    """Dispatches as dbt does for this adapter; relations have the columns a test gives them."""

    context: dict[str, Any]
    columns: dict[str, list[DuckLakeColumn]] = field(default_factory=dict)
    behavior = SimpleNamespace(enable_truthy_nulls_equals_macro=False)

    def dispatch(self, name: str, _: str | None = None) -> Callable[..., Any]:
        for prefix in ("ducklake", "spark", "default"):
            if f"{prefix}__{name}" in self.context:
                found: Callable[..., Any] = self.context[f"{prefix}__{name}"]
                return found
        raise AssertionError(f"no macro {name}")

    def get_columns_in_relation(self, relation: DuckLakeRelation) -> list[DuckLakeColumn]:
        return self.columns[relation.identifier or ""]

    def merge_plan(self, config: Mapping[str, Any]) -> MergePlan:
        return merge_plan(config)

    def table_layout(self, config: Mapping[str, Any]) -> TableLayout:
        return table_layout(config)

    def quote(self, name: str) -> str:
        return f"`{name}`"


class Exceptions:
    def raise_compiler_error(self, message: str) -> None:
        raise CompilationError(message)


class Rendering:
    """Renders macros for a model of some configs."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {}
        self.context: dict[str, Any] = {
            "return": self._returned,
            "config": self.config,
            "model": {"config": self.config},
            "exceptions": Exceptions(),
            "zip": lambda *lists: list(zip(*lists, strict=False)),
        }
        self.adapter = Adapter(self.context)
        self.context["adapter"] = self.adapter
        for package in ("global_project", "spark", "ducklake"):
            for name, macro in macros_of(package).items():
                self.context[name] = CallableMacroGenerator(macro, self.context)

    @staticmethod
    def _returned(value: Any) -> None:
        raise MacroReturn(value)

    def __call__(self, macro: str, *arguments: Any, **named: Any) -> str:
        """What the macro gives, with single spaces."""
        return " ".join(str(self.context[macro](*arguments, **named)).split())

    @staticmethod
    def relation(name: str, kind: str = "table") -> DuckLakeRelation:
        return DuckLakeRelation.create(database="lake", schema="main", identifier=name, type=kind)


def _spark(names: str) -> frozenset[str]:
    return frozenset(f"spark__{name}" for name in names.split())


# What dbt-spark lends us: SQL that is right for Spark 4 as it stands.
BORROWED = _spark("any_value array_append array_concat array_construct concat date")
# What only dbt-spark's own materializations and statements ask for, and none of ours.
IDLE = _spark(
    "alter_column_set_constraints alter_table_add_constraints assert_not_null call_dcl_statements"
    " clustered_cols comment_clause create_csv_table create_or_replace_clone create_temporary_view"
    " file_format_clause get_binding_char get_columns_in_relation_raw get_grant_sql get_revoke_sql"
    " list_relations_without_caching list_schemas load_csv_rows location_clause options_clause"
    " partition_cols persist_constraints post_snapshot reset_csv_table"
    " support_multiple_grantees_per_dcl_statement tblproperties_clause"
)
