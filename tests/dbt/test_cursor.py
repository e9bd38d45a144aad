"""Rows as dbt gets them."""

from __future__ import annotations

import pyarrow as pa
from dbt.adapters.ducklake.cursor import _values


def test_maps_whose_keys_are_structs_stay_pairs() -> None:
    struct = pa.struct([("a", pa.int32())])
    maps = pa.chunked_array([pa.array([[({"a": 1}, "x")], None], pa.map_(struct, pa.string()))])
    assert _values(maps) == [[({"a": 1}, "x")], None]
    maps = pa.chunked_array([pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32()))])
    assert _values(maps) == [{"k": 1}, None]
