"""Five million rows matched by a MERGE, with a driver of 2 GB: large_merge.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from ducklake_spark.lake import Lake
from ducklake_spark.session import SparkSettings
from support.lakes import file_lake

ROWS, MATCHED = 6_000_000, 5_000_000


def main(folder: str) -> None:
    address = file_lake("sqlite", Path(folder))
    spark = SparkSettings(master="local[2]", config={"spark.driver.memory": "2g"})
    with Lake.open(address.catalog, address.data_path, spark) as lake:
        lake.sql(
            "CREATE TABLE t AS SELECT id, id % 7 AS g, uuid() AS text, id / 3 AS x"
            f" FROM range({ROWS})"
        )
        outcome = lake.execute(
            f"MERGE INTO t USING (SELECT id, id * 2 AS x FROM range({MATCHED})) s ON t.id = s.id"
            " WHEN MATCHED AND s.id % 2 = 0 THEN UPDATE SET x = s.x WHEN MATCHED THEN DELETE"
        ).outcome
        assert outcome is not None
        assert (outcome.rows_updated, outcome.rows_deleted) == (MATCHED // 2, MATCHED // 2)
        lake.session.spark.stop()
    print("all well", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
