"""Paths: what lies inside a lake, however it is spelled, and what only looks as if it did."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.errors import PathOutsideLakeError
from ducklake_spark.spec.paths import (
    StoredPath,
    as_directory,
    canonical,
    is_inside,
    is_remote,
    join,
    local_path,
    relative_to,
    stored_below,
)

LOCAL, REMOTE = "/data/lake", "s3://bucket/lake"

INSIDE_LOCAL = [
    "/data/lake/f.parquet", "/data/lake//f.parquet", "/data/lake/./f.parquet", "/data//lake/f",
    "//data/lake/f", "///data/lake/f", "/data/./lake/f", "/data/lake/t/../f",
    "/data/../data/lake/f",
    "/x/../data/lake/f", "/../data/lake/f", "/data/lake/t/", "/data/lake/...", "/data/lake/..f",
    "/data/lake/f..", "/data/lake/.hidden", "/data/lake/ ", "/data/lake/k=a%20b%2Fc/f",
    "/data/lake/k=%2E/f", "/data/lake/100%/f", "/data/lake/%zz/f", "/data/lake/a\\b",
    "/data/lake/a:b",
    "/data/lake/~/f", "/data/lake/s3://bucket/f", "/data/lake/e\u0301", "/data/lake/new\nline",
    "file:///data/lake/f", "file:/data/lake/f", "FILE:///data/lake/f", "file://localhost/data/lake/f",
    "file:////data/lake/f", "file:///data/lake/../lake/f",
]  # fmt: skip
OUTSIDE_LOCAL = [
    "", ".", "..", "/", "f", "data/lake/f", "./data/lake/f", "/data", "/data/", "/data/lake",
    "/data/lake/", "/data/lake/.", "/data/lake/t/..", "/data/lake2/f", "/data/lake.files/f",
    "/data/lak/f", "/data/lakef", "/data/LAKE/f", "/Data/lake/f", "/data/lake /f",
    "/data/l\u0430ke/f",
    "/data/lake/../f", "/data/lake/../lake2/f", "/data/lake/../../etc/passwd",
    "/data/lake/t/../../f",
    "/data/lake/./../f", "/data/lake//../f", "/data/lake/..", "/data/lake/../", "/etc/passwd",
    "/data/lake/..%2ff", "/data/lake/..%2F..%2Fetc/passwd", "/data/lake/%2e%2e/f",
    "/data/lake/%2E%2E%2ff", "/data/lake/%252e%252e/f", "/data/lake/%25252e%25252e%25252ff",
    "/data/lake/%2e%2e/x/%252e%252e/lake/f", "/data/lake%2f../f", "/data/lake/t%2f..%2f..%2ff",
    "/data%2flake/f", "%2fdata%2flake/f", "/data/lake/..\\f", "/data/lake/..\\..\\etc",
    "\\data\\lake\\f",
    "/data\\lake/f", "/data/lake\\..\\f", "/data/lake\\f", "/data/lake/%5c..%5c..%5c..%5cf",
    "/data/lake/..%5cf", "/data/lake/f\x00/../../../etc", "/data/lake/f%00", "s3://data/lake/f",
    "s3:///data/lake/f", "http://data/lake/f", "file://data/lake/f", "file://host/data/lake/f",
    "file:data/lake/f", "file://localhost.evil/data/lake/f", "file://localhost:80/data/lake/f",
    "~/data/lake/f", "C:/data/lake/f", "/data/lake/../%6cake2/f",
]  # fmt: skip
INSIDE_REMOTE = [
    "s3://bucket/lake/f", "s3a://bucket/lake/f", "s3n://bucket/lake/f", "S3://bucket/lake/f",
    "S3A://bucket/lake/t/f", "s3://bucket/lake//f", "s3://bucket/lake/./f", "s3://bucket/lake/t/../f",
    "s3://bucket/lake/k=a%20b%2Fc/f", "s3://bucket/lake/?f", "s3://bucket/lake/f#1",
    "s3://bucket/lake/t/",
]  # fmt: skip
OUTSIDE_REMOTE = [
    "s3://bucket/lake", "s3://bucket/lake/", "s3://bucket/lake2/f", "s3://bucket/LAKE/f",
    "s3://bucket/f", "s3://bucket", "s3://Bucket/lake/f", "s3://bucket2/lake/f", "s3://bucke/lake/f",
    "s3://bucket/lake/../f", "s3://bucket/lake/../../bucket/lake2/f", "s3://other/../bucket/lake/f",
    "s3://bucket/../other/lake/f", "s3://bucket/lake/..%2ff", "s3://bucket/lake/%2e%2e/f",
    "s3://bucket/lake/..\\f", "s3://bucket//lake/f", "s3://bucket/./lake/f", "s3:///bucket/lake/f",
    "s3:/bucket/lake/f", "s3:bucket/lake/f", "s3://user@bucket/lake/f", "s3://bucket:443/lake/f",
    "s3://bucket@evil/lake/f", "s3://bucket.evil/lake/f", "gs://bucket/lake/f", "https://bucket/lake/f",
    "/bucket/lake/f", "bucket/lake/f", "file://bucket/lake/f", "s3\\://bucket/lake/f",
    "s3%3a//bucket/lake/f", "s3://bucket%2flake/f", "s3://bucket/lake%2ff", "s3://bucket/lake/f\x00",
]  # fmt: skip


@pytest.mark.parametrize("path", INSIDE_LOCAL)
def test_an_odd_spelling_of_a_local_path_inside_is_inside(path: str) -> None:
    assert is_inside(LOCAL, path)
    assert is_inside(LOCAL + "/", path)
    assert is_inside("file://" + LOCAL, path)


@pytest.mark.parametrize("path", OUTSIDE_LOCAL)
def test_a_local_path_outside_is_outside_however_it_is_spelled(path: str) -> None:
    assert not is_inside(LOCAL, path)
    assert not is_inside(LOCAL + "//", path)
    assert stored_below(LOCAL, path) == StoredPath(path, is_relative=False)


@pytest.mark.parametrize("path", INSIDE_REMOTE)
def test_an_odd_spelling_of_an_object_inside_is_inside(path: str) -> None:
    assert is_inside(REMOTE, path)
    assert is_inside("s3a://bucket/lake/", path)


@pytest.mark.parametrize("path", OUTSIDE_REMOTE)
def test_an_object_outside_is_outside_however_it_is_spelled(path: str) -> None:
    assert not is_inside(REMOTE, path)
    assert stored_below(REMOTE, path) == StoredPath(path, is_relative=False)


_PIECES = st.sampled_from(
    ["data", "lake", "..", ".", "", "%2e%2e", "%2f", "..%2f", "a", "\\..", "..\\", "%5c..", "%252e"]
)


@given(st.lists(_PIECES, max_size=8))
def test_whatever_counts_as_inside_is_inside_for_the_operating_system(pieces: list[str]) -> None:
    path = "/data/lake/" + "/".join(pieces)
    real = os.path.normpath(path)  # what open() gets to where there are no links
    if is_inside(LOCAL, path):
        assert Path(real).is_relative_to(LOCAL)
        assert real != LOCAL


@given(st.lists(st.sampled_from(["a", "b c", "k=%20", ".", "", "%41"]), min_size=1, max_size=6))
def test_a_plain_path_below_the_root_is_stored_relative_and_found_again(pieces: list[str]) -> None:
    path = f"{LOCAL}/{'/'.join(pieces)}/f.parquet"
    stored = stored_below(LOCAL, path)
    assert stored.is_relative
    assert canonical(stored.under(LOCAL)) == canonical(path)


@pytest.mark.parametrize(
    ("root", "path", "relative"),
    [
        ("/data/lake/", "/data/lake/main/t/f.parquet", "main/t/f.parquet"),
        ("/data/lake", "/data/lake//main/./t/f.parquet", "main/t/f.parquet"),
        ("/data/lake", "/data/lake/k=a%20b/f", "k=a%20b/f"),
        ("/data/my%20lake", "/data/my%20lake/f", "f"),
        ("/", "/f", "f"),
        ("file:///data/lake", "file:/data/lake/f", "f"),
        ("s3://bucket/lake/", "s3a://bucket/lake/t/f", "t/f"),
        ("s3://bucket", "s3://bucket/f", "f"),
        ("gs://bucket/lake", "gcs://bucket/lake/f", "f"),
        ("abfss://c@a.dfs.core.windows.net/l", "abfs://c@a.dfs.core.windows.net/l/f", "f"),
    ],
)
def test_a_path_inside_is_stored_by_what_follows_the_root(
    root: str, path: str, relative: str
) -> None:
    assert relative_to(root, path) == relative
    assert stored_below(root, path) == StoredPath(relative)


@pytest.mark.parametrize(
    "path", ["s3://bucket/lake//f", "s3://bucket/lake/./f", "s3://bucket/lake/t/../f"]
)
def test_an_object_with_an_odd_key_stays_the_object_it_is(path: str) -> None:
    assert stored_below(REMOTE, path) == StoredPath(path, is_relative=False)


def test_a_path_outside_has_no_relative_form() -> None:
    with pytest.raises(PathOutsideLakeError, match=r"'/etc/passwd' is not inside '/data/lake'"):
        relative_to(LOCAL, "/etc/passwd")


def test_a_root_whose_name_looks_encoded_holds_its_own_files_only() -> None:
    assert is_inside("/data/a%20b", "/data/a%20b/f")
    assert not is_inside("/data/a%20b", "/data/a b/f")
    assert not is_inside("/data/a b", "/data/a%20b/f")


def test_everything_local_is_inside_the_root_directory_and_nothing_remote() -> None:
    assert is_inside("/", "/etc/passwd")
    assert not is_inside("/", "s3://bucket/f")


@pytest.mark.parametrize(
    ("path", "one_spelling"),
    [
        ("/data//lake/", "/data/lake"), ("/data/./x/../lake", "/data/lake"), ("//data", "/data"),
        ("lake/", "lake"), ("", "."), ("/", "/"), ("/..", "/"), ("/data/a\\b", "/data/a\\b"),
        ("FILE:/data", "/data"), ("file://localhost/data", "/data"),
        ("S3A://bucket/lake/", "s3://bucket/lake"), ("s3n://bucket//lake", "s3://bucket/lake"),
        ("s3://bucket/../../x", "s3://bucket/x"), ("s3://bucket/", "s3://bucket"),
        ("s3://bucket", "s3://bucket"), ("gcs://b/x", "gs://b/x"), ("az://c/x", "abfss://c/x"),
        ("hdfs://nn:8020/x", "hdfs://nn:8020/x"), ("file://host/x", "file://host/x"),
    ],
)  # fmt: skip
def test_paths_have_one_canonical_spelling(path: str, one_spelling: str) -> None:
    assert canonical(path) == one_spelling
    assert canonical(one_spelling) == one_spelling


@pytest.mark.parametrize(
    ("path", "remote"),
    [
        ("s3://b/x", True), ("S3A://b/x", True), ("abfss://c@a/x", True), ("hdfs://n/x", True),
        ("file://host/x", True), ("/data", False), ("data", False), ("C:/data", False),
        ("file:///data", False), ("file:/data", False), ("FILE://localhost/data", False),
        ("./s3://b", False),
    ],
)  # fmt: skip
def test_object_stores_are_told_from_local_files(path: str, remote: bool) -> None:
    assert is_remote(path) == remote


def test_the_scheme_of_local_files_can_be_left_out() -> None:
    for path in ("/data/x", "file:/data/x", "file:///data/x", "File://localhost/data/x"):
        assert local_path(path) == "/data/x"
    assert local_path("s3://b/x") == "s3://b/x"


def test_directories_end_in_one_slash() -> None:
    assert [as_directory(p) for p in ("a", "a/", "a//", "", "/")] == ["a/", "a/", "a/", "", "/"]


def test_paths_are_joined_as_the_catalog_means_them() -> None:
    assert join("/data/lake", "main/t/") == "/data/lake/main/t/"
    assert StoredPath("t/f").under("s3://bucket/lake//") == "s3://bucket/lake/t/f"
    assert StoredPath("/elsewhere/f", is_relative=False).under("/data/lake") == "/elsewhere/f"
    # A relative path stays below its parent, whatever it begins with.
    assert is_inside("/data/lake", StoredPath("/etc/passwd").under("/data/lake"))
