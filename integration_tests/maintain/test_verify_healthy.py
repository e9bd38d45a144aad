"""`verify` finds nothing wrong in lakes with which nothing is wrong, whoever wrote them."""

from __future__ import annotations

from ducklake_spark.maintain import verify
from support.lakes import LakeAddress
from support.sound_lake import make_sound_lake


def test_a_new_lake_has_no_fault(lake: LakeAddress) -> None:
    with lake.open() as catalog:
        assert verify(catalog) == []


def test_a_lake_with_a_bit_of_everything_has_no_fault(lake: LakeAddress) -> None:
    make_sound_lake(lake)
    with lake.open(read_only=True) as catalog:
        assert verify(catalog) == []
