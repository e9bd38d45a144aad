"""Hands warnings of the engine to dbt, so that its log file and its JSON log have them."""

from __future__ import annotations

import logging

from dbt.adapters.events.logging import AdapterLogger

_dbt = AdapterLogger("DuckLake")


class _ToDbt(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _dbt.warning(record.getMessage())


def send_warnings_to_dbt() -> None:
    """Add the handler; to be called once in a process."""
    logging.getLogger("ducklake_spark").addHandler(_ToDbt(logging.WARNING))
