"""Our side of an object store: a lake's files on an S3 that runs on this machine."""

from __future__ import annotations

import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.errors import CatalogDamagedError
from ducklake_spark.maintain import (
    cleanup_old_files,
    delete_orphaned_files,
    expire_snapshots,
    verify,
)
from ducklake_spark.spec.file_names import marked_uuid
from ducklake_spark.spec.model import DataFile
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.storage.delete_files import read_delete_file, stage_delete
from ducklake_spark.storage.filesystem import (
    list_files,
    locate,
    move_file,
    remove_file,
    remove_tree,
)
from ducklake_spark.storage.footers import describe_file
from ducklake_spark.storage.recorded import _WORTH_LISTING, check_sizes

moto = pytest.importorskip("moto.server", reason="moto comes with the dev extra")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    name = f"lake-{uuid.uuid4().hex[:12]}"
    with urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{name}", method="PUT")):
        return name


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_files_are_listed_moved_and_removed_whatever_their_names(bucket: str, scheme: str) -> None:
    folder = f"{scheme}://{bucket}/data/main/t/"
    file_system, inner = locate(f"{folder}a b%20=é.parquet")
    with file_system.open_output_stream(inner) as out:
        out.write(b"x")
    assert list_files(folder) == ["a b%20=é.parquet"]
    move_file(f"{folder}a b%20=é.parquet", f"{folder}k=1%2F/z.parquet")
    assert list_files(folder) == ["k=1%2F/z.parquet"]
    remove_file(f"{folder}k=1%2F/z.parquet")
    remove_file(f"{folder}k=1%2F/z.parquet")
    assert list_files(folder) == []
    remove_tree(folder)
    remove_tree(f"{folder}never/")


def test_a_lake_on_s3_takes_files_and_deletes(bucket: str, tmp_path: Path) -> None:
    data_path = f"s3://{bucket}/lake/"
    with Catalog.open(f"sqlite:{tmp_path}/catalog.sqlite", data_path=data_path) as catalog:
        with catalog.transaction() as tx:
            table = tx.create_table("t", [Field("id", "int64")])
        with catalog.transaction() as tx:
            table = tx.table("t")
            path = StoredPath("ducklake-one.parquet")
            file_system, inner = locate(path.under(table.location))
            pq.write_table(pa.table({"id": [1, 2, 3]}), inner, filesystem=file_system)
            new = describe_file(table.location, path, table.columns)
            assert (new.record_count, new.stats[0].max_value) == (3, "3")
            tx.add_files("t", [new])
        for position in (1, 2):
            with catalog.transaction() as tx:
                (file,) = tx.files(tx.table("t"))
                staged = stage_delete(table, file, [position], tx.snapshot.id + 1)
                tx.delete_rows("t", {file.id: staged})
        reader = catalog.at()
        (file,) = reader.files(reader.table("t"))
        assert file.path == f"{data_path}main/t/ducklake-one.parquet"
        assert file.delete_file is not None
        assert read_delete_file(file.delete_file)["pos"].to_pylist() == [1, 2]
        assert len(list_files(f"{data_path}main/t/")) == 3


def test_upkeep_on_s3(bucket: str, tmp_path: Path) -> None:
    with_id = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    data_path = f"s3://{bucket}/lake/"
    with Catalog.open(f"sqlite:{tmp_path}/catalog.sqlite", data_path=data_path) as catalog:
        with catalog.transaction() as tx:
            table = tx.create_table("t", [Field("id", "int64")])
        for number, name in enumerate(("a b%20=é", "two")):
            path = StoredPath(f"ducklake-{name}.parquet")
            file_system, inner = locate(path.under(table.location))
            rows = pa.table({"id": [number]}, schema=pa.schema([with_id]))
            pq.write_table(rows, inner, filesystem=file_system)
            with catalog.transaction() as tx:
                table = tx.table("t")
                tx.truncate("t")
                tx.add_files("t", [describe_file(table.location, path, table.columns)])
        staged = f"main/t/ducklake-{marked_uuid(table.mark)}/"
        names = [f"{staged}part-0.parquet", "inner.files/main/t/ducklake-two.parquet"]
        for beside in (*(f"lake/{name}" for name in names), "other/theirs.parquet"):
            file_system, inner = locate(f"s3a://{bucket}/{beside}")
            with file_system.open_output_stream(inner) as out:
                out.write(b"PAR1")
        assert delete_orphaned_files(catalog) == []
        rows = delete_orphaned_files(catalog, cleanup_all=True)
        assert {row.path.removeprefix(data_path): row.action for row in rows} == {
            staged: "delete", names[0]: "delete", names[1]: "keep: unknown"
        }  # fmt: skip
        # Not even the empty object is left that stands for a folder.
        file_system, inner = locate(data_path + staged.rstrip("/"))
        assert file_system.get_file_info(inner).type == fs.FileType.NotFound
        expire_snapshots(catalog, older_than="0s")
        (cleaned,) = cleanup_old_files(catalog, cleanup_all=True)
        assert (cleaned.path, cleaned.action) == (
            f"{data_path}main/t/ducklake-a b%20=é.parquet", "delete"
        )  # fmt: skip
        assert list_files(f"{data_path}main/t/") == ["ducklake-two.parquet"]
        assert list_files(f"s3://{bucket}/other/") == ["theirs.parquet"]
        assert verify(catalog) == []
        remove_file(f"{data_path}main/t/ducklake-two.parquet")
        (fault,) = verify(catalog)
        assert (fault.fault, fault.relation) == ("file-missing", "main.t")


def test_an_object_that_is_larger_than_recorded_is_an_error(bucket: str) -> None:
    path = f"s3a://{bucket}/data/main/t/ducklake-one.parquet"
    file_system, inner = locate(path)
    with file_system.open_output_stream(inner) as out:
        out.write(b"x" * 100)
    for _ in range(2):  # the second time without a request
        check_sizes([_recorded(path, 100), _recorded(f"{path}.lost", 1)], "main.t")
        with pytest.raises(CatalogDamagedError, match=r"one\.parquet of main\.t has 100 bytes"):
            check_sizes([_recorded(path, 99)], "main.t")


def test_many_objects_of_a_folder_are_listed(bucket: str) -> None:
    folder = f"s3://{bucket}/data/main/t"
    paths = [f"{folder}/part-{at}.parquet" for at in range(_WORTH_LISTING + 1)]
    for path in paths:
        file_system, inner = locate(path)
        with file_system.open_output_stream(inner) as file:
            file.write(b"x" * 100)
    check_sizes([_recorded(path, 100) for path in [*paths, f"{folder}/lost"]], "main.t")
    with pytest.raises(CatalogDamagedError, match="part-7"):
        check_sizes([_recorded(paths[7], 99)], "main.t")


def _recorded(path: str, size: int) -> DataFile:
    return DataFile(
        id=1,
        path=path,
        record_count=1,
        file_size_bytes=size,
        footer_size=None,
        row_id_start=0,
        begin_snapshot=1,
    )
