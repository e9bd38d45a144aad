"""Which macros dbt finds for this adapter."""

from __future__ import annotations

from support.macros import BORROWED, IDLE, Rendering, macros_of


def test_every_macro_of_dbt_spark_is_accounted_for() -> None:
    """Each has one of ours before it, is borrowed, or is of statements that are never made."""
    theirs = {name for name in macros_of("spark") if name.startswith("spark__")}
    ours = {name.replace("ducklake__", "spark__") for name in macros_of("ducklake")}
    assert theirs - ours == BORROWED | IDLE


def test_a_safe_cast_fails_at_no_value(rendering: Rendering) -> None:
    assert rendering("safe_cast", "'x'", "int") == "try_cast('x' as int)"
    expected = "try_cast(named_struct('a', 1) as struct<a:int>)"
    assert rendering("safe_cast", r"'named_struct(\'a\', 1)'", "struct<a:int>") == expected
