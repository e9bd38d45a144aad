"""Deletion vectors, and the Roaring bitmaps in them, are read whole or not at all."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from ducklake_spark.spec.deletion_vectors import read_vectors
from ducklake_spark.spec.roaring import Cursor, read_bitmap
from support.puffin import array, bitmap, bits, blob, container, of, runs, sealed

BIG = 1 << 32


def read(data: bytes) -> dict[int | None, list[int]]:
    return {snapshot: found.tolist() for snapshot, found in read_vectors(data).items()}


# --- bitmaps ---


def test_each_kind_of_container_is_read() -> None:
    wide = list(range(0, 20_000, 2))
    data = bitmap(
        {0: array(0, 5, 65_535), 1: bits(*wide), 7: runs((3, 0), (10, 5), (65_530, 5))},
        run_keys=[7],
    )
    cursor = Cursor(data)
    assert read_bitmap(cursor).tolist() == [
        *(0, 5, 65_535),
        *(65_536 + value for value in wide),
        *(7 * 65_536 + value for value in (3, *range(10, 16), *range(65_530, 65_536))),
    ]
    assert cursor.left == 0


def test_offsets_are_there_from_four_containers_with_runs_on() -> None:
    for count in (1, 3, 4, 9):
        containers = {key: runs((key, 1)) for key in range(count)}
        cursor = Cursor(bitmap(containers, run_keys=range(count)))
        assert len(read_bitmap(cursor)) == 2 * count
        assert cursor.left == 0


def test_a_full_container_is_read() -> None:
    assert read_bitmap(Cursor(bitmap({2: runs((0, 65_535))}, [2]))).tolist() == list(
        range(131_072, 196_608)
    )
    assert len(read_bitmap(Cursor(bitmap({0: bits(*range(65_536))})))) == 65_536


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "4 bytes are expected"),
        (struct.pack("<II", 12345, 0), "not the cookie"),
        (struct.pack("<II", 12346, 65_537), "at most 65536 containers"),
        (bitmap({0: array(1, 2)})[:-1], "bytes are expected"),
        (bitmap({0: array(2, 1)}), "increasing"),
        (bitmap({0: array(1, 1)}), "increasing"),
        (bitmap({1: array(1), 0: array(1)}), "containers are not in increasing order"),
        (bitmap({0: (5000, bits(1)[1])}), "has 1 values, expected 5000"),
        (bitmap({0: (9, runs((1, 2))[1])}, [0]), "has 3 values, expected 9"),
        (bitmap({0: runs((1, 5), (4, 1))}, [0]), "overlap"),
        (bitmap({0: runs((65_535, 1))}, [0]), "overlap or are too long"),
    ],
)
def test_a_damaged_bitmap_is_an_error(data: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_bitmap(Cursor(data))


# --- one deletion vector ---


def test_a_vector_of_one_snapshot_is_read() -> None:
    positions = [0, 1, 65_536, BIG - 1, BIG, 5 * BIG + 70_000]
    assert read(of(*positions)) == {None: positions}
    assert read(of()) == {None: []}


def test_a_vector_of_duckdb_is_read() -> None:
    # DELETE … WHERE i IN (1, 5, 999), by DuckDB 1.5.5
    data = bytes.fromhex(
        "00000026d1d33964010000000000000000000000"
        "3a30000001000000000002001000000001000500e7038ab4c231"
    )
    assert read(data) == {None: [1, 5, 999]}


@pytest.mark.parametrize("seed", range(5))
def test_no_changed_byte_goes_unnoticed(seed: int) -> None:
    chosen = random.Random(seed)
    data = bytearray(of(*chosen.sample(range(3 * BIG), 50)))
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << chosen.randrange(8)
        with pytest.raises(ValueError, match=r"."):
            read_vectors(bytes(damaged))
    for size in range(len(data)):
        with pytest.raises(ValueError, match=r"."):
            read_vectors(bytes(data[:size]))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (sealed(b"\xd1\xd3\x39\x65" + bytes(8)), "magic number"),
        (blob({0: bitmap({0: array(1)})}, count=2), "bytes are expected"),
        (blob({0: bitmap({0: array(1)})}, count=0), "follow the last bitmap"),
        (blob({1: bitmap({0: array(1)}), 0: bitmap({0: array(1)})}), "keys of the bitmaps"),
        (blob({-1: bitmap({0: array(1)})}), "keys of the bitmaps"),
        (of(1) + b"x", "is expected"),
    ],
)
def test_a_damaged_vector_is_an_error(data: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_vectors(data)


# --- containers ---


def test_a_container_gives_each_position_its_first_snapshot() -> None:
    data = container(("7", of(1, 2)), ("9", of(1, 2, 5)), ("12", of(1, 2, 5, BIG)))
    assert read(data) == {7: [1, 2], 9: [5], 12: [BIG]}


def test_the_order_of_blobs_does_not_matter() -> None:
    data = container((12, of(1, 2, 5)), (7, of(2)), (7, of(1)))
    assert read(data) == {7: [1, 2], 12: [5]}


def test_a_position_that_a_later_blob_lacks_stays_deleted() -> None:
    assert read(container(("1", of(4)), ("2", of(6)))) == {1: [4], 2: [6]}


_BLOB: dict[str, Any] = {
    "type": "deletion-vector-v1",
    "offset": 4,
    "length": 8,
    "properties": {"ducklake-snapshot-id": "1"},
}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"PFA1", "footer"),
        (container(("1", of(1)))[:-1], "footer"),
        (container(("1", of(1)))[4:], "."),
        (container(("1", of(1)), flags=1), "unknown flags: 1"),
        (container(("1", of(1)), footer=[1]), "JSON object"),
        (container(("1", of(1)), footer={}), "lists no deletion vector"),
        (container(), "lists no deletion vector"),
        (container(("x", of(1))), "'x' where a number"),
        (container((None, of(1))), "None where a number"),
        (container(("1", of(1)), properties=None), "None where a number"),
        (container(("1", of(1)), offset=-4), "-4 where a number"),
        (container(("1", of(1)), length=10_000), "10000 bytes is expected"),
        (container(("1", of(1)), offset=5), "."),
        (container(("1", of(1)), type="apache-datasketches-theta-v1"), "of the type"),
        (container(("1", of(1)), **{"compression-codec": "zstd"}), "compressed: zstd"),
        (container(("1", of(1)), footer={"blobs": [_BLOB]}), "."),
    ],
)
def test_a_damaged_container_is_an_error(data: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_vectors(data)
