"""How long it takes to forget 10,000 snapshots, nearly each of which replaced a file.

    python bench/expire.py [--kinds sqlite,postgres]

Lakes made by us have indexes, and lakes made by DuckDB have none. Exits with 1 if it takes more
than five seconds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(_ROOT), str(_ROOT / "integration_tests")]

from big_lake import Size, fill  # noqa: E402 - the path comes first
from duck import Duck  # noqa: E402
from lakes import lakes, working_folder  # noqa: E402
from timing import clocked, machine  # noqa: E402

from ducklake_spark.maintain import expire_snapshots  # noqa: E402
from support.lakes import LakeAddress  # noqa: E402

_SIZE = Size(tables=20, snapshots=10_000, files=10_000)
_BAR_MS = 5_000.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kinds", default="sqlite,postgres")
    options = parser.parse_args()
    slowest = 0.0
    with working_folder() as folder:
        print("\n".join(machine(folder)))
        for kind in options.kinds.split(","):
            with lakes(kind, folder, ("ours", "duckdbs")) as (ours, duckdbs):
                ours.open().close()
                Duck(duckdbs, _SIZE).open()
                for label, lake in (("ours", ours), ("DuckDB's", duckdbs)):
                    took = _expired(lake)
                    slowest = max(slowest, took)
                    print(f"{kind}, {label}: {took:,.0f} ms", flush=True)
    return 1 if slowest > _BAR_MS else 0


def _expired(lake: LakeAddress) -> float:
    fill(lake, _SIZE)
    lake.sql(
        "UPDATE ducklake_data_file SET end_snapshot = begin_snapshot + 1 "
        f"WHERE begin_snapshot < {_SIZE.snapshots - 1}"
    )
    with lake.open() as catalog:
        took = clocked(lambda: expire_snapshots(catalog, older_than="0 seconds"))
        assert len(catalog.commits()) == 1
        assert len(catalog.scheduled_files()) > _SIZE.files / 2
        return took


if __name__ == "__main__":
    raise SystemExit(main())
