"""A catalog behind a real PgBouncer: no commit is lost, and session settings hold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.catalog import Field
from ducklake_spark.config import CommitSettings
from support.appender import appended
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.parquet import append, arrow_schema
from support.pooler import Pooler
from support.reader import read_rows
from support.shared_duck import SharedDuck

WRITERS = 8
COMMITS = 20

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def direct_lake(pooled_lake: LakeAddress, pooler: Pooler, postgres_conninfo: str) -> LakeAddress:
    """The same lake, for DuckDB, which prepares its statements."""
    return pooled_lake.through(pooler.conninfo, postgres_conninfo)


def test_concurrent_writers_lose_nothing(
    pooled_lake: LakeAddress, direct_lake: LakeAddress, tmp_path: Path
) -> None:
    with pooled_lake.open() as catalog:
        with catalog.transaction() as tx:
            table = tx.create_table("t", [Field("id", "int32")])
        Path(table.location).mkdir(parents=True)
        template = tmp_path / "template.parquet"
        pq.write_table(pa.table({"id": [1, 2, 3]}, schema=arrow_schema(table)), template)
        with ThreadPoolExecutor(WRITERS) as pool:
            jobs = [
                pool.submit(lambda: list(appended(catalog, "t", template, COMMITS)))
                for _ in range(WRITERS)
            ]
            snapshots = sorted(snapshot for job in jobs for snapshot in job.result())
        assert snapshots == list(range(2, WRITERS * COMMITS + 2))
        # Reads from many threads at once use other server sessions than the writes did.
        with ThreadPoolExecutor(WRITERS) as pool:
            table = catalog.at().table("t")
            seen = pool.map(lambda _: len(catalog.at().files(table)), range(40))
            assert set(seen) == {WRITERS * COMMITS}
    with Oracle(direct_lake) as duck:
        assert duck.value("SELECT count(*) FROM t") == 3 * WRITERS * COMMITS
        assert duck.value("SELECT count(DISTINCT rowid) FROM t") == 3 * WRITERS * COMMITS


def test_intervals_are_read_whatever_style_the_database_is_set_to(
    pooled_lake: LakeAddress, direct_lake: LakeAddress
) -> None:
    """The client sets IntervalStyle for its session, which PgBouncer must carry along."""
    ((name,),) = direct_lake.sql("SELECT current_database()")
    with SharedDuck(direct_lake) as duck:
        duck.run("CREATE TABLE t (i INTERVAL)")
        duck.run("INSERT INTO t VALUES (INTERVAL '1 month -2 days 03:04:05.6')")
    before = rows_of(direct_lake)
    direct_lake.sql(f'ALTER DATABASE "{name}" SET IntervalStyle = iso_8601')
    with ThreadPoolExecutor(WRITERS) as pool:
        assert list(pool.map(lambda _: rows_of(pooled_lake), range(16))) == [before] * 16


def rows_of(lake: LakeAddress) -> list[dict[str, Any]]:
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        return read_rows(reader, reader.table("t"))


def test_a_lake_is_read_only_for_one_client_alone(pooled_lake: LakeAddress, tmp_path: Path) -> None:
    """A read-only transaction leaves nothing behind in the session that a writer gets next."""
    settings = CommitSettings(max_attempts=5)
    with pooled_lake.open(commit_settings=settings) as writer:
        with writer.transaction() as tx:
            tx.create_table("t", [Field("id", "int32")])
        with pooled_lake.open(read_only=True) as reader:
            for number in range(10):
                assert reader.snapshot().id == number + 1
                with writer.transaction() as tx:
                    append(tx, "t", [{"id": number}])
