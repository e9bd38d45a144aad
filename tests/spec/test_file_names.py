"""The name of a file proves which lake wrote it, and into which table's folder."""

from __future__ import annotations

import datetime
import uuid

import pytest

from ducklake_spark.spec.file_names import (
    Origin,
    is_marked,
    is_table_folder,
    mark_of,
    marked_uuid,
    origin_of,
    staged_at,
)
from ducklake_spark.spec.names import uuid7

LAKE = uuid.UUID("6f2d1c3a-8f0e-4b5d-9a51-2f7c6f0a9b11")
OTHER = uuid.UUID("0b9c2e77-51d4-4c83-8a3c-c0ffee000001")
# What marked_uuid made for main/t/ of LAKE. It must stay valid: such names are in lakes.
MINE = uuid.UUID("01a1f837-45b7-7aeb-85f7-3e172889c43c")
TABLES = {"main/t/", "main/u/"}


def test_a_marked_uuid_is_a_uuid_7_that_no_other_mark_fits() -> None:
    for _ in range(200):
        unique = marked_uuid(mark_of(LAKE, "main/t/"))
        assert (unique.version, unique.variant) == (7, uuid.RFC_4122)
        assert is_marked(unique, mark_of(LAKE, "main/t/"))
        assert not is_marked(unique, mark_of(OTHER, "main/t/"))
        assert not is_marked(unique, mark_of(LAKE, "main/u/"))
        assert not is_marked(uuid7(), mark_of(LAKE, "main/t/"))


def test_marked_uuids_differ_and_sort_by_time() -> None:
    made = [marked_uuid("x") for _ in range(5000)]
    assert len(set(made)) == len(made)
    assert [u.int >> 80 for u in made] == sorted(u.int >> 80 for u in made)


def test_without_a_mark_nothing_is_proven() -> None:
    assert mark_of(None, "main/t/") == ""
    assert not is_marked(marked_uuid(""), "")


@pytest.mark.parametrize(
    "path",
    [
        f"main/t/ducklake-{MINE}.parquet",
        f"main/t/ducklake-{MINE}-delete.parquet",
        f"main/t/.ducklake-{MINE}.parquet.crc",
        f"main/t/k=1/s=a%20b/ducklake-{MINE}.parquet",
        f"main/t/k=/ducklake-{MINE}.parquet",
        f"main/t/ducklake-{MINE}/",
        f"main/t/ducklake-{MINE}/part-00000.parquet",
        f"main/t/ducklake-{MINE}/_temporary/0/task_1/k=2/part-00000.parquet",
        f"main/t/ducklake-{MINE}/.part-00000.parquet.crc",
    ],
)
def test_what_this_lake_wrote_is_known_by_name(path: str) -> None:
    assert origin_of(path, LAKE, set()) is Origin.THIS_LAKE
    assert origin_of(path, LAKE, TABLES) is Origin.THIS_LAKE
    assert origin_of(path, OTHER, TABLES) is Origin.SHARED_FOLDER
    assert origin_of(path, OTHER, set()) is Origin.UNKNOWN
    assert origin_of(path, None, set()) is Origin.UNKNOWN
    # A copy elsewhere is not what this lake wrote.
    assert origin_of(f"backup/{path}", LAKE, TABLES) is Origin.UNKNOWN
    assert origin_of(path.replace("/t/", "/t2/"), LAKE, TABLES) is Origin.UNKNOWN


@pytest.mark.parametrize(
    "path",
    [
        "main/t/export.parquet",
        "main/t/ducklake-lost.parquet",
        f"main/t/{MINE}.parquet",
        f"main/t/sub/ducklake-{MINE}.parquet",
        f"main/t/=1/ducklake-{MINE}.parquet",
        f"main/t/ducklake-{MINE}.csv",
        f"main/t/my-ducklake-{MINE}.parquet",
        f"main/t/other.ducklake.files/main/t/ducklake-{MINE}.parquet",
        f"ducklake-{MINE}.parquet",
        "",
        "/",
    ],
)
def test_other_names_and_folders_are_unknown(path: str) -> None:
    assert origin_of(path, LAKE, TABLES) is Origin.UNKNOWN


def test_a_staging_folder_tells_when_it_was_made() -> None:
    now = datetime.datetime.now(datetime.UTC)
    made = staged_at(f"/data/main/t/ducklake-{uuid7()}/")
    assert made is not None
    assert abs((made - now).total_seconds()) < 60
    assert staged_at("/data/main/t/") is None
    assert staged_at(f"main/t/ducklake-{uuid7()}.parquet") is None


def test_folders_of_tables_and_their_partitions_are_known() -> None:
    assert all(
        is_table_folder(path, TABLES) for path in ("main/t/", "main/t/k=1/", "main/u/a=/b=2/")
    )
    assert not any(
        is_table_folder(p, TABLES) for p in ("main/", "main/t/x/", "main/v/k=1/", "k=1/")
    )
