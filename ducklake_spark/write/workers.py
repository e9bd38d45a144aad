"""Finds the Spark workers that do not share the data path with this process.

Tasks on every executor leave marker files there, and this process looks for each of them.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ducklake_spark.session import Session
from ducklake_spark.spec.names import uuid7
from ducklake_spark.storage.filesystem import list_files, locate, make_parent, remove_tree

_WAVES = 3  # tasks for each core in a round
_ROUNDS = 5
_PAUSE_S = 0.2
_PARTITIONS = "SELECT count(DISTINCT p) FROM (SELECT spark_partition_id() AS p FROM range(100000))"
_COLUMNS = ["worker", "marker", "problem"]
_SCHEMA = ", ".join(f"{name} string" for name in _COLUMNS)

_Batches = Iterator[pa.RecordBatch]
_Task = Callable[[_Batches], _Batches]


@dataclass(frozen=True, slots=True)
class Workers:
    """The executors of a Spark, by what became of their marker files."""

    seen: tuple[str, ...]
    unseen: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]  # with the problem of each


def mark_from_workers(session: Session, folder: str) -> Workers:
    """Have every executor write marker files to a folder, and look for them from here.

    If some executors have a folder of their own under that name, remove it there.
    """
    marked: dict[str, str] = {}  # by marker
    failed: dict[str, str] = {}
    for _ in range(_ROUNDS):
        known = {*marked.values(), *failed}
        for worker, marker, problem in _on_all_workers(session, _marking(folder)):
            if problem:
                failed[worker] = problem
            else:
                marked[marker] = worker
        if {*marked.values(), *failed} == known:
            break  # executors start one after the other, and this round found no new one
    visible = set(list_files(folder))
    unseen = {worker for marker, worker in marked.items() if marker not in visible}
    if unseen:  # only these executors can remove their files
        _on_all_workers(session, _removing(folder))
    seen = {*marked.values()} - unseen
    return Workers(tuple(sorted(seen)), tuple(sorted(unseen)), tuple(sorted(failed.items())))


def _on_all_workers(session: Session, task: _Task) -> Iterator[tuple[str, str, str]]:
    """Run a task so often, with a pause in each, that every core of every executor gets one."""
    # By default Spark gives a range one partition for each core.
    cores = session.spark.sql(_PARTITIONS)
    tasks = _WAVES * int(cores.toArrow()[0][0].as_py())
    frame = session.spark.range(0, tasks, 1, tasks).mapInArrow(task, _SCHEMA)
    return zip(*(column.to_pylist() for column in frame.toArrow().columns), strict=True)


def _marking(folder: str) -> _Task:
    def mark(marker: str) -> None:
        file_system, inner = locate(folder + marker)
        make_parent(file_system, inner)
        with file_system.open_output_stream(inner) as file:
            file.write(b"x")

    return _task(mark)


def _removing(folder: str) -> _Task:
    return _task(lambda _: remove_tree(folder))


def _task(act: Callable[[str], None]) -> _Task:
    """A task that pauses, acts, and returns its worker, its marker and its problem if any."""

    def run(batches: _Batches) -> _Batches:
        for _ in batches:
            time.sleep(_PAUSE_S)
            marker, problem = f"marker-{uuid7()}", ""
            try:
                act(marker)
            except Exception as error:  # noqa: BLE001 - whatever a store's client raises
                problem = str(error) or type(error).__name__
            row = (_worker(), marker, problem)
            yield pa.RecordBatch.from_arrays([pa.array([text]) for text in row], _COLUMNS)

    return run


def _worker() -> str:
    """The executor that this process works for: its folder names it in Spark's own terms."""
    return f"{socket.gethostname()} (process {os.getppid()} in {Path.cwd()})"
