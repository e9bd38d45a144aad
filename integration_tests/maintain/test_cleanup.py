"""Files go once nothing needs them, and no others."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.errors import ConfigError
from ducklake_spark.maintain import cleanup_old_files, delete_orphaned_files, expire_snapshots
from ducklake_spark.spec.file_names import marked_uuid
from ducklake_spark.spec.names import uuid7
from support.lakes import LakeAddress
from support.oracle import Oracle, duck_runs
from support.parquet import append
from support.shared_duck import SharedDuck

MakeLake = Callable[[str], LakeAddress]
_DAY_S = 86_400


@pytest.fixture
def sqlite(make_lake: MakeLake) -> LakeAddress:
    return make_lake("sqlite")


def _with_rows(lake: LakeAddress) -> Catalog:
    catalog = lake.open()
    with catalog.transaction() as tx:
        tx.create_table("t", [Field("id", "int32")])
        append(tx, "t", [{"id": 1}])
    return catalog


def _replaced(lake: LakeAddress) -> tuple[Catalog, Path]:
    """A lake with one file that is scheduled for deletion."""
    catalog = _with_rows(lake)
    with catalog.transaction() as tx:
        tx.truncate("t")
        append(tx, "t", [{"id": 2}])
    expire_snapshots(catalog, older_than="0s")
    (scheduled,) = catalog.scheduled_files()
    return catalog, Path(scheduled.path)


def _aged(path: Path, days: float) -> Path:
    """A file that was there so long ago already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_bytes(b"PAR1")
    then = time.time() - days * _DAY_S
    os.utime(path, (then, then))
    return path


def _orphans(catalog: Catalog, **arguments: object) -> list[str]:
    rows = delete_orphaned_files(catalog, **arguments)  # type: ignore[arg-type]
    return sorted(row.path for row in rows if row.action == "delete")


# --- scheduled files ---


def test_scheduled_files_wait_until_no_query_reads_them(lake: LakeAddress) -> None:
    catalog, path = _replaced(lake)
    with catalog:
        assert cleanup_old_files(catalog) == []
        assert cleanup_old_files(catalog, older_than="1 hour") == []
        (planned,) = cleanup_old_files(catalog, older_than=datetime.timedelta(0), dry_run=True)
        assert cleanup_old_files(catalog, cleanup_all=True, dry_run=True) == [planned]
        assert (planned.path, planned.action) == (str(path), "delete")
        assert path.exists()
        assert cleanup_old_files(catalog, cleanup_all=True) == [planned]
        assert not path.exists()
        assert cleanup_old_files(catalog, cleanup_all=True) == []
    with Oracle(lake) as duck:
        assert duck.rows("FROM t") == [(2,)]


def test_the_option_says_how_long(sqlite: LakeAddress) -> None:
    catalog, path = _replaced(sqlite)
    with catalog:
        with catalog.transaction() as tx:
            tx.set_option("delete_older_than", "0 seconds")
        assert [row.path for row in cleanup_old_files(catalog)] == [str(path)]


def test_a_file_that_is_gone_is_no_reason_to_fail(sqlite: LakeAddress) -> None:
    catalog, path = _replaced(sqlite)
    with catalog:
        path.unlink()
        assert len(cleanup_old_files(catalog, cleanup_all=True)) == 1
        assert catalog.scheduled_files() == []


def test_a_file_in_use_or_elsewhere_stays(sqlite: LakeAddress, tmp_path: Path) -> None:
    outside = _aged(tmp_path / "outside.parquet", 9)
    catalog = _with_rows(sqlite)
    with catalog:
        (needed,) = catalog.named_files()
        # As the reference could leave it: a file of another path, and one that is needed still.
        escape = f"main/../../{outside.parent.name}/../../{outside.relative_to('/')}"
        for at, (path, is_relative) in enumerate(
            [(str(outside), 0), (needed, 0), (f"file://{needed}", 0), (f"../../{outside.name}", 1),
             (escape, 1)]
        ):  # fmt: skip
            sqlite.sql(
                "INSERT INTO ducklake_files_scheduled_for_deletion VALUES "
                f"({100 + at}, '{path}', {is_relative}, '2020-01-01 00:00:00+00')"
            )
        actions = {row.action for row in cleanup_old_files(catalog)}
        assert actions == {"keep: in use", "keep: outside the data path"}
        assert catalog.scheduled_files() == []
    assert outside.exists()
    with Oracle(sqlite) as duck:
        assert duck.rows("FROM t") == [(1,)]


