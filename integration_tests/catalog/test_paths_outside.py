"""Paths in a catalog that lead out of the data path need the setting allow_paths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.catalog import Catalog
from ducklake_spark.errors import ConfigError, PathOutsideLakeError
from ducklake_spark.files import add_data_files, truncate
from ducklake_spark.maintain import list_files, table_info, verify
from support.lakes import LakeAddress
from support.oracle import Oracle, duck_runs

MakeLake = Callable[[str], LakeAddress]
OUTSIDE = [
    ("/etc/hostname", False),
    ("file:///etc/hostname", False),
    ("FILE:/etc/hostname", False),
    ("../../../etc/hostname", True),
    ("x/../../../../secret.parquet", True),
    ("%2e%2e/%2e%2e/%2e%2e/secret.parquet", True),
    ("..\\..\\..\\secret.parquet", True),
    ("s3://elsewhere/secret.parquet", False),
    ("http://127.0.0.1/secret.parquet", False),
    ("{data}../secret.parquet", False),
    ("{data}/../data2/secret.parquet", False),
]


@pytest.fixture
def lake(make_lake: MakeLake) -> LakeAddress:
    lake = make_lake("sqlite")
    duck_runs(
        lake,
        "CALL lake.set_option('data_inlining_row_limit', 0)",
        "CREATE SCHEMA s",
        "CREATE TABLE s.t AS SELECT i AS id FROM range(20000) r(i)",
        "DELETE FROM s.t WHERE id = 3",
        "INSERT INTO s.t SELECT i FROM range(20000) r(i)",
    )
    return lake


def _open(lake: LakeAddress, *allowed: str) -> Catalog:
    return lake.open(allow_paths=allowed)


def _set_path(lake: LakeAddress, table: str, path: str, is_relative: bool) -> None:
    path = path.replace("{data}", lake.data_path.rstrip("/"))
    key = f"{table.removeprefix('ducklake_')}_id"
    lake.sql(
        f"UPDATE {table} SET path = '{path}', path_is_relative = {int(is_relative)} "
        f"WHERE {key} = (SELECT max({key}) FROM {table})"
    )


@pytest.mark.parametrize("table", ["ducklake_data_file", "ducklake_delete_file"])
def test_files_outside_are_not_read(lake: LakeAddress, table: str) -> None:
    assert lake.sql(f"SELECT count(*) FROM {table}") != [(0,)]
    for path, is_relative in OUTSIDE:
        _set_path(lake, table, path, is_relative)
        with _open(lake) as catalog:
            reader = catalog.at()
            found = reader.table("s.t")
            with pytest.raises(PathOutsideLakeError, match=r"allow_paths: \['"):
                reader.files(found)
            with pytest.raises(PathOutsideLakeError, match=r"allow_paths: \['"):
                reader.changes(found, 0)
            with catalog.transaction() as tx, pytest.raises(PathOutsideLakeError):
                tx.files(tx.table("s.t"))
            assert "path-not-allowed" in {fault.fault for fault in verify(catalog)}


def test_files_outside_are_reported_and_truncated(lake: LakeAddress) -> None:
    duck_runs(lake, "CREATE TABLE other AS SELECT 1 AS id")
    _set_path(lake, "ducklake_data_file", "/elsewhere/a.parquet", False)
    with _open(lake) as catalog:
        reader = catalog.at()
        assert [row.file_count for row in table_info(reader)] == [1, 2]
        paths = [row.data_file for row in list_files(reader, table_name="other", schema="main")]
        assert paths == ["/elsewhere/a.parquet"]
        with catalog.transaction() as tx:
            truncate(tx, "other")
        assert catalog.at().files(catalog.at().table("other")) == []
    with Oracle(lake) as duck:
        assert duck.rows("FROM other") == []


@pytest.mark.parametrize("table", ["ducklake_table", "ducklake_schema"])
def test_folders_outside_are_not_used(lake: LakeAddress, table: str) -> None:
    for path, is_relative in OUTSIDE:
        _set_path(lake, table, f"{path}/", is_relative)
        with _open(lake) as catalog:
            with pytest.raises(PathOutsideLakeError, match=r"allow_paths: \['"):
                catalog.at().table("s.t")
            if table == "ducklake_schema":
                with catalog.transaction() as tx, pytest.raises(PathOutsideLakeError):
                    tx.create_table("s.u", [])


def test_what_a_user_allows_is_read(lake: LakeAddress, tmp_path: Path) -> None:
    folder = tmp_path / "allowed"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1, 2]}), folder / "a.parquet")
    duck_runs(
        lake, f"CALL ducklake_add_data_files('lake', 't', '{folder}/a.parquet', schema => 's')"
    )
    for allowed in (f"{folder}", f"{folder}/", f"{folder}/../allowed", f"file://{folder}",
                    f"{folder}/a.parquet", "/"):  # fmt: skip
        with _open(lake, "/elsewhere", allowed) as catalog:
            reader = catalog.at()
            assert f"{folder}/a.parquet" in {f.path for f in reader.files(reader.table("s.t"))}
    for allowed in (f"{folder}2", f"{folder}/b.parquet", f"{folder}/a.parquet2"):
        with _open(lake, allowed) as catalog, pytest.raises(PathOutsideLakeError) as caught:
            catalog.at().files(catalog.at().table("s.t"))
        assert f"allow_paths: ['{folder}']" in str(caught.value)


def test_files_can_be_added_where_they_may_be_read(lake: LakeAddress, tmp_path: Path) -> None:
    outside, inside = tmp_path / "a.parquet", Path(lake.data_path) / "added" / "b.parquet"
    inside.parent.mkdir()
    for path in (outside, inside):
        pq.write_table(pa.table({"id": [1, 2]}), path)
    with _open(lake) as catalog:
        with catalog.transaction() as tx:
            add_data_files(tx, "s.t", str(inside))
        with catalog.transaction() as tx, pytest.raises(PathOutsideLakeError, match="allow_paths"):
            add_data_files(tx, "s.t", str(outside))
    with _open(lake, str(tmp_path)) as catalog:
        with catalog.transaction() as tx:
            add_data_files(tx, "s.t", str(outside))
        assert len(catalog.at().files(catalog.at().table("s.t"))) == 4


def test_links_are_followed(lake: LakeAddress, tmp_path: Path) -> None:
    """Whoever made a link in the data path could write there anyway."""
    elsewhere = tmp_path / "elsewhere"
    (Path(lake.data_path) / "s").rename(elsewhere)
    (Path(lake.data_path) / "s").symlink_to(elsewhere)
    with _open(lake) as catalog:
        assert len(catalog.at().files(catalog.at().table("s.t"))) == 2


@pytest.mark.parametrize("path", ["", " ", 7])
def test_what_is_not_a_path_cannot_be_allowed(lake: LakeAddress, path: object) -> None:
    with pytest.raises(ConfigError, match="allow_paths"):
        lake.open(allow_paths=[path])
