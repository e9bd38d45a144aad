"""Compactions that are killed at any time have done nothing, and what they wrote can be removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ducklake_spark.catalog import Catalog, Compaction, SnapshotReader
from ducklake_spark.maintain import delete_orphaned_files, verify
from ducklake_spark.session import Session
from ducklake_spark.spec.model import Table
from support import endless_compaction
from support.compactions import COMPACTIONS, known_files, make_compactable, parquet_files
from support.kills import steps_survived
from support.lakes import LakeAddress
from support.oracle import duck_runs
from support.unharmed import unharmed


@pytest.mark.parametrize("operation", COMPACTIONS)
def test_one_that_is_killed_while_spark_writes_leaves_orphans_at_most(
    local: LakeAddress, session: Session, operation: str
) -> None:
    make_compactable(local, rows=2_000)
    duck_runs(local, "CALL lake.set_option('delete_older_than', '0 seconds')")
    before, files = local.dump(), _everything(local)
    with unharmed(local):
        _killed_while_it_writes(local, operation, files)
        assert local.dump() == before
        with local.open() as catalog:
            assert {fault.fault for fault in verify(catalog)} == {"orphaned-file"}
            delete_orphaned_files(catalog)
            assert _everything(local) == files
            assert verify(catalog) == []
            assert COMPACTIONS[operation](catalog, session)
    assert local.dump() != before
    assert parquet_files(local) == known_files(local)


def _everything(lake: LakeAddress) -> set[Path]:
    return {path for path in lake.data_folder.rglob("*") if path.is_file()}


def _killed_while_it_writes(lake: LakeAddress, operation: str, before: set[Path]) -> None:
    """Kill Spark with all its processes once the first file is there."""
    command = [sys.executable, endless_compaction.__file__, operation, lake.catalog]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        while not any(path.suffix == ".parquet" for path in _everything(lake) - before):
            assert process.poll() is None
            time.sleep(0.005)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("operation", COMPACTIONS)
def test_one_that_is_killed_during_its_commit_has_done_nothing(
    shared_lake: LakeAddress,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    operation: str,
) -> None:
    """At every statement of the commit; what it wrote is left as files that nobody knows."""
    make_compactable(shared_lake)
    planned: list[tuple[Table, Sequence[Compaction]]] = []

    def commit(
        _: Catalog, reader: SnapshotReader, table: Table, compactions: Any, *_rest: Any
    ) -> None:
        planned.append((table, compactions))

    monkeypatch.setattr(f"ducklake_spark.maintain.{operation}.commit", commit)
    with shared_lake.open() as catalog:
        COMPACTIONS[operation](catalog, session)
    ((table, compactions),) = planned

    def carry_out(catalog: Catalog) -> None:
        with catalog.transaction() as tx:
            tx.compact(table.name, compactions)

    with unharmed(shared_lake):
        assert steps_survived(shared_lake, carry_out) > 5
