"""dbt's own tests of python models."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.python_model.test_python_model import (
    BasePythonEmptyTests,
    BasePythonIncrementalTests,
    BasePythonMetaGetTests,
    BasePythonModelTests,
    BasePythonSampleTests,
)
from dbt.tests.adapter.python_model.test_spark import (
    PANDAS_MODEL,
    PANDAS_ON_SPARK_MODEL,
    PYSPARK_MODEL,
    BasePySparkTests,
)
from dbt.tests.util import run_dbt


class TestPythonModelTests(BasePythonModelTests):
    pass


class TestPythonIncrementalTests(BasePythonIncrementalTests):
    pass


class TestPythonMetaGetTests(BasePythonMetaGetTests):
    pass


class TestPythonEmptyTests(BasePythonEmptyTests):
    pass


class TestPythonSampleTests(BasePythonSampleTests):
    pass


class TestPySparkTests(BasePySparkTests):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        # Koalas has been pandas-on-Spark for years.
        return {
            "pandas_df.py": PANDAS_MODEL,
            "pyspark_df.py": PYSPARK_MODEL,
            "pandas_on_spark_df.py": PANDAS_ON_SPARK_MODEL,
        }

    def test_different_dataframes(self, project: Any) -> None:
        assert len(run_dbt(["run"])) == 3


class TestWrongPythonModels:
    """The user's own mistakes: what failed and where, without Spark's plans."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        text = "def model(dbt, session):\n    rows = dbt.ref('good')\n    return {}\n"
        return {
            "good.sql": "{{ config(materialized='table') }} select 1 as id",
            "raises.py": text.format("rows.toPandas()['nothing']"),
            "column.py": text.format("rows.select('nothing').limit(1)"),
            "list.py": text.format("[1]"),
        }

    def test_messages(self, project: Any) -> None:
        results = {r.node.name: r.message for r in run_dbt(["run"], expect_pass=False)}
        assert "KeyError: 'nothing', at \"return rows.toPandas()['nothing']\"" in results["raises"]
        assert "`nothing` cannot be resolved" in results["column"]
        assert "+- " not in results["column"]
        assert "returned a list" in results["list"]


class TestFramesWithoutRows:
    """Nothing today is an ordinary day: the table has its columns and their types."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "quiet.py": (
                "import pandas as pd\n\n"
                "def model(dbt, session):\n"
                "    dbt.config(materialized='table')\n"
                "    frame = pd.DataFrame({'id': [1], 'x': [1.5], 's': ['a'],\n"
                "                          'd': pd.to_datetime(['2024-01-01'])})\n"
                "    return frame[frame['id'] > 5]\n"
            )
        }

    def test_types(self, project: Any) -> None:
        run_dbt(["run"])
        described = project.run_sql("describe {schema}.quiet", fetch="all")
        types = {row[0]: row[1] for row in described}
        assert types == {"id": "bigint", "x": "double", "s": "string", "d": "timestamp"}
        assert project.run_sql("select * from {schema}.quiet", fetch="all") == []
