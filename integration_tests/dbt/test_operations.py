"""Operations on the lake as run-operations, as hooks of models, and at the end of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

_MERGED = """
{{ config(materialized='incremental', post_hook="{{ ducklake_merge_adjacent_files(this) }}") }}
select 1 as id
"""
_PLAIN = """
{{ config(materialized='table') }}
select 1 as id
"""
_BROKEN = """
{{ config(
    materialized='table', enabled=var('broken', false),
    post_hook="call lake.rollback(snapshot_version => 9999)"
) }}
select 1 as id
"""
_SHOWN = """
{% macro shown() %}
  {% do ducklake_snapshots() %}
{% endmacro %}
"""


def _operation(name: str, arguments: str = "{}", *, expect_pass: bool = True) -> str:
    _, out = run_dbt_and_capture(
        ["run-operation", name, "--args", arguments], expect_pass=expect_pass
    )
    return str(out)


class TestOperations:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"merged.sql": _MERGED, "plain.sql": _PLAIN, "broken.sql": _BROKEN}

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"shown.sql": _SHOWN}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "on-run-end": [
                "{{ ducklake_set_option('target_file_size', '10MB') }}",
                "{{ ducklake_expire(older_than='1 day') }}",
                "{{ ducklake_cleanup_old_files() }}",
            ]
        }

    @pytest.fixture(scope="class", autouse=True)
    def runs(self, project: Any) -> None:
        for _ in range(3):
            run_dbt(["run"])

    def test_a_post_hook_follows_the_models_commit(self, project: Any) -> None:
        """Each run appends a file, which the hook merges with the one there is."""
        assert "list_files: 1 row" in _operation("ducklake_list_files", "{table_name: merged}")
        rows = project.run_sql(f"select count(*) from {project.test_schema}.merged", fetch="all")
        assert rows == [(3,)]

    def test_a_hook_that_fails_leaves_the_model_there(self, project: Any) -> None:
        _, out = run_dbt_and_capture(
            ["run", "--select", "broken", "--vars", "{broken: true}"], expect_pass=False
        )
        assert "was committed as snapshot" in out
        assert "Snapshot 9999" in out
        assert project.run_sql(f"select * from {project.test_schema}.broken", fetch="all") == [(1,)]

    def test_hooks_at_the_end_of_a_run(self, project: Any) -> None:
        found = {row[0]: row[2:] for row in _table(_operation("ducklake_options"))}
        assert found["target_file_size"] == ["10000000", "GLOBAL", "NULL"]

    def test_an_option_is_taken_away(self, project: Any) -> None:
        option = "option: expire_older_than"
        _operation("ducklake_set_option", f"{{{option}, value: 9 days}}")
        assert ["expire_older_than"] in [row[:1] for row in _table(_operation("ducklake_options"))]
        _operation("ducklake_set_option", f"{{{option}, value: null}}")
        assert "expire_older_than" not in _operation("ducklake_options")

    def test_a_dry_run_shows_what_would_go(self, project: Any) -> None:
        before = _operation("ducklake_snapshots")
        planned = _operation("ducklake_expire", "{older_than: 0 days, dry_run: true}")
        assert "expire_snapshots: " in planned
        assert "│ snapshot_id │" in planned
        assert _table(_operation("ducklake_snapshots")) == _table(before)
        assert _table(_operation("ducklake_expire", "{older_than: 2020-01-01}")) == []
        assert _table(_operation("ducklake_expire_snapshots", "{versions: [0, 1]}")) == [
            row for row in _table(planned) if row[0] in ("0", "1")
        ]

    def test_tables_are_those_of_the_target(self, project: Any) -> None:
        ((schema, name, *_),) = _table(_operation("ducklake_table_info", "{table_name: plain}"))
        assert (schema, name) == (project.test_schema, "plain")
        arguments = f"{{table_name: {project.test_schema}.plain}}"
        assert len(_table(_operation("ducklake_list_files", arguments))) == 1
        assert "nope" in _operation("ducklake_list_files", "{table_name: nope}", expect_pass=False)

    def test_macros_of_a_project_can_call_them(self, project: Any) -> None:
        shown = _operation("shown")
        assert "snapshots: " in shown
        assert '│ {"tables_' in shown

    @pytest.mark.parametrize(
        ("name", "arguments", "message"),
        [
            ("ducklake_expire", "{older_than: soon}", "Write it like one of these: 7 days"),
            ("ducklake_expire", "{}", "Give older_than, such as '7 days'"),
            ("ducklake_expire", "{versions: many}", "cannot take 'many' for versions"),
            ("ducklake_expire", "{older: 7 days}", "older"),
            ("ducklake_rollback", "{snapshot_version: 9999}", "9999"),
            ("ducklake_set_option", "{option: nope, value: 1}", "nope"),
            ("ducklake_table_info", "{database: nope}", "nope"),
            ("ducklake_report", "{database: nope}", "There is no lake 'nope' in the profile"),
        ],
    )
    def test_nonsense_is_refused(
        self, project: Any, name: str, arguments: str, message: str
    ) -> None:
        assert message in _operation(name, arguments, expect_pass=False)

    def test_the_rest_of_the_family(self, project: Any) -> None:
        """Each macro gives a CALL that its procedure understands."""
        assert _table(_operation("ducklake_create_indexes", "{dry_run: true}")) == []
        for name in ("rewrite_data_files", "flush_inlined_data", "checkpoint"):
            assert f"{name}: " in _operation(f"ducklake_{name}", "{dry_run: true}")
        for name in ("options", "snapshots", "table_info", "verify"):
            assert f"{name}: " in _operation(f"ducklake_{name}", "{dry_run: true}")
        for name in ("cleanup_old_files", "delete_orphaned_files"):
            assert f"{name}: " in _operation(f"ducklake_{name}", "{dry_run: true}")
        assert "add_data_files needs" not in _operation(
            "ducklake_add_data_files",
            "{table_name: plain, files: [nowhere.parquet], dry_run: true}",
            expect_pass=False,
        )

    def test_the_report_is_a_page_with_the_models_that_made_the_snapshots(
        self, project: Any
    ) -> None:
        path = Path(project.project_root, "pages", "lake.html")
        assert f"ducklake_report: {path}" in _operation("ducklake_report", f"{{path: {path}}}")
        assert "model.test.plain" in path.read_text()

    def test_a_lake_that_was_built_has_no_fault(self, project: Any) -> None:
        assert "verify: 0 rows" in _operation("ducklake_verify")


def _table(out: str) -> list[list[str]]:
    """The rows of the table that was printed, without its header."""
    lines = [line for line in out.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines[1:]]
