"""Lakes of DuckLake 1.1 are read as they were before their migration, and never written."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ducklake_spark.catalog import Field, Transaction
from ducklake_spark.errors import CatalogVersionError, UnwritableVersionError
from support.lakes import LakeAddress, file_lake
from support.migration import migrate, migration
from support.oracle import Oracle
from support.sound_lake import make_sound_lake
from support.states import kept_open, our_states

MakeLake = Callable[[str], LakeAddress]
FIELDS = [Field("k", "int32"), Field("v", "varchar")]
CHANGES: tuple[Callable[[Transaction], object], ...] = (
    lambda tx: tx.create_schema("other"),
    lambda tx: tx.create_table("u", FIELDS),
    lambda tx: tx.add_column("t", Field("x", "int32")),
    lambda tx: tx.drop_table("t"),
    lambda tx: tx.truncate("t"),
    lambda tx: tx.set_option("target_file_size", "1MB"),
)


def _small_lake(lake: LakeAddress) -> None:
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE t (k INTEGER, v VARCHAR)", "INSERT INTO t VALUES (7, 'a')")


def _seen(lake: LakeAddress) -> list[Any]:
    """What our client sees of a sound lake, changes of inlined rows included."""
    states = our_states(lake)
    with kept_open(lake), lake.open(read_only=True) as catalog:
        reader = catalog.at()
        notes = reader.table("notes")
        inlined = [reader.changes(notes, 0), reader.inlined_lives(notes)]
        return [states, inlined, catalog.usage(), catalog.faults()]


def test_a_migrated_lake_is_read_as_before_at_every_snapshot(lake: LakeAddress) -> None:
    make_sound_lake(lake)
    before = _seen(lake)
    assert before[-1] == []
    migrate(lake)
    assert _seen(lake) == before


def test_a_column_may_be_named_like_a_leading_column_of_version_1_0(tmp_path: Path) -> None:
    lake = file_lake("sqlite", tmp_path)
    _small_lake(lake)
    migrate(lake)
    lake.run(
        "ALTER TABLE ducklake_inlined_data_1_1 RENAME COLUMN k TO row_id",
        "UPDATE ducklake_column SET column_name = 'row_id' WHERE column_name = 'k'",
    )
    assert our_states(lake)[2].rows["main", "t"] == [(0, {"row_id": 7, "v": "a"})]


# --- writing ---


def test_no_change_is_committed(tmp_path: Path) -> None:
    lake = file_lake("sqlite", tmp_path)
    _small_lake(lake)
    migrate(lake)
    before = lake.dump()
    with lake.open() as catalog:
        for change in CHANGES:
            with pytest.raises(UnwritableVersionError) as refused, catalog.transaction() as tx:
                change(tx)
            for said in ("DuckLake version 1.1", "Nothing was changed", "DUCKLAKE_VERSION '1.0'"):
                assert said in str(refused.value)
        for upkeep in (
            lambda: catalog.expire([1]),
            lambda: catalog.forget_scheduled([]),
            catalog.create_indexes,
            catalog.check_writable,
        ):
            with pytest.raises(UnwritableVersionError):
                upkeep()
    assert lake.dump() == before


# --- a migration while the lake is open ---


def test_a_migration_by_another_client_is_noticed(lake: LakeAddress) -> None:
    _small_lake(lake)
    with lake.open() as catalog:
        tx, reader = catalog.transaction(), catalog.at()
        tx.delete_inlined("t", [0])
        migrate(lake)
        before = lake.dump()
        assert [row.row_id for row in reader.inlined_rows(reader.table("t"))] == [0]
        assert catalog.format.version == "1.1"
        for write in (tx.check_writable, tx.commit, catalog.check_writable):
            with pytest.raises(UnwritableVersionError):
                write()
        assert not tx.may_have_landed
    assert lake.dump() == before


def test_a_migration_to_an_unknown_version_is_noticed(tmp_path: Path) -> None:
    lake = file_lake("sqlite", tmp_path)
    _small_lake(lake)
    with lake.open() as catalog:
        reader, tx = catalog.at(), catalog.transaction()
        tx.create_schema("other")
        lake.sql("UPDATE ducklake_metadata SET value = '1.2' WHERE key = 'version'")
        before = lake.dump()
        for use in (
            lambda: reader.table("t"),
            catalog.at,
            catalog.snapshot,
            catalog.commits,
            catalog.faults,
            catalog.usage,
            catalog.scheduled_files,
            tx.commit,
        ):
            with pytest.raises(CatalogVersionError, match=r"'1\.2'.*Upgrade dbt-ducklake"):
                use()
    assert lake.dump() == before


def test_a_commit_waits_for_a_migration_and_notices_it(make_lake: MakeLake) -> None:
    """In PostgreSQL the two transactions can overlap."""
    lake = make_lake("postgres")
    _small_lake(lake)
    conninfo = lake.catalog.removeprefix("postgres:")
    statements = migration(lake)
    with (
        lake.open() as catalog,
        psycopg.connect(conninfo) as other,
        ThreadPoolExecutor() as pool,
    ):
        tx = catalog.transaction()
        tx.create_table("late", FIELDS)
        for statement in statements:
            other.execute(statement.encode())
        committing = pool.submit(tx.commit)
        wait([committing], timeout=0.5)
        assert not committing.done()
        other.commit()
        with pytest.raises(UnwritableVersionError):
            committing.result()