def test_no_link_leads_out(sqlite: LakeAddress, tmp_path: Path) -> None:
    outside = _aged(tmp_path / "elsewhere" / "theirs.parquet", 9)
    with _with_rows(sqlite) as catalog:
        (Path(sqlite.data_path) / "main" / "link").symlink_to(outside.parent)
        sqlite.sql(
            "INSERT INTO ducklake_files_scheduled_for_deletion VALUES "
            "(9, 'main/link/theirs.parquet', 1, '2020-01-01 00:00:00+00')"
        )
        (row,) = cleanup_old_files(catalog)
        assert row.action == "keep: outside the data path"
    assert outside.exists()


# --- orphans ---


def test_orphans_go_by_their_age(lake: LakeAddress) -> None:
    with _with_rows(lake) as catalog:
        mark = catalog.at().table("t").mark
        table = Path(lake.data_path, "main/t")
        staged, running = (table / f"ducklake-{marked_uuid(mark)}" for _ in range(2))
        old = _aged(staged / "part-0.parquet", 3)
        checksum = _aged(staged / ".part-0.parquet.crc", 3)
        attempt = _aged(staged / "_temporary/0/part-1", 3)
        young = _aged(running / "part-0.parquet", 1)
        note = _aged(table / "notes.txt", 30)
        for folder in (attempt.parent, attempt.parent.parent, staged):
            _aged(folder, 3)
        expected = sorted(map(str, (old, checksum, attempt)))
        expected += [f"{f}/" for f in (staged, attempt.parent.parent, attempt.parent)]
        assert _orphans(catalog, dry_run=True) == sorted(expected)
        assert old.exists()
        assert _orphans(catalog, older_than="12 hours", dry_run=True) == sorted(
            [*expected, str(young)]
        )
        assert _orphans(catalog) == sorted(expected)
        assert [path.exists() for path in (staged, young, note)] == [False, True, True]
        assert _orphans(catalog, cleanup_all=True) == [f"{running}/", str(young)]
    with Oracle(lake) as duck:
        assert duck.rows("FROM t") == [(1,)]


def _live_files(lake: LakeAddress) -> list[str]:
    """All data files that the lake has, long since written."""
    with lake.open() as catalog:
        files = sorted(catalog.named_files())
    for path in files:
        _aged(Path(path), 30)
    return files


def _kept(catalog: Catalog, **arguments: Any) -> dict[str, str]:
    """Carry out the removal, and return the action for each file."""
    planned = delete_orphaned_files(catalog, dry_run=True, cleanup_all=True, **arguments)
    done = delete_orphaned_files(catalog, cleanup_all=True, **arguments)
    assert done == planned
    return {row.path: row.action for row in done}


def test_files_of_a_nested_lake_stay(sqlite: LakeAddress) -> None:
    """The default data path of a DuckDB catalog is a folder beside it."""
    with _with_rows(sqlite) as catalog:
        inner = LakeAddress(
            "duckdb",
            f"{sqlite.data_path}inner.ducklake",
            f"{sqlite.data_path}inner.ducklake.files/",
        )
        _with_rows(inner).close()
        duck_runs(inner, "CREATE TABLE u AS SELECT range AS id FROM range(100)")
        theirs = _live_files(inner)
        for exclusive in (False, True):
            found = _kept(catalog, exclusive_data_path=exclusive)
            assert found == dict.fromkeys(theirs, "keep: unknown")
    with Oracle(inner) as duck:
        assert duck.rows("FROM t") == [(1,)]
        assert duck.value("SELECT count(*) FROM u") == 100


def test_files_of_another_lake_in_the_same_folders_stay(make_lake: MakeLake) -> None:
    first, second = make_lake("sqlite"), make_lake("duckdb")
    second = LakeAddress(second.kind, second.catalog, first.data_path)
    with _with_rows(first) as catalog:
        _with_rows(second).close()
        duck_runs(second, "CREATE TABLE u AS SELECT range AS id FROM range(100)",
                  "INSERT INTO t SELECT range + 2 FROM range(99)")  # fmt: skip
        theirs = _live_files(second)
        assert _kept(catalog) == dict.fromkeys(theirs, "keep: unknown")
    with Oracle(second) as duck:
        assert duck.rows("SELECT count(*), sum(id) FROM t") == [(100, 5050)]
        assert duck.value("SELECT count(*) FROM u") == 100


