"""Options are stored as DuckDB's set_option stores them, and nothing is stored that it refuses."""

from __future__ import annotations

from itertools import count
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.errors import ConfigError, NotFoundError
from ducklake_spark.spec.options import OPTION_NAMES, normalise_option, option_key

SIZES = ("target_file_size", "parquet_row_group_size_bytes")
FLAGS = (
    "hive_file_pattern",
    "require_commit_message",
    "auto_compact",
    "per_thread_output",
    "sort_on_insert",
)
DURATIONS = ("delete_older_than", "expire_older_than")
# Python's value, and what it is in a call of set_option.
ACCEPTED: list[tuple[str, object, str]] = [
    ("data_inlining_row_limit", 0, "0"),
    ("data_inlining_row_limit", 10, "10"),
    ("data_inlining_row_limit", "007", "'007'"),
    *(("parquet_compression", codec, f"'{codec}'") for codec in
      ("uncompressed", "snappy", "gzip", "ZSTD", "lz4", "LZ4_raw")),
    ("parquet_version", 1, "1"),
    ("parquet_version", "2", "'2'"),
    ("parquet_compression_level", 3, "3"),
    ("parquet_row_group_size", 122880, "122880"),
    *((option, size, f"'{size}'") for option in SIZES for size in
      ("128MB", "1KiB", "1.7kb", "12k", "1 t", "5 bytes", "1gib", "100 kB", "3 TiB", " 1 GB ")),
    *((flag, value, str(value)) for flag in FLAGS for value in (True, False)),
    ("write_deletion_vectors", False, "False"),
    *(("parquet_compression_level", level, str(level)) for level in (0, 22)),
    *(("rewrite_delete_threshold", value, str(value)) for value in (0, 1, 0.5, 0.1234567, "0.25")),
    *((option, span, f"'{span}'") for option in DURATIONS for span in
      ("7 days", "1 week", "2d", "1 month 2 days", "1.5 hours", "30 minutes", "")),
]  # fmt: skip
REFUSED_BY_BOTH: list[tuple[str, object, str]] = [
    *(("data_inlining_row_limit", value, repr(value)) for value in (-1, "x", "")),
    *(("parquet_compression", value, repr(value)) for value in ("none", "foo", "")),
    *(("parquet_version", value, repr(value)) for value in (0, 3, "x")),
    *(("parquet_compression_level", value, repr(value)) for value in (-1, "x")),
    *(("parquet_row_group_size", value, repr(value)) for value in (0, -1, "x")),
    *((option, value, repr(value)) for option in SIZES for value in ("x", "", "1PB", "MB")),
    *((flag, value, repr(value)) for flag in FLAGS for value in ("maybe", "")),
    *(("rewrite_delete_threshold", value, repr(value)) for value in (1.5, -0.1, "x", "")),
    *((option, value, repr(value)) for option in DURATIONS for value in ("x", "days", "7 dayz")),
]
# Stricter than DuckDB, which stores a number nobody meant, or a time in the future.
REFUSED_BY_US = [
    # Spark cannot write the first, nor read what DuckDB writes with the others.
    ("parquet_compression", "Brotli"),
    ("write_deletion_vectors", True),
    # DuckDB stores it, and its next INSERT fails.
    ("parquet_compression_level", 23),
    ("target_file_size", "-5"),
    ("target_file_size", "0MB"),
    ("target_file_size", 0),
    ("target_file_size", "9" * 400),
    ("target_file_size", "99999999TB"),
    ("data_inlining_row_limit", "9" * 5000),
    ("parquet_row_group_size", 2**63),
    ("data_inlining_row_limit", 1.5),
    ("data_inlining_row_limit", "²"),
    ("rewrite_delete_threshold", float("nan")),
    ("delete_older_than", "-7 days"),
    ("delete_older_than", "7"),
    ("require_commit_message", None),
]
_ordinals = count()


@pytest.mark.parametrize(("name", "value", "sql"), ACCEPTED)
def test_an_option_is_stored_as_duckdb_stores_it(
    file_lake: Any, name: str, value: object, sql: str
) -> None:
    file_lake.sql(f"CALL lake.set_option('{name}', {sql})")
    ((stored,),) = file_lake.catalog(
        "SELECT value FROM ducklake_metadata WHERE key = ? AND scope IS NULL", name
    )
    assert normalise_option(name, value) == (name, stored)


@pytest.mark.parametrize(("name", "value", "sql"), REFUSED_BY_BOTH)
def test_what_duckdb_refuses_is_refused_with_what_the_option_takes(
    file_lake: Any, name: str, value: object, sql: str
) -> None:
    with pytest.raises(duckdb.Error):
        file_lake.sql(f"CALL lake.set_option('{name}', {sql})")
    with pytest.raises(ConfigError, match=f"{name} cannot be .* It takes"):
        normalise_option(name, value)


@pytest.mark.parametrize(("name", "value"), REFUSED_BY_US)
def test_values_that_make_no_sense_are_refused(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match="It takes"):
        normalise_option(name, value)


def test_duckdb_knows_every_option_that_we_know(file_lake: Any) -> None:
    accepted = {name: sql for name, _, sql in ACCEPTED}
    assert set(accepted) == OPTION_NAMES
    for name, sql in accepted.items():
        file_lake.sql(f"CALL lake.set_option('{name}', {sql}, table_name => '{_table(file_lake)}')")


def _table(file_lake: Any) -> str:
    name = f"options_{next(_ordinals)}"
    file_lake.sql(f"CREATE TABLE {name} (i INT)")
    return name


@pytest.mark.parametrize("name", ["version", "data_path", "created_by", "encrypted", "", "a\x00"])
def test_the_facts_of_a_lake_are_no_options(name: str) -> None:
    with pytest.raises(NotFoundError):
        normalise_option(name, "x")
    with pytest.raises(NotFoundError):
        option_key(name)


def test_an_unknown_option_suggests_one_like_it() -> None:
    with pytest.raises(NotFoundError, match="Did you mean 'parquet_compression'"):
        normalise_option("parquet_compresion", "zstd")


def test_names_of_options_are_lower_case_as_in_duckdb(file_lake: Any) -> None:
    file_lake.sql("CALL lake.set_option('Parquet_Version', 1)")
    assert option_key("Parquet_Version") == "parquet_version"
    rows = file_lake.catalog(
        "SELECT key FROM ducklake_metadata WHERE lower(key) = 'parquet_version'"
    )
    assert set(rows) == {("parquet_version",)}


@given(st.sampled_from(sorted(OPTION_NAMES)), st.text(max_size=8))
def test_any_text_is_a_value_or_refused_and_nothing_else(name: str, text: str) -> None:
    try:
        key, stored = normalise_option(name, text)
    except ConfigError:
        return
    assert key == name
    # What is stored means the same when it is set again.
    unit = "B" if name in SIZES else ""
    assert normalise_option(name, stored + unit) == (name, stored)
