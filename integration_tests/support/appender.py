"""A process that appends to one table, as one of many writers: python -m support.appender …"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copyfile

from ducklake_spark.catalog import Catalog
from ducklake_spark.spec.model import NewDataFile, Table
from ducklake_spark.spec.names import uuid7
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.storage.footers import describe_file


def appended(catalog: Catalog, table: str, template: Path, count: int) -> Iterator[int]:
    """Append copies of one Parquet file, each in a commit of its own; yields the snapshot ids."""
    known: NewDataFile | None = None
    for _ in range(count):
        with catalog.transaction() as tx:
            target = tx.table(table)
            known = known or described(target, template)
            path = StoredPath(f"{uuid7()}.parquet")
            copyfile(template, path.under(target.location))
            tx.add_files(table, [replace(known, path=path)])
            yield tx.commit().snapshot_id


def described(table: Table, template: Path) -> NewDataFile:
    return describe_file(f"{template.parent}/", StoredPath(template.name), table.columns)


if __name__ == "__main__":
    settings = json.loads(sys.argv[1])
    lake = Catalog.open(settings["catalog"], data_path=settings["data_path"])
    template = Path(settings["template"])
    with lake:
        print(json.dumps(list(appended(lake, "t", template, settings["count"]))))
