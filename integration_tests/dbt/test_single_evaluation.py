"""A run evaluates the query of a model or snapshot once, so what it deletes and inserts fit.

The queries are random, and another client changes the file they read after every statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

from ducklake_spark import Lake
from ducklake_spark.sql import Result
from support.lakes import LakeAddress

_IDS = 40
# A view keeps the seed of rand(), so two evaluations agree. Those of this expression never do.
_RANDOM = "java_method('java.util.UUID', 'randomUUID')"
_MODEL = """
{{{{ config(materialized='incremental', incremental_strategy='{strategy}', {configs}) }}}}
{{% if is_incremental() %}}
select cast(_c0 as int) as id, 'new' as v, cast(conv(left({random}, 1), 16, 10) as int) % 3 as part
from csv.`{file}` where {random} < 'c'
{{% else %}}
select cast(id as int) as id, 'old' as v, cast(id % 3 as int) as part from range({ids})
{{% endif %}}
"""
_KEYED = {
    "merged": ("merge", "unique_key='id'"),
    "replaced": ("delete+insert", "unique_key='id'"),
    "replaced_by_two": ("delete+insert", "unique_key=['id', 'ID']"),
    "contracted": (
        "delete+insert",
        "unique_key='id', contract={'enforced': true}, on_schema_change='append_new_columns'",
    ),
    "by_own_strategy": ("twice", "unique_key='id'"),
}
_OWN_STRATEGY = """
{% macro get_incremental_twice_sql(arguments) %}
  {% set target, source = arguments['target_relation'], arguments['temp_relation'] %}
  delete from {{ target }} where id in (select id from {{ source }});
  insert into {{ target }} by name select * from {{ source }}
{% endmacro %}
"""
_CONTRACT = """
models:
  - name: contracted
    columns:
      - {name: id, data_type: int}
      - {name: v, data_type: string}
      - {name: part, data_type: int}
"""
_PYTHON = """
def model(dbt, session):
    dbt.config(materialized='incremental', incremental_strategy='delete+insert', unique_key='id')
    import random
    from pyspark.sql import functions as F
    rows = session.range(40).selectExpr('cast(id as int) as id')
    if not dbt.is_incremental:
        return rows.withColumn('v', F.lit('old'))
    def note(value):
        with open('{file}.calls', 'a') as calls:
            calls.write('x')
        return random.random()
    noted = F.udf(note, 'double')
    return rows.withColumn('r', noted('id')).where('r < 0.5').selectExpr('id', "'new' as v")
"""
_SNAPSHOT = """
{{% snapshot history %}}
{{{{ config(unique_key='id', strategy='check', check_cols=['v'], hard_deletes='invalidate') }}}}
select cast(_c0 as int) as id, {random} as v from csv.`{file}` where {random} < 'c'
{{% endsnapshot %}}
"""


class TestSingleEvaluation:
    @pytest.fixture(scope="class")
    def file(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        path = tmp_path_factory.mktemp("source") / "ids.csv"
        write(path, 0)
        return path

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"strategies.sql": _OWN_STRATEGY}

    @pytest.fixture(scope="class")
    def snapshots(self, file: Path) -> dict[str, str]:
        return {"history.sql": _SNAPSHOT.format(file=file, random=_RANDOM)}

    @pytest.fixture(scope="class")
    def models(self, file: Path) -> dict[str, str]:
        by_part = ("insert_overwrite", "partitioned_by=['part']")
        models = {
            f"{name}.sql": _MODEL.format(
                strategy=strategy, configs=configs, file=file, ids=_IDS, random=_RANDOM
            )
            for name, (strategy, configs) in {**_KEYED, "by_part": by_part}.items()
        }
        python = _PYTHON.replace("{file}", str(file))
        return {**models, "by_python.py": python, "contracts.yml": _CONTRACT}

    @pytest.fixture(scope="class", autouse=True)
    def run_while_the_source_changes(self, project: Any, file: Path) -> Iterator[None]:
        execute, count = Lake.execute, 0

        def and_change(self: Lake, sql: str) -> Result:
            nonlocal count
            done = execute(self, sql)
            count += 1
            write(file, count)
            return done

        run_dbt(["run"])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Lake, "execute", and_change)
            run_dbt(["run", "--threads", "1"])
            for _ in range(3):
                run_dbt(["snapshot"])
        return

    @pytest.mark.parametrize("name", [*_KEYED, "by_python"])
    def test_what_is_deleted_is_inserted(self, project: Any, name: str) -> None:
        query = "select count(*), count(distinct id), count_if(v = 'new') from {schema}." + name
        rows, ids, new = project.run_sql(query, fetch="one")
        assert (rows, ids) == (_IDS, _IDS)
        assert 0 < new < _IDS

    def test_partitions_that_are_overwritten_hold_new_rows_only(self, project: Any) -> None:
        query = "select part, count(distinct v) from {schema}.by_part group by part"
        assert all(kinds == 1 for _, kinds in project.run_sql(query, fetch="all"))

    def test_a_function_is_called_once_for_each_row(self, project: Any, file: Path) -> None:
        assert len(Path(f"{file}.calls").read_text()) == _IDS

    def test_a_snapshot_has_one_current_version_of_each_row(self, project: Any) -> None:
        current = "from {schema}.history where dbt_valid_to is null"
        rows, ids = project.run_sql(f"select count(*), count(distinct id) {current}", fetch="one")
        assert rows == ids > 0
        # A version that a later one follows ends when that begins.
        gaps = (
            "select count(*) from (select id, dbt_valid_to as ended, lead(dbt_valid_from) "
            "over (partition by id order by dbt_valid_from) as next from {schema}.history) "
            "where next is not null and (ended is null or ended > next)"
        )
        assert project.run_sql(gaps, fetch="one") == (0,)

    def test_no_temporary_table_is_left(self, project: Any, lake_address: LakeAddress) -> None:
        names = {row[1] for row in project.run_sql("show tables in {schema}", fetch="all")}
        assert not {name for name in names if "tmp" in name}
        assert not list(lake_address.data_folder.rglob("dbt_tmp*"))


def write(file: Path, number: int) -> None:
    """Write half of the IDs, another half for each number, to as many bytes as before."""
    first = number * 7 % _IDS
    ids = sorted((first + at) % _IDS for at in range(_IDS // 2))
    file.write_text("".join(f"{value:03}\n" for value in ids))