def test_parquet_files_of_users_and_copies_of_ours_stay(sqlite: LakeAddress) -> None:
    with _with_rows(sqlite) as catalog:
        (ours,) = (Path(path) for path in catalog.named_files())
        table = Path(sqlite.data_path, "main/t")
        kept = [
            _aged(path, 30)
            for path in (
                table / "export.parquet",
                table / "copies" / ours.name,
                table.parent / "t_backup" / ours.name,
                Path(sqlite.data_path, "raw/2024/part-0.parquet"),
                Path(sqlite.data_path, f"ducklake-{uuid7()}.parquet"),
            )
        ]
        for exclusive in (False, True):
            found = _kept(catalog, exclusive_data_path=exclusive)
            assert found == {str(path): "keep: unknown" for path in kept}
        assert all(path.exists() for path in kept)


def test_files_of_a_stopped_duckdb_go_if_no_other_lake_uses_the_data_path(
    sqlite: LakeAddress,
) -> None:
    """Their names do not tell which lake DuckDB wrote them for."""
    with _with_rows(sqlite) as catalog:
        table = Path(sqlite.data_path, "main/t")
        lost = [
            _aged(path, 30)
            for path in (
                table / f"ducklake-{uuid7()}.parquet",
                table / f"ducklake-{uuid7()}-delete.parquet",
                table / f"ducklake-{uuid7()}-delete.puffin",
                table / "k=1/s=a%20b" / f"ducklake-{uuid7()}.parquet",
                table / f"ducklake-{uuid7()}" / "part-0.parquet",
            )
        ]
        assert _kept(catalog) == {str(path): "keep: unknown" for path in lost}
        found = _kept(catalog, exclusive_data_path=True)
        folders = [lost[3].parent, lost[3].parent.parent, lost[4].parent]
        assert found == dict.fromkeys([*map(str, lost), *(f"{f}/" for f in folders)], "delete")
        assert sorted(map(str, table.iterdir())) == sorted(catalog.named_files())


def test_empty_folders_go_if_they_are_the_lakes(sqlite: LakeAddress) -> None:
    with _with_rows(sqlite) as catalog:
        table = Path(sqlite.data_path, "main/t")
        ours = [table / "k=1/j=2", table / "k=1", table / f"ducklake-{marked_uuid(_mark(catalog))}"]
        others = [Path(sqlite.data_path, name) for name in ("inbox", "main/new", "main/t/other")]
        linked = table / "k=2"
        for folder in (*reversed(ours), *others, linked):
            folder.mkdir()
        (linked / "link").symlink_to(others[0])
        assert delete_orphaned_files(catalog) == []
        assert _kept(catalog) == dict.fromkeys((f"{path}/" for path in ours), "delete")
        assert all(path.exists() for path in (*others, linked))
        assert not any(path.exists() for path in ours)


def test_the_folder_of_a_table_that_was_never_committed_goes(sqlite: LakeAddress) -> None:
    with _with_rows(sqlite) as catalog:
        for name in ("main/written", "main/interrupted", "main/written/k=1"):
            Path(sqlite.data_path, name).mkdir()
        mark = f"{catalog.lake_id}/main/written/"
        _aged(Path(sqlite.data_path, f"main/written/k=1/ducklake-{marked_uuid(mark)}.parquet"), 30)
        mark = f"{catalog.lake_id}/main/interrupted/"
        Path(sqlite.data_path, f"main/interrupted/ducklake-{marked_uuid(mark)}/_temporary/0").mkdir(
            parents=True
        )
        delete_orphaned_files(catalog, cleanup_all=True)
        assert [path.name for path in Path(sqlite.data_path, "main").iterdir()] == ["t"]


def _mark(catalog: Catalog) -> str:
    return catalog.at().table("t").mark


def test_checksums_beside_files_of_the_lake_go(sqlite: LakeAddress) -> None:
    """Hadoop wrote them beside the files of earlier versions."""
    with _with_rows(sqlite) as catalog:
        (ours,) = (Path(path) for path in catalog.named_files())
        checksum = _aged(ours.with_name(f".{ours.name}.crc"), 30)
        theirs = _aged(ours.with_name(".export.parquet.crc"), 30)
        assert _kept(catalog) == {str(checksum): "delete"}
        assert theirs.exists()
        assert ours.exists()


def test_folders_go_with_their_last_file(sqlite: LakeAddress) -> None:
    catalog, path = _replaced(sqlite)
    with catalog, catalog.transaction() as tx:
        tx.drop_table("t")
    with catalog:
        expire_snapshots(catalog, older_than="0s")
        theirs = Path(sqlite.data_path, "main/kept")
        theirs.mkdir()
        cleanup_old_files(catalog, cleanup_all=True)
        assert not path.parent.exists()
        assert theirs.exists()


