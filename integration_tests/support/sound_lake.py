"""A small lake that has a bit of everything and no fault, for tests that plant one."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.foreign import append_foreign, without_ids
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle

_STATEMENTS = (
    "CREATE SCHEMA sales",
    "CREATE TABLE sales.orders (id INTEGER, region VARCHAR, price DECIMAL(9,2), day DATE, "
    "place STRUCT(city VARCHAR, zip INTEGER), tags VARCHAR[])",
    "ALTER TABLE sales.orders SET PARTITIONED BY (region)",
    "ALTER TABLE sales.orders SET SORTED BY (id DESC)",
    "CALL lake.set_option('data_inlining_row_limit', 0, schema => 'sales', table_name => 'orders')",
    "INSERT INTO sales.orders SELECT i, ['eu', 'us'][i % 2 + 1], i / 4, "
    "DATE '2026-01-01' + i::INT, {'city': 'c' || i, 'zip': i}, ['a', NULL] FROM range(100) r(i)",
    "INSERT INTO sales.orders SELECT i, 'eu', NULL, DATE '2026-05-01', NULL, [] "
    "FROM range(100, 130) r(i)",
    "DELETE FROM sales.orders WHERE id % 10 = 4",
    "DELETE FROM sales.orders WHERE id % 10 = 6",
    "UPDATE sales.orders SET price = 1 WHERE id = 8",
    "CREATE TABLE notes (k INTEGER, v VARCHAR)",
    "INSERT INTO notes VALUES (1, 'a'), (2, 'b')",
    "UPDATE notes SET v = 'c' WHERE k = 2",
    "CREATE TABLE events (k INTEGER, v VARCHAR)",
    "INSERT INTO events SELECT i, 'v' || i FROM range(50) r(i)",
    "DELETE FROM events WHERE k < 3",
    "ALTER TABLE events ADD COLUMN w DOUBLE DEFAULT 1",
    "INSERT INTO events SELECT i, 'v' || i, i FROM range(50, 70) r(i)",
    "COMMENT ON TABLE events IS 'what happened'",
    "CREATE VIEW recent AS SELECT * FROM main.events",
    "CREATE TABLE gone (k INTEGER)",
    "INSERT INTO gone SELECT i FROM range(20) r(i)",
    "DROP TABLE gone",
    "CREATE TABLE t (k INTEGER, v VARCHAR)",
)


def make_sound_lake(lake: LakeAddress) -> None:
    """Fill a fresh lake: partitions, deletes in files and inlined, inlined rows, a mapping."""
    with Oracle(lake) as duck:
        duck.run(*_STATEMENTS)
    append_foreign(lake, {"k": 1, "v": "x"}, without_ids, mapped=True)


def copy_of(lake: LakeAddress, folder: Path) -> LakeAddress:
    """A copy of a lake that is in files, in another folder."""
    source = Path(lake.data_path).parent
    shutil.copytree(source, folder)
    copied = file_lake(lake.kind, folder)
    copied.sql(f"UPDATE ducklake_metadata SET value = '{copied.data_path}' WHERE key = 'data_path'")
    return copied
