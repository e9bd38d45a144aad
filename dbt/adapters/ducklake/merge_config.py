"""What a model's configs say of its merge, by the names of dbt-duckdb and of dbt-databricks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.ducklake.model_config import Configs

MATCHED, NOT_MATCHED, BY_SOURCE = "matched", "not matched", "not matched by source"

_BASIC = (
    "merge_update_condition", "merge_insert_condition", "merge_update_columns",
    "merge_exclude_columns", "merge_update_set_expressions", "matched_condition",
    "not_matched_condition", "not_matched_by_source_action", "not_matched_by_source_condition",
    "skip_matched_step", "skip_not_matched_step",
)  # fmt: skip
_KNOWN = (
    *_BASIC, "merge_clauses", "merge_on_using_columns", "merge_returning_columns",
    "merge_with_schema_evolution",
)  # fmt: skip
_OURS = ("merge_", "matched_", "not_matched_")

_ACTIONS = {
    MATCHED: ("update", "delete", "do_nothing", "error"),
    NOT_MATCHED: ("insert", "do_nothing", "error"),
    BY_SOURCE: ("update", "delete", "do_nothing", "error"),
}
_MODES = ("by_name", "star", "by_position", "explicit")
_CLAUSE_KEYS = (
    "action", "mode", "condition", "by", "update", "insert", "set_expressions", "error_message",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MergeClause:
    """One WHEN: `then` is the action, or for a text of the user's own the whole of it."""

    when: str
    then: str
    conditions: tuple[str, ...] = ()
    by_position: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    set_expressions: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class MergePlan:
    """A merge as the configs want it; `using` takes the place of the unique key."""

    target_alias: str
    source_alias: str
    using: tuple[str, ...]
    adds_columns: bool
    clauses: tuple[MergeClause, ...]


def merge_plan(config: Mapping[str, Any]) -> MergePlan:
    """The plan, or one error that tells all that is wrong with the configs."""
    found = Configs(config)
    found.name_unknown([key for key in config if key.startswith(_OURS)], _KNOWN, "merge config")
    clauses = _listed(found) if config.get("merge_clauses") is not None else _basic(found)
    if config.get("merge_returning_columns"):
        found.wrong("merge_returning_columns: a statement that changes a lake returns no rows")
    adds_columns = found.flag("merge_with_schema_evolution")
    on_change = config.get("on_schema_change") or "ignore"
    if adds_columns and on_change not in ("ignore", "append_new_columns"):
        found.wrong(
            "merge_with_schema_evolution adds the columns that are new, "
            f"and on_schema_change is {on_change!r}"
        )
    plan = MergePlan(
        target_alias=found.text("target_alias") or "DBT_INTERNAL_DEST",
        source_alias=found.text("source_alias") or "DBT_INTERNAL_SOURCE",
        using=found.texts("merge_on_using_columns"),
        adds_columns=adds_columns,
        clauses=tuple(clauses),
    )
    if plan.target_alias.lower() == plan.source_alias.lower():
        found.wrong(f"target_alias and source_alias are both {plan.target_alias}")
    _check_order(found, plan.clauses)
    found.tell_all("this merge")
    return plan


# --- a clause for each case ---


def _basic(found: Configs) -> list[MergeClause]:
    matched = MergeClause(
        MATCHED,
        "update",
        conditions=found.either("merge_update_condition", "matched_condition"),
        include=found.texts("merge_update_columns"),
        exclude=found.texts("merge_exclude_columns"),
        set_expressions=found.expressions("merge_update_set_expressions"),
    )
    _check_columns(found, matched, "merge_update_columns", "merge_exclude_columns")
    inserted = MergeClause(
        NOT_MATCHED,
        "insert",
        conditions=found.either("merge_insert_condition", "not_matched_condition"),
    )
    clauses = []
    if not found.flag("skip_matched_step"):
        clauses.append(matched)
    if not found.flag("skip_not_matched_step"):
        clauses.append(inserted)
    clauses += _basic_by_source(found)
    if not clauses:
        found.wrong("skip_matched_step and skip_not_matched_step leave nothing to do")
    return clauses


def _basic_by_source(found: Configs) -> list[MergeClause]:
    action = (found.text("not_matched_by_source_action") or "").strip()
    condition = found.text("not_matched_by_source_condition")
    if not action:
        if condition:
            found.wrong("not_matched_by_source_condition needs not_matched_by_source_action")
        return []
    if action.lower() != "delete" and action.lower().split()[:2] != ["update", "set"]:
        found.wrong(f"not_matched_by_source_action must be delete or update set …, not {action!r}")
    return [MergeClause(BY_SOURCE, action, conditions=(condition,) if condition else ())]


