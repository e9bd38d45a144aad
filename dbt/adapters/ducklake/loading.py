"""Imports what lakes stand on (Spark, SQL, the catalog) when something first asks for one.

What only reads the project (`dbt list`, `dbt parse`) does without it, and a local Spark starts
meanwhile. So no module that dbt imports with the plugin may import any of it: what uses it does so
where it is used.
"""

from __future__ import annotations

import atexit
import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from dbt.adapters.ducklake.engine_log import send_warnings_to_dbt
from dbt_common.exceptions import DbtRuntimeError

_OLDEST_SPARK = 4
_loading = threading.Lock()
_is_loaded = False


def load_engine() -> None:
    """Import it all, once and by one thread."""
    global _is_loaded
    with _loading:
        if _is_loaded:
            return
        with _collecting_nothing(), _explaining_imports():
            _check_pyspark()
            import ducklake_spark.lake  # noqa: F401
        send_warnings_to_dbt()
        _is_loaded = True


def _check_pyspark() -> None:
    import pyspark

    if int(pyspark.__version__.partition(".")[0]) < _OLDEST_SPARK:
        raise ImportError(f"PySpark {_OLDEST_SPARK}.0 or newer is required, "
                          f"found {pyspark.__version__} in {pyspark.__path__[0]}")  # fmt: skip


@contextmanager
def _explaining_imports() -> Iterator[None]:
    """Raise one sentence instead of a stack trace if installed packages do not fit together."""
    try:
        yield
    except ImportError as error:
        raise DbtRuntimeError(
            f"Cannot import a package that dbt-ducklake needs: {error}. {_advice()}"
        ) from error


def _advice() -> str:
    try:
        version("databricks-connect")
    except PackageNotFoundError:
        return "Run `pip check`, or install dbt-ducklake in a new environment."
    return (
        "databricks-connect replaces the files of pyspark. "
        "Install dbt-ducklake in an environment without it."
    )


@contextmanager
def _collecting_nothing() -> Iterator[None]:
    """Nothing that is imported is garbage: the collector need not look through it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@atexit.register
def _collect_once() -> None:
    # Python looks through everything several times as it ends, which a short run waits for longer
    # than for its models. Once is enough for what has something to do as it goes.
    gc.collect()
    # DuckDB 2 reports frozen objects of its own as leaks, 45 lines of them.
    if "duckdb" not in sys.modules:
        gc.freeze()
