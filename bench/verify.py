"""How long `verify` takes for a sound lake of many files.

    python bench/verify.py [--kinds sqlite,postgres] [--files 100000]

The files are copies of a small one with eight columns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copyfile

import pyarrow as pa
import pyarrow.parquet as pq

_ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(_ROOT), str(_ROOT / "integration_tests")]

from lakes import lakes, working_folder  # noqa: E402 - the path comes first
from timing import clocked, machine  # noqa: E402

from ducklake_spark.catalog import Catalog, Field  # noqa: E402
from ducklake_spark.maintain import verify  # noqa: E402
from ducklake_spark.spec.model import NewDataFile, Table  # noqa: E402
from ducklake_spark.spec.paths import StoredPath  # noqa: E402
from ducklake_spark.storage.footers import describe_file  # noqa: E402

_KINDS = ("int64", "int32", "varchar", "varchar", "float64", "float64", "timestamp", "date")
_ROWS = 10
_PER_COMMIT = 1_000


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kinds", default="sqlite,postgres")
    parser.add_argument("--files", type=int, default=100_000)
    options = parser.parse_args()
    with working_folder() as folder:
        print("\n".join(machine(folder)))
        for kind in options.kinds.split(","):
            with lakes(kind, folder, ("verified",)) as (lake,), lake.open() as catalog:
                _fill(catalog, options.files)
                for files, label in ((False, "catalog alone"), (True, "with files")):
                    took = clocked(lambda files=files: _sound(catalog, files=files))
                    print(f"{kind}, {options.files:,} files, {label}: {took / 1000:.1f} s")
    return 0


def _sound(catalog: Catalog, *, files: bool) -> None:
    found = verify(catalog, files=files)
    assert not found, found


def _fill(catalog: Catalog, count: int) -> None:
    with catalog.transaction() as tx:
        table = tx.create_table("t", [Field(f"c{at}", kind) for at, kind in enumerate(_KINDS)])
    folder = Path(table.location)
    folder.mkdir(parents=True)
    first = _first(table)
    for start in range(0, count, _PER_COMMIT):
        with catalog.transaction() as tx:
            tx.add_files("t", list(_copies(folder, first, range(start, start + _PER_COMMIT))))
    (folder / first.path.path).unlink()


def _first(table: Table) -> NewDataFile:
    types = {"varchar": pa.string(), "timestamp": pa.timestamp("us"), "date": pa.date32()}
    types |= {"int64": pa.int64(), "int32": pa.int32(), "float64": pa.float64()}
    fields = [
        pa.field(c.name, types[c.type.name], metadata={"PARQUET:field_id": str(c.id)})
        for c in table.columns
    ]
    numbers = list(range(_ROWS))
    values = [
        pa.array(map(str, numbers) if pa.types.is_string(field.type) else numbers, field.type)
        for field in fields
    ]
    path = StoredPath("first.parquet")
    pq.write_table(pa.table(values, schema=pa.schema(fields)), path.under(table.location))
    return describe_file(table.location, path, table.columns)


def _copies(folder: Path, first: NewDataFile, numbers: range) -> Iterator[NewDataFile]:
    for number in numbers:
        path = StoredPath(f"ducklake-{number}.parquet")
        copyfile(folder / first.path.path, folder / path.path)
        yield replace(first, path=path)


if __name__ == "__main__":
    raise SystemExit(main())