def test_a_folder_that_changed_of_late_stays(sqlite: LakeAddress) -> None:
    """Another writer may have made it a moment ago, and not yet the file in it."""
    catalog, path = _replaced(sqlite)
    with catalog:
        with catalog.transaction() as tx:
            tx.drop_table("t")
        expire_snapshots(catalog, older_than="0s")
        sqlite.sql("UPDATE ducklake_files_scheduled_for_deletion SET schedule_start = '2020-01-01'")
        assert {row.action for row in cleanup_old_files(catalog)} == {"delete"}
        assert list(path.parent.iterdir()) == []


def test_whatever_a_row_names_is_no_orphan(make_lake: MakeLake, tmp_path: Path) -> None:
    """By a relative path, a complete one, through a link, with odd characters, or scheduled."""
    lake = make_lake("sqlite")
    data = Path(lake.data_path)
    link = tmp_path / "link"
    with SharedDuck(lake) as duck:
        duck.run(
            "CALL lake.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE t (a INTEGER, s VARCHAR)",
            "ALTER TABLE t SET PARTITIONED BY (s)",
            "INSERT INTO t VALUES (1, 'a b/c%20é'), (2, NULL)",
            "CREATE TABLE u AS SELECT range AS a FROM range(100)",
            "DELETE FROM u WHERE a < 50",
            "DELETE FROM u WHERE a < 60",
        )
        for name in ("v", "w", "x"):
            folder = data / f"main/t/nested/{name}"
            folder.mkdir(parents=True)
            duck.run(f"COPY (SELECT 1 AS a) TO '{folder}/{name}.parquet'")
        link.symlink_to(data)
        duck.run(
            "CREATE TABLE y (a INTEGER)",
            f"CALL ducklake_add_data_files('lake', 'y', '{data}//main/t/nested/v/../v/v.parquet')",
            f"CALL ducklake_add_data_files('lake', 'y', '{link}/main/t/nested/w/w.parquet')",
            f"CALL ducklake_add_data_files('lake', 'y', 'file://{data}/main/t/nested/x/x.parquet')",
        )
    for path in data.rglob("*.parquet"):
        _aged(path, 30)
    with lake.open() as catalog:
        name = f"ducklake-{marked_uuid(_mark(catalog))}.parquet"
        lost = _aged(data / "main/t/s=a%20b%2Fc%2520%C3%A9" / name, 30)
        assert _orphans(catalog) == [str(lost)]
        assert _orphans(catalog, cleanup_all=True) == []
    with Oracle(lake) as duck:
        assert [duck.value(f"SELECT sum(a) FROM {name}") for name in "tuy"] == [3, 3180, 3]
        duck.rows("FROM u AT (VERSION => 7)")


def test_links_are_neither_followed_nor_removed(sqlite: LakeAddress, tmp_path: Path) -> None:
    outside = _aged(tmp_path / "elsewhere" / "theirs.parquet", 30)
    with _with_rows(sqlite) as catalog:
        data = Path(sqlite.data_path)
        (data / "main/folder").symlink_to(outside.parent)
        (data / "main/file.parquet").symlink_to(outside)
        assert _orphans(catalog, cleanup_all=True) == []
    assert outside.exists()
    assert (data / "main/file.parquet").exists()


def test_a_data_path_that_is_a_link(make_lake: MakeLake, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "linked").symlink_to(real)
    plain = make_lake("sqlite")
    lake = LakeAddress(plain.kind, plain.catalog, f"{tmp_path}/linked/")
    catalog, path = _replaced(lake)
    with catalog:
        lost = _aged(real / f"main/t/ducklake-{marked_uuid(_mark(catalog))}.parquet", 30)
        assert len(_orphans(catalog, cleanup_all=True)) == 1
        assert not lost.exists()
        (row,) = cleanup_old_files(catalog, cleanup_all=True)
        assert row.action == "delete"
        assert not path.exists()
    with Oracle(lake) as duck:
        assert duck.rows("FROM t") == [(2,)]


@pytest.mark.parametrize("operation", [cleanup_old_files, delete_orphaned_files])
def test_nonsense_is_refused(sqlite: LakeAddress, operation: Callable[..., object]) -> None:
    with _with_rows(sqlite) as catalog:
        with pytest.raises(ConfigError, match="7 days"):
            operation(catalog, older_than="last week")
        with pytest.raises(ConfigError, match="not both"):
            operation(catalog, older_than="1 day", cleanup_all=True)
