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

from dbt.adapters.ducklake.engine_log import send_warnings_to_dbt

_loading = threading.Lock()
_is_loaded = False


def load_engine() -> None:
    """Import it all, once and by one thread."""
    global _is_loaded
    with _loading:
        if _is_loaded:
            return
        with _collecting_nothing():
            import ducklake_spark.lake  # noqa: F401
        send_warnings_to_dbt()
        _is_loaded = True


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
