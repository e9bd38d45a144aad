"""The core of dbt's suites on the other catalogs."""

from __future__ import annotations

from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_incremental import BaseIncremental
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import (
    BaseMergeExcludeColumns,
)
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.python_model.test_python_model import BasePythonModelTests


class _Postgres:
    catalog = "postgres"


class _DuckDB:
    catalog = "duckdb"


class TestSimpleMaterializationsOnPostgres(_Postgres, BaseSimpleMaterializations):
    pass


class TestIncrementalOnPostgres(_Postgres, BaseIncremental):
    pass


class TestSnapshotTimestampOnPostgres(_Postgres, BaseSnapshotTimestamp):
    pass


class TestConcurrencyOnPostgres(_Postgres, BaseConcurrency):
    pass


class TestMergeExcludeColumnsOnPostgres(_Postgres, BaseMergeExcludeColumns):
    pass


class TestMicrobatchOnPostgres(_Postgres, BaseMicrobatch):
    pass


class TestPythonModelOnPostgres(_Postgres, BasePythonModelTests):
    pass


class TestSimpleMaterializationsOnDuckDB(_DuckDB, BaseSimpleMaterializations):
    pass


class TestIncrementalOnDuckDB(_DuckDB, BaseIncremental):
    pass


class TestSnapshotTimestampOnDuckDB(_DuckDB, BaseSnapshotTimestamp):
    pass


class TestConcurrencyOnDuckDB(_DuckDB, BaseConcurrency):
    pass


class TestMergeExcludeColumnsOnDuckDB(_DuckDB, BaseMergeExcludeColumns):
    pass


class TestMicrobatchOnDuckDB(_DuckDB, BaseMicrobatch):
    pass


class TestPythonModelOnDuckDB(_DuckDB, BasePythonModelTests):
    pass