def _check_columns(found: Configs, clause: MergeClause, include: str, exclude: str) -> None:
    if clause.include and clause.exclude:
        found.wrong(f"{include} and {exclude} cannot both be set: one says which columns, "
                    "the other which not")  # fmt: skip


# --- merge_clauses ---


def _listed(found: Configs) -> list[MergeClause]:
    beside = [name for name in _BASIC if found.values.get(name)]
    if beside:
        found.wrong(f"merge_clauses says it all: remove {', '.join(beside)}")
    lists = found.part(found.mapping("merge_clauses"), "merge_clauses")
    lists.name_unknown(lists.values, ("when_matched", "when_not_matched"), "list of clauses")
    if lists.values.keys().isdisjoint(("when_matched", "when_not_matched")):
        lists.wrong("when_matched or when_not_matched must be there")
    clauses = []
    for name, when, usual in (
        ("when_matched", MATCHED, "update"),
        ("when_not_matched", NOT_MATCHED, "insert"),
    ):
        given = lists.values.get(name)
        if given is None:
            clauses.append(MergeClause(when, usual))
        elif not isinstance(given, list) or not given:
            lists.wrong(f"{name} must be a list of one clause or more")
        else:
            for at, clause in enumerate(given):
                clauses += _clause(lists, f"merge_clauses.{name}[{at}]", clause, when)
    return clauses


def _clause(lists: Configs, at: str, given: Any, when: str) -> list[MergeClause]:
    if not isinstance(given, Mapping):
        lists.problems.append(f"{at} must be a dictionary, not {given!r}")
        return []
    found = lists.part(given, at)
    found.name_unknown(given, _CLAUSE_KEYS, "part of a clause")
    if "by" in given:
        if when == MATCHED or str(given["by"]).lower() not in ("source", "target"):
            found.wrong(f"by must be source or target, in when_not_matched only: {given['by']!r}")
        elif str(given["by"]).lower() == "source":
            when = BY_SOURCE
    action = found.text("action")
    if action not in _ACTIONS[when]:
        allowed = ", ".join(_ACTIONS[when])
        found.wrong(f"action of a row that is {when} must be one of {allowed}, not {action!r}")
        return []
    conditions = found.texts("condition")
    if action == "update":
        return [_update(found, when, conditions)]
    if action == "insert":
        return [_insert(found, conditions)]
    message = found.text("error_message")
    return [MergeClause(when, action.replace("_", " "), conditions, error_message=message)]


def _mode(found: Configs, details: str) -> str:
    mode = found.text("mode") or ("explicit" if found.values.get(details) else "by_name")
    if mode not in _MODES:
        found.wrong(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
    elif mode != "explicit" and found.values.get(details):
        found.wrong(f"{details} goes with mode explicit only, not with {mode}")
    return mode


def _update(found: Configs, when: str, conditions: tuple[str, ...]) -> MergeClause:
    if when == BY_SOURCE:
        values = found.expressions("set_expressions")
        if not values:
            found.wrong("set_expressions must say what becomes of a row that has no source")
        return MergeClause(when, "update", conditions, set_expressions=values)
    mode = _mode(found, "update")
    if mode != "explicit":
        return MergeClause(when, "update", conditions, by_position=mode == "by_position")
    details = found.part(found.mapping("update"), f"{found.at}update")
    details.name_unknown(details.values, ("include", "exclude", "set_expressions"), "part of it")
    clause = MergeClause(
        when,
        "update",
        conditions,
        include=details.texts("include"),
        exclude=details.texts("exclude"),
        set_expressions=details.expressions("set_expressions"),
    )
    _check_columns(details, clause, "include", "exclude")
    return clause


def _insert(found: Configs, conditions: tuple[str, ...]) -> MergeClause:
    mode = _mode(found, "insert")
    if mode != "explicit":
        return MergeClause(NOT_MATCHED, "insert", conditions, by_position=mode == "by_position")
    details = found.part(found.mapping("insert"), f"{found.at}insert")
    details.name_unknown(details.values, ("columns", "values"), "part of it")
    columns, values = details.texts("columns"), details.texts("values")
    if not columns or len(columns) != len(values):
        details.wrong(f"there are {len(columns)} columns and {len(values)} values")
    return MergeClause(NOT_MATCHED, "insert", conditions, columns=columns, values=values)


def _check_order(found: Configs, clauses: Iterable[MergeClause]) -> None:
    closed: set[str] = set()
    for clause in clauses:
        if clause.when in closed:
            found.wrong(
                f"{clause.then} of rows that are {clause.when} can never happen: "
                "the clause before it has no condition"
            )
        if not clause.conditions:
            closed.add(clause.when)
