"""Many threads and many processes append to one table: all land, none sees a locked database.

DUCKLAKE_COMMITS says how many commits each of the eight writers makes; the full proof is 200.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ducklake_spark.catalog import Field
from support.appender import appended
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.parquet import arrow_schema

WRITERS = 8
COMMITS = int(os.environ.get("DUCKLAKE_COMMITS", "50"))
ROWS = 3

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def template(shared_lake: LakeAddress, tmp_path: Path) -> Path:
    """One small Parquet file for the table that all write to."""
    with shared_lake.open() as catalog:
        with catalog.transaction() as tx:
            table = tx.create_table("t", [Field("id", "int32"), Field("name", "varchar")])
        Path(table.location).mkdir(parents=True)
        schema = arrow_schema(table)
    rows = [{"id": i, "name": "x"} for i in range(ROWS)]
    path = tmp_path / "template.parquet"
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path


def test_threads_that_append_to_one_table_lose_nothing(
    shared_lake: LakeAddress, template: Path
) -> None:
    with shared_lake.open() as catalog, ThreadPoolExecutor(WRITERS) as pool:
        work = [
            pool.submit(lambda: list(appended(catalog, "t", template, COMMITS)))
            for _ in range(WRITERS)
        ]
        snapshots = [snapshot for job in work for snapshot in job.result()]
    check(shared_lake, snapshots)


def test_processes_that_append_to_one_table_lose_nothing(
    shared_lake: LakeAddress, template: Path
) -> None:
    settings = {
        "catalog": shared_lake.catalog,
        "data_path": shared_lake.data_path,
        "template": str(template),
        "count": COMMITS,
    }
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "support.appender", json.dumps(settings)]
    environment = os.environ | {"PYTHONPATH": f"{root}:{root.parent}"}
    writers = [
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(WRITERS)
    ]
    snapshots: list[int] = []
    for writer in writers:
        out, err = writer.communicate(timeout=800)
        assert writer.returncode == 0, err
        snapshots += json.loads(out)
    check(shared_lake, snapshots)


def check(lake: LakeAddress, snapshots: list[int]) -> None:
    """Every commit that was reported is there once, and the counts agree everywhere."""
    commits = WRITERS * COMMITS
    assert sorted(snapshots) == list(range(2, commits + 2))
    dump = lake.dump()
    assert [row["snapshot_id"] for row in sorted_by(dump["ducklake_snapshot"])] == list(
        range(commits + 2)
    )
    files = dump["ducklake_data_file"]
    assert len({row["data_file_id"] for row in files}) == len(files) == commits
    assert sorted(row["row_id_start"] for row in files) == [i * ROWS for i in range(commits)]
    (stats,) = dump["ducklake_table_stats"]
    assert stats["record_count"] == stats["next_row_id"] == commits * ROWS
    with Oracle(lake) as duck:
        assert duck.value("SELECT count(*) FROM t") == commits * ROWS
        assert duck.value("SELECT count(DISTINCT rowid) FROM t") == commits * ROWS
    with lake.open() as catalog:
        assert len(catalog.commits()) == commits + 2


def sorted_by(rows: list[dict[str, int]]) -> list[dict[str, int]]:
    return sorted(rows, key=lambda row: row["snapshot_id"])
