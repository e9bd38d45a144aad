"""The merge configs of a model: what they become, and what is told of wrong ones."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.ducklake import DuckLakeColumn
from dbt.adapters.ducklake.merge_config import merge_plan
from dbt_common.exceptions import CompilationError

from support.macros import Rendering

COLUMNS = [DuckLakeColumn("id", "int"), DuckLakeColumn("v", "string"), DuckLakeColumn("n", "int")]


def rendered(rendering: Rendering, configs: dict[str, Any]) -> str:
    """The clauses of the merge of a model that has these configs."""
    rendering.config.update(configs)
    target, source = rendering.relation("t"), rendering.relation("s", "view")
    rendering.adapter.columns.update(t=COLUMNS, s=list(reversed(COLUMNS)))
    key = configs.get("unique_key")
    text = rendering(
        "ducklake__get_merge_sql", target, source, key, COLUMNS, configs.get("predicates")
    )
    beginning = "merge into `lake`.`main`.`t` as "
    assert text.startswith(beginning)
    return text[len(beginning) :].partition(" on ")[2]


MATCHED = "when matched then update set `id` = DBT_INTERNAL_SOURCE.`id`, `v` = DBT_INTERNAL_SOURCE.`v`, `n` = DBT_INTERNAL_SOURCE.`n`"  # noqa: E501
INSERTED = "when not matched then insert (`id`, `v`, `n`) values (DBT_INTERNAL_SOURCE.`id`, DBT_INTERNAL_SOURCE.`v`, DBT_INTERNAL_SOURCE.`n`)"  # noqa: E501
ON = "((DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id))"


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ({}, f"{ON} {MATCHED} {INSERTED}"),
        ({"unique_key": None}, f"(false) {INSERTED}"),
        ({"merge_on_using_columns": ["v", "n"], "skip_matched_step": "true"},
         "((DBT_INTERNAL_SOURCE.v = DBT_INTERNAL_DEST.v)) and "
         f"((DBT_INTERNAL_SOURCE.n = DBT_INTERNAL_DEST.n)) {INSERTED}"),
        ({"predicates": ["DBT_INTERNAL_DEST.n > 3"], "skip_not_matched_step": True},
         f"(DBT_INTERNAL_DEST.n > 3) and {ON} {MATCHED}"),
        ({"merge_update_condition": "a or b", "not_matched_condition": "c",
          "merge_update_columns": ["v"]},
         f"{ON} when matched and (a or b) then update set v = DBT_INTERNAL_SOURCE.v "
         + INSERTED.replace("matched", "matched and (c)")),
        ({"merge_exclude_columns": ["ID"], "merge_update_set_expressions": {"n": "n + 1"}},
         f"{ON} when matched then update set n = n + 1, `v` = DBT_INTERNAL_SOURCE.`v` {INSERTED}"),
        ({"merge_exclude_columns": ["id", "v", "n"]}, f"{ON} {INSERTED}"),
        ({"target_alias": "t", "source_alias": "s", "skip_matched_step": True,
          "skip_not_matched_step": True, "not_matched_by_source_action": "update set n = t.n + 1",
          "not_matched_by_source_condition": "t.n < 3"},
         "((s.id = t.id)) when not matched by source and (t.n < 3) then update set n = t.n + 1"),
        ({"merge_clauses": {"when_matched": [
            {"action": "do_nothing", "condition": ["a", "b"]},
            {"action": "error", "error_message": "it's", "condition": "c"},
            {"action": "delete"}], "when_not_matched": [
            {"action": "insert", "insert": {"columns": ["id", "n"], "values": ["s.id", "1"]}},
            {"action": "update", "by": "source", "set_expressions": {"n": "0"}}]}},
         f"{ON} when matched and (a) and (b) then do nothing when matched and (c) then error "
         "'it\\'s' when matched then delete when not matched then insert (id, n) values (s.id, 1) "
         "when not matched by source then update set n = 0"),
        ({"merge_clauses": {"when_matched": [{"action": "update", "mode": "by_position"}]}},
         f"{ON} when matched then update set `id` = DBT_INTERNAL_SOURCE.`n`, "
         f"`v` = DBT_INTERNAL_SOURCE.`v`, `n` = DBT_INTERNAL_SOURCE.`id` {INSERTED}"),
        ({"merge_clauses": {"when_not_matched": [{"action": "insert", "mode": "by_position",
                                                  "condition": "a"}]}},
         f"{ON} {MATCHED} when not matched and (a) then insert (`id`, `v`, `n`) values "
         "(DBT_INTERNAL_SOURCE.`n`, DBT_INTERNAL_SOURCE.`v`, DBT_INTERNAL_SOURCE.`id`)"),
    ],
)  # fmt: skip
def test_what_configs_become(rendering: Rendering, configs: dict[str, Any], expected: str) -> None:
    assert rendered(rendering, {"unique_key": "id"} | configs) == expected


def test_columns_are_added_if_asked_for() -> None:
    assert merge_plan({"merge_with_schema_evolution": "true"}).adds_columns
    assert not merge_plan({"on_schema_change": "fail"}).adds_columns


@pytest.mark.parametrize(
    ("configs", "problems"),
    [
        ({"merge_updte_columns": ["v"]}, ["is merge_update_columns meant?"]),
        ({"merge_update_condition": ["a"], "merge_update_columns": {"v": 1},
          "merge_update_set_expressions": ["v"], "skip_matched_step": "maybe"},
         ["merge_update_condition must be a text", "merge_update_columns must be a list of texts",
          "merge_update_set_expressions must be a dictionary", "skip_matched_step must be true"]),
        ({"merge_update_columns": ["v"], "merge_exclude_columns": ["n"]}, ["cannot both be set"]),
        ({"merge_update_condition": "a", "matched_condition": "a"}, ["two names of the same"]),
        ({"skip_matched_step": True, "skip_not_matched_step": True}, ["nothing to do"]),
        ({"merge_returning_columns": ["v"]}, ["returns no rows"]),
        ({"not_matched_by_source_action": "insert *"}, ["must be delete or update set"]),
        ({"not_matched_by_source_condition": "a"}, ["needs not_matched_by_source_action"]),
        ({"merge_with_schema_evolution": True, "on_schema_change": "fail"}, ["'fail'"]),
        ({"target_alias": "x", "source_alias": "X"}, ["are both x"]),
        ({"merge_clauses": ["update"]}, ["merge_clauses must be a dictionary"]),
        ({"merge_clauses": {"when_matchd": []}, "merge_update_columns": ["v"]},
         ["remove merge_update_columns", "when_matchd is no list", "must be there"]),
        ({"merge_clauses": {"when_matched": [], "when_not_matched": ["insert"]}},
         ["when_matched must be a list", "when_not_matched[0] must be a dictionary"]),
        ({"merge_clauses": {
            "when_matched": [{"action": "insert"}, {"action": "update", "mode": "fast"},
                             {"action": "update", "update": {"only": 1}, "by": "source"}],
            "when_not_matched": [
                {"action": "insert", "insert": {"columns": ["a"], "values": []}, "when": "x"},
                {"action": "update", "by": "source"}, {"action": "insert"}]}},
         ["when_matched[0].action of a row that is matched", "when_matched[1].mode must be",
          "when_matched[2].by must be", "when_matched[2].update.only is no part",
          "when_not_matched[0].when is no part", "1 columns and 0 values",
          "when_not_matched[1].set_expressions must say", "insert of rows that are not matched"]),
    ],
)  # fmt: skip
def test_all_that_is_wrong_is_told_at_once(configs: dict[str, Any], problems: list[str]) -> None:
    with pytest.raises(CompilationError) as caught:
        merge_plan(configs)
    for problem in problems:
        assert problem in str(caught.value)
