"""Paths reach the file system they are on as the catalog spells them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs

from ducklake_spark.errors import StorageError
from ducklake_spark.storage.failures import files_of
from ducklake_spark.storage.filesystem import locate, remove_tree
from ducklake_spark.storage.footers import read_footer


@pytest.mark.parametrize("prefix", ["", "file:", "file://", "file://localhost"])
def test_a_local_path_is_found_with_and_without_its_scheme(tmp_path: Path, prefix: str) -> None:
    file = tmp_path / "k=a%20b" / "x y.parquet"
    file.parent.mkdir()
    file.write_bytes(b"12345")
    file_system, path = locate(f"{prefix}{file}")
    assert isinstance(file_system, fs.LocalFileSystem)
    assert path == str(file)
    assert file_system.get_file_info(path).size == 5


def test_percent_signs_in_the_key_of_an_object_stay_what_they_are() -> None:
    """DuckDB encodes partition values in names of files; decoded, they are other objects."""
    file_system, path = locate("gs://bucket/lake/k=a%20b%2Fc/x y.parquet")
    assert isinstance(file_system, fs.GcsFileSystem)
    assert path == "bucket/lake/k=a%20b%2Fc/x y.parquet"
    assert locate("gs://bucket")[1] == "bucket"


def test_a_file_that_is_gone_is_told_with_whose_it_is(tmp_path: Path) -> None:
    path = f"{tmp_path}/gone.parquet"
    with pytest.raises(StorageError) as caught, files_of("other"), files_of("main.t"):
        read_footer(path)
    assert caught.value.is_missing
    assert caught.value.message == f"{path!r} of main.t is not there."
    assert "backup" in (caught.value.hint or "")


def test_what_a_file_system_refuses_is_told_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"no Parquet file at all")
    with pytest.raises(StorageError, match=r"cannot be read: .*magic bytes.*damaged") as caught:
        read_footer(str(file))
    assert not caught.value.is_missing
    with pytest.raises(StorageError, match=r"cannot be removed: .*try again"):
        remove_tree(f"{file}/")
    with pytest.raises(StorageError, match="'nope://bucket' cannot be opened"):
        locate("nope://bucket/x")
