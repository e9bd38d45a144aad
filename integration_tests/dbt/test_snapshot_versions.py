"""Every change of a source row becomes a version in its dbt snapshot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt.tests.util import run_dbt

_SNAPSHOT = """
{{% snapshot {name} %}}
{{{{ config(unique_key={key!r}, {configs}) }}}}
{{{{ [{steps}][var('step')] }}}}
{{% endsnapshot %}}
"""
_CHECK = "strategy='check', check_cols=['v'], updated_at='upd'"
_IS_CURRENT = "if(dbt_valid_to is null, 'now', 'then')"
_DAY = "timestamp'2024-03-01 00:00:00Z' as upd"


def _row(key: int, v: str, day: str = _DAY) -> str:
    return f"select {key} as id, '{v}' as v, {day}"


_BOTH = f"{_row(1, 'a')} union all {_row(2, 'a')}"
# The key, the configs, and the query of each step.
_SNAPSHOTS: dict[str, tuple[Any, str, tuple[str, str, str]]] = {
    "same_time": ("id", _CHECK, (_row(1, "a"), _row(1, "b"), _row(1, "c"))),
    "invalidated": (
        "id",
        "strategy='timestamp', updated_at='upd', hard_deletes='invalidate'",
        (_BOTH, _row(1, "a"), _BOTH),
    ),
    "recorded": ("id", f"{_CHECK}, hard_deletes='new_record'", (_BOTH, _row(1, "a"), _BOTH)),
    "another_case": (
        "id",
        "strategy='check', check_cols='all', updated_at='upd', hard_deletes='new_record'",
        (_BOTH, _BOTH.replace(" as v", " as V"), _row(1, "a").replace(" as v", " as V")),
    ),
    "checked_in_another_case": (
        "id",
        "strategy='check', check_cols=['V']",
        (_BOTH, _BOTH, f"{_row(1, 'a')} union all {_row(2, 'b')}"),
    ),
    "similar_keys": (
        ["id", "k"],
        f"{_CHECK}, hard_deletes='invalidate'",
        tuple(
            " union all ".join(
                f"select {key} as id, {k} as k, '{v}' as v, {_DAY}"
                for key, k, v in (
                    ("'a|b'", "'c'", last), ("'a'", "'b|c'", "a"), ("'n'", "null", "a"),
                    ("'n'", "''", "a"), ("null", "'x'", "a"), ("null", "'x'", "a"),
                )
            )
            for last in "abb"
        ),
    ),
    "once_twice": (
        "id",
        _CHECK,
        (f"{_row(1, 'a')} union all {_row(1, 'z')}", _row(1, "b"), f"{_row(1, 'c')}, 7 as `new`"),
    ),
    "numbered": (
        "id",
        f"{_CHECK}, hard_deletes='invalidate'",
        tuple(f"{_row(1, v)}, 5 as dbt_row_number, 6 as Dbt_Row_Number_" for v in "abb"),
    ),
    "structs": (
        "id",
        "strategy='check', check_cols='all', hard_deletes='new_record'",
        tuple(
            " union all ".join(
                f"select {key} as id, named_struct({st}) as st, array(named_struct({st})) as sts"
                for key in keys
            )
            for keys, st in (
                ((1, 2), "'a', 1, 'b', 'x'"),
                ((1, 2), "'B', 'x', 'a', 1"),
                ((1,), "'c', struct(date'2024-03-01' as d), 'b', null, 'a', 3000000000"),
            )
        ),
    ),
    "decimals": (
        "id",
        "strategy='check', check_cols='all'",
        tuple(
            f"select 1 as id, cast({value} as decimal(4, {scale})) as d"
            for value, scale in ((100.5, 1), (1.25, 2), (1.25, 2))
        ),
    ),
    "untyped": (
        "id",
        "strategy='check', check_cols=['d']",
        ("select 1 as id, date'2024-03-01' as d, array(date'2024-03-01') as ds",
         "select 1 as id, null as d, array() as ds",
         "select 1 as id, null as d, null as ds, true as more"),
    ),
}  # fmt: skip


class TestVersions:
    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {
            f"{name}.sql": _SNAPSHOT.format(
                name=name, key=key, configs=configs, steps=", ".join(map(repr, steps))
            )
            for name, (key, configs, steps) in _SNAPSHOTS.items()
        }

    @pytest.fixture(scope="class", autouse=True)
    def snapshot_three_times(self, project: Any) -> None:
        for step in range(3):
            run_dbt(["snapshot", "--vars", json.dumps({"step": step})])

    @staticmethod
    def versions(project: Any, name: str, columns: str) -> list[str]:
        query = f"select concat_ws(' ', {columns}) from {{schema}}.{name}"
        return sorted(row[0] for row in project.run_sql(query, fetch="all"))

    def test_a_change_at_the_same_time_is_a_version(self, project: Any) -> None:
        assert self.versions(project, "same_time", f"v, {_IS_CURRENT}") == [
            "a then",
            "b then",
            "c now",
        ]

    def test_a_row_that_returns_as_it_was_is_current_again(self, project: Any) -> None:
        found = self.versions(project, "invalidated", f"id, {_IS_CURRENT}")
        assert found == ["1 now", "2 now", "2 then"]
        found = self.versions(project, "recorded", f"id, dbt_is_deleted, {_IS_CURRENT}")
        assert found == ["1 False now", "2 False now", "2 False then", "2 True then"]

    def test_case_of_column_names_does_not_matter(self, project: Any) -> None:
        found = self.versions(project, "another_case", f"id, v, dbt_is_deleted, {_IS_CURRENT}")
        assert found == ["1 a False now", "2 a False then", "2 a True now"]
        found = self.versions(project, "checked_in_another_case", f"id, v, {_IS_CURRENT}")
        assert found == ["1 a now", "2 a then", "2 b now"]

    def test_versions_of_similar_keys_are_apart(self, project: Any) -> None:
        columns = "coalesce(id, '-'), coalesce(k, '-'), v"
        found = self.versions(project, "similar_keys where dbt_valid_to is null", columns)
        assert found == ["- x a", "- x a", "a b|c a", "a|b c b", "n  a", "n - a"]

    def test_versions_of_a_key_that_was_there_twice_end_together(self, project: Any) -> None:
        found = self.versions(project, "once_twice", f"v, {_IS_CURRENT}")
        assert found == ["a then", *["b then"] * 2, *["c now"] * 2, "z then"]

    def test_a_source_may_number_its_rows(self, project: Any) -> None:
        columns = f"v, dbt_row_number, dbt_row_number_, {_IS_CURRENT}"
        assert self.versions(project, "numbered", columns) == ["a 5 6 then", "b 5 6 now"]

    def test_fields_of_structs_may_change(self, project: Any) -> None:
        columns = "id, st.a, sts[0].a, coalesce(st.b, '-'), coalesce(string(st.c.d), '-'), "
        found = self.versions(project, "structs", f"{columns} dbt_is_deleted, {_IS_CURRENT}")
        assert found == [
            "1 1 1 x - False then",
            "1 3000000000 3000000000 - 2024-03-01 False now",
            "2 1 1 x - False then",
            "2 1 1 x - True now",
        ]

    def test_more_digits_after_the_point_make_one_version(self, project: Any) -> None:
        found = self.versions(project, "decimals", f"d, {_IS_CURRENT}")
        assert found == ["1.25 now", "100.50 then"]

    def test_null_without_a_type_is_of_the_columns_type(self, project: Any) -> None:
        found = self.versions(project, "untyped", "coalesce(cast(d as string), '-')")
        assert found == ["-", "2024-03-01"]


class TestReservedColumns:
    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        step = "select 1 as id, 2 as Dbt_Change_Type"
        text = _SNAPSHOT.format(
            name="reserved",
            key="id",
            configs="strategy='check', check_cols='all'",
            steps=repr(step),
        )
        return {"reserved.sql": text}

    def test_they_are_rejected_by_name(self, project: Any) -> None:
        (result,) = run_dbt(["snapshot", "--vars", '{"step": 0}'], expect_pass=False)
        assert "has a column Dbt_Change_Type" in result.message
