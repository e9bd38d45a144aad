"""Lakes of DuckLake 1.1 are read as they were before their migration, and never written."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ducklake_spark.catalog import Field, Transaction
from ducklake_spark.config import Attached
from ducklake_spark.doctor import _look_at_lake
from ducklake_spark.errors import (
    CatalogVersionError,
    InvalidDefinitionError,
    UnsupportedFeatureError,
    UnwritableVersionError,
)
from ducklake_spark.spec.predicates import Comparison, IsNull, Predicate, StartsWith
from ducklake_spark.spec.values import parse_text
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


# --- what version 1.0 lacks ---


def test_epoch_transforms_are_read(tmp_path: Path) -> None:
    lake = file_lake("sqlite", tmp_path)
    with Oracle(lake) as duck:
        duck.run(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE t (ts TIMESTAMPTZ, day DATE)",
            "ALTER TABLE t SET PARTITIONED BY (year(ts), day(day))",
            "INSERT INTO t VALUES ('1969-12-31 23:00:00+00', DATE '1969-12-31'), "
            "('2020-01-01 00:00:00+00', DATE '2020-01-01'), (NULL, NULL)",
        )
    before = our_states(lake)
    migrate(lake)
    lake.run(
        "UPDATE ducklake_partition_column SET transform = 'epoch_' || transform",
        *(
            f"UPDATE ducklake_file_partition_value SET partition_value = '{new}' "
            f"WHERE partition_key_index = {key} AND partition_value = '{old}'"
            for key, old, new in (
                (0, 1969, -1), (0, 2020, 50), (1, 31, -1), (1, 1, 18262),
            )
        ),
    )  # fmt: skip
    assert our_states(lake)[3].rows == before[3].rows
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        table = reader.table("t")
        assert [str(key.transform) for key in table.partition_fields] == ["epoch_year", "epoch_day"]
        found = {file.partition_values for file in reader.files(table)}
        assert found == {("-1", "-1"), ("50", "18262"), (None, None)}
        for text in ("1969-12-31 23:00:00+00", "2020-01-01 00:00:00+00"):
            value = parse_text(text, table.column("ts").type)
            (file,) = reader.files(table, predicate=Comparison(1, "=", value))
            assert file.record_count == 1
        assert catalog.faults() == []
        lake.sql(
            "UPDATE ducklake_file_partition_value SET partition_value = '7' "
            "WHERE partition_value = '50'"
        )
        assert [fault.fault for fault in catalog.faults()] == ["partition-value-wrong"]


def test_an_epoch_transform_in_a_lake_of_version_1_0_is_an_error(tmp_path: Path) -> None:
    lake = file_lake("sqlite", tmp_path)
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE t (d DATE)", "ALTER TABLE t SET PARTITIONED BY (day(d))")
    lake.sql("UPDATE ducklake_partition_column SET transform = 'epoch_day'")
    with lake.open() as catalog, pytest.raises(InvalidDefinitionError, match="epoch_day"):
        catalog.at().table("t")


def test_truncated_bounds_of_text_rule_nothing_out(lake: LakeAddress) -> None:
    with Oracle(lake) as duck:
        duck.run(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE t (v VARCHAR)",
            "INSERT INTO t VALUES ('a'), ('usa')",
            "INSERT INTO t VALUES ('x'), ('zz')",
        )
    migrate(lake)
    lake.sql("UPDATE ducklake_file_column_stats SET max_value = 'us' WHERE max_value = 'usa'")
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        table = reader.table("t")

        def kept(predicate: Predicate) -> list[str | None]:
            found = reader.files(table, predicate=predicate)
            return sorted(str(file.stats[1].min_value) for file in found)

        assert kept(Comparison(1, "=", "usa")) == ["a"]
        assert kept(Comparison(1, ">", "us")) == ["a", "x"]
        assert kept(StartsWith(1, "usa")) == ["a"]
        assert kept(Comparison(1, ">=", "ut")) == ["a", "x"]
        assert kept(Comparison(1, "=", "v")) == []
        assert kept(Comparison(1, "=", "zz")) == ["x"]
        assert kept(IsNull(1)) == []


def test_comments_on_view_columns_are_read(lake: LakeAddress) -> None:
    make = ("CREATE TABLE t (k INTEGER, v VARCHAR)", "CREATE VIEW w AS SELECT k, v FROM t")
    with Oracle(lake) as duck:
        duck.run(*make)
        duck.run("CREATE TABLE later (k INTEGER)")
    migrate(lake)
    lake.run(
        "INSERT INTO ducklake_view_column_tag VALUES "
        "(2, 'K', 2, 3, 'comment', 'old'), (2, 'K', 3, NULL, 'comment', 'the key'), "
        "(2, 'v', 2, NULL, 'other', 'not a comment'), (9, 'k', 2, NULL, 'comment', 'not its own')"
    )
    with lake.open(read_only=True) as catalog:
        for version, comment in ((2, "old"), (3, "the key")):
            view = catalog.at(version).view("w")
            assert view == next(iter(catalog.at(version).views("main")))
            assert (view.column_comment("k"), view.column_comment("v")) == (comment, None)


def test_tables_of_nested_schemas_are_not_taken_for_others(lake: LakeAddress) -> None:
    with Oracle(lake) as duck:
        duck.run(
            "CREATE SCHEMA sales", "CREATE SCHEMA europe", "CREATE SCHEMA asia",
            "CREATE TABLE europe.t (k INTEGER)", "INSERT INTO europe.t VALUES (1)",
            "CREATE TABLE asia.t (k INTEGER)", "INSERT INTO asia.t VALUES (2)",
        )  # fmt: skip
    migrate(lake)
    # sales.europe beside europe, and sales.nowhere
    lake.run(
        "UPDATE ducklake_schema SET parent_schema_id = 1, schema_name = 'europe' "
        "WHERE schema_name = 'asia'",
        "INSERT INTO ducklake_schema (schema_id, begin_snapshot, schema_name, path, "
        "path_is_relative, parent_schema_id) VALUES (99, 2, 'nowhere', 'x/', "
        f"{'1' if lake.kind == 'sqlite' else 'true'}, 1)",
    )
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        assert [schema.name for schema in reader.schemas()] == ["main", "sales", "europe"]
        assert [row.values for row in reader.inlined_rows(reader.table("europe.t"))] == [{1: 1}]
        with pytest.raises(UnsupportedFeatureError, match="'nowhere' is nested in another"):
            reader.table("nowhere.t")
        with pytest.raises(UnsupportedFeatureError, match="'nowhere' is nested in another"):
            catalog.transaction().table("nowhere.t")
        assert catalog.usage() is not None
        assert [fault.fault for fault in catalog.faults() if "name" in fault.fault] == []


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


def test_the_doctor_writes_no_probe_into_a_lake_that_is_read_only(tmp_path: Path) -> None:
    lake = file_lake("sqlite", tmp_path)
    _small_lake(lake)
    attached = Attached("", lake.catalog)
    assert [found.subject for found in _look_at_lake(attached, None)] == [
        "catalog",
        "data path, from here",
    ]
    migrate(lake)
    (found,) = _look_at_lake(attached, None)
    assert str(found) == "catalog: [OK] DuckLake 1.1 (read only), at snapshot 2"


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
