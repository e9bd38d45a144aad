"""The process behind `support.clusters.Driver`: reads requests from its input, a line each."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from ducklake_spark import Lake
from ducklake_spark.doctor import examine
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.session import Session, SparkSettings
from ducklake_spark.write import StagedFiles, change

_state: dict[str, Any] = {}


def start(master: str, config: dict[str, str]) -> None:
    """Connect to the cluster."""
    _state["settings"] = SparkSettings(master=master, config=config)
    _state["session"] = Session.open(_state["settings"])


def run(catalog: str, data_path: str, statement: str) -> dict[str, str] | list[list[Any]]:
    """Run a statement on a lake: its rows, or its error."""
    try:
        with Lake.open(catalog, data_path, _state["session"].spark) as lake:
            return [list(row) for row in lake.sql(statement).collect()]
    except DuckLakeError as error:
        return {"code": error.code, "message": str(error)}


def run_on_slow_rows(
    catalog: str, data_path: str, statement: str, rows: int, tasks: int, folder: str
) -> dict[str, str] | list[list[Any]]:
    """Run a statement that reads the view `slow`, whose tasks wait for a file `go` in the folder.

    Each task makes a file there when it starts. The first task does not wait.
    """
    frame = _state["session"].spark.range(0, rows, 1, tasks).mapInArrow(_slow(folder), "id long")
    frame.createOrReplaceGlobalTempView("slow")
    return run(catalog, data_path, statement)


def _slow(folder: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            first = batch.column(0)[0].as_py()
            Path(folder, f"{first}-{os.getpid()}").touch()
            while first and not Path(folder, "go").exists():
                time.sleep(0.02)
            yield batch

    return wait


def run_with_a_break(
    catalog: str, data_path: str, statement: str, folder: str
) -> dict[str, str] | list[list[Any]]:
    """Run an UPDATE or a MERGE that waits before it writes, when it knows what to write.

    It makes a file `ready` in the folder, and waits for a file `go`.
    """
    write = change.stage

    def stage(*arguments: Any, **options: Any) -> StagedFiles:
        Path(folder, "ready").touch()
        while not Path(folder, "go").exists():
            time.sleep(0.02)
        return write(*arguments, **options)

    with patch.object(change, "stage", stage):
        return run(catalog, data_path, statement)


def doctor(catalog: str, data_path: str) -> list[str]:
    """Return the lines of `dbt debug` for a lake."""
    return [str(found) for found in examine(catalog, data_path, _state["settings"])]


def main() -> None:
    calls: dict[str, Callable[..., Any]] = {
        call.__name__: call for call in (start, run, run_on_slow_rows, run_with_a_break, doctor)
    }
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else writes to the output
    for line in sys.stdin:
        what, arguments = json.loads(line)
        answers.write(json.dumps(calls[what](**arguments), default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
