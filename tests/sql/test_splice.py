"""Texts with other words in them, and the way back to the places of the first one."""

from __future__ import annotations

import random

from ducklake_spark.sql.splice import Edit, spliced


def test_the_rest_stays_as_it_was() -> None:
    found = spliced("SELECT * FROM t, u", [Edit(17, 18, "`lake.u`"), Edit(14, 15, "`lake.t`")])
    assert found.text == "SELECT * FROM `lake.t`, `lake.u`"
    assert found.original_offset(0) == 0
    assert found.original_offset(found.text.index("lake.t")) == 14
    assert found.original_offset(found.text.index(",")) == 15
    assert found.original_offset(found.text.index("lake.u")) == 17
    assert found.original_offset(len(found.text)) == 18


def test_what_is_put_between_belongs_to_its_place() -> None:
    found = spliced("FROM t WHERE x", [Edit(5, 6, "view"), Edit(6, 6, " AS t")])
    assert found.text == "FROM view AS t WHERE x"
    assert found.original_offset(found.text.index("AS")) == 6
    assert found.original_offset(found.text.index("x")) == 13


def test_places_lead_back_whatever_was_put_in() -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    text = "abcdefghijklmnopqrstuvwxyz" * 3
    for _ in range(200):
        cuts = sorted(rng.sample(range(len(text)), 6))
        edits = [
            Edit(start, end, "0" * rng.randrange(9))
            for start, end in zip(cuts[::2], cuts[1::2], strict=True)
        ]
        found = spliced(text, edits)
        for at, letter in enumerate(found.text):
            if letter != "0":
                assert text[found.original_offset(at)] == letter, f"seed {seed}: {edits}"
