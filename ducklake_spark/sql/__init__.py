"""SQL on lakes: text becomes intent, names become snapshots, Spark does the work."""

from ducklake_spark.sql.evolve import Alterations, alterations, conforming_columns
from ducklake_spark.sql.execute import Executor
from ducklake_spark.sql.failures import SPARK_ERRORS, query_error
from ducklake_spark.sql.result import Outcome, Result
from ducklake_spark.sql.tokens import is_ended, split_statements
from ducklake_spark.sql.workspace import MAIN, Workspace

__all__ = [
    "MAIN",
    "SPARK_ERRORS",
    "Alterations",
    "Executor",
    "Outcome",
    "Result",
    "Workspace",
    "alterations",
    "conforming_columns",
    "is_ended",
    "query_error",
    "split_statements",
]
