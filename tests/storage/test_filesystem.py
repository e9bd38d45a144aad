"""Paths reach the file system they are on as the catalog spells them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs

from ducklake_spark.storage.filesystem import locate


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
