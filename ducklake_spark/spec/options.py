"""The options of a lake, and the text under which each value is stored."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass

from ducklake_spark.errors import ConfigError, NotFoundError
from ducklake_spark.spec.moments import is_duration

_UNITS = {"": 1, "b": 1, "byte": 1, "bytes": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for suffix, base in (("", 1000), ("b", 1000), ("ib", 1024))
}
_GREATEST = 2**63 - 1
_MOST_DIGITS = 40
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_CODECS = ("uncompressed", "snappy", "gzip", "zstd", "lz4", "lz4_raw")  # Spark has no brotli
_HIGHEST_LEVEL = 22  # of zstd
_TRUE, _FALSE = ("true", "t", "yes", "1", "on"), ("false", "f", "no", "0", "off")


def _count(value: str) -> str | None:
    # Longer ones are in no 64 bits, and Python does not read numbers of any length.
    known = int(value) if value.isdecimal() and len(value) <= _MOST_DIGITS else _GREATEST + 1
    return str(known) if known <= _GREATEST else None


def _level(value: str) -> str | None:
    count = _count(value)
    return count if count is not None and int(count) <= _HIGHEST_LEVEL else None


def _only_false(value: str) -> str | None:
    return "false" if _flag(value) == "false" else None


def _positive(value: str) -> str | None:
    return None if (count := _count(value)) == "0" else count


def _size(value: str) -> str | None:
    match = _SIZE.fullmatch(value)
    unit = _UNITS.get(match.group(2).lower()) if match else None
    if match is None or unit is None:
        return None
    size = float(match.group(1)) * unit
    return str(int(size)) if 1 <= size <= _GREATEST else None


def _flag(value: str) -> str | None:
    if value.lower() in _TRUE:
        return "true"
    return "false" if value.lower() in _FALSE else None


def _codec(value: str) -> str | None:
    return value.lower() if value.lower() in _CODECS else None


def _version(value: str) -> str | None:
    number = value.lower().removeprefix("v")
    return f"V{number}" if number in ("1", "2") else None


def _fraction(value: str) -> str | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return f"{number:.6f}" if 0 <= number <= 1 else None


def _duration(value: str) -> str | None:
    return value if not value or is_duration(value) else None


@dataclass(frozen=True, slots=True)
class _Option:
    """How the text of a value is stored, None if it is none; what values there are, for people."""

    parse: Callable[[str], str | None]
    takes: str
    description: str


_FLAG = "true or false"
_AGE = "a duration, such as 7 days"
_OPTIONS = {
    "data_inlining_row_limit": _Option(
        _count,
        "a number of rows, such as 10",
        "Writes of so many rows at most go to the catalog itself, those of DuckDB",
    ),
    "parquet_compression": _Option(
        _codec, f"one of {', '.join(_CODECS)}", "How Parquet files are compressed"
    ),
    "parquet_version": _Option(_version, "1 or 2", "The version of the Parquet format"),
    "parquet_compression_level": _Option(
        _level,
        f"a level from 0 to {_HIGHEST_LEVEL}, such as 3",
        "How hard the compression tries, for zstd and gzip; with gzip, DuckDB cannot write",
    ),
    "parquet_row_group_size": _Option(
        _positive, "a number of rows, such as 122880", "Rows of a row group in Parquet files"
    ),
    "parquet_row_group_size_bytes": _Option(
        _size, "a size, such as 128MB", "Bytes of a row group in Parquet files"
    ),
    "hive_file_pattern": _Option(
        _flag, _FLAG, "Whether files of a partition lie in folders with its values in their names"
    ),
    "target_file_size": _Option(
        _size, "a size, such as 512MB", "The size that inserts and merges give to data files"
    ),
    "require_commit_message": _Option(
        _flag, _FLAG, "Whether a commit without a message is refused"
    ),
    "rewrite_delete_threshold": _Option(
        _fraction,
        "a fraction from 0 to 1",
        "rewrite_data_files takes files of which so much is deleted",
    ),
    "delete_older_than": _Option(
        _duration,
        _AGE,
        "The age of files that cleanup_old_files and delete_orphaned_files remove",
    ),
    "expire_older_than": _Option(
        _duration, _AGE, "The age of snapshots that expire_snapshots forgets"
    ),
    "auto_compact": _Option(
        _flag, _FLAG, "Whether operations on the whole lake or a schema take the table along"
    ),
    "per_thread_output": _Option(
        _flag,
        _FLAG,
        "Whether each thread of DuckDB writes its own files; Spark writes a file per task anyway",
    ),
    "write_deletion_vectors": _Option(
        _only_false,
        "false: with deletion vectors, DuckDB 1.5 loses the time of earlier deletes",
        "Whether DuckDB writes deletion vectors, which are experimental",
    ),
    "sort_on_insert": _Option(
        _flag, _FLAG, "Whether inserts into a table with SORTED BY sort their rows"
    ),
}
_FACTS = {
    "version": "The version of the DuckLake format",
    "created_by": "What made the lake",
    "data_path": "Where the files are",
    "encrypted": "Whether Parquet files are encrypted",
}
OPTION_NAMES = frozenset(_OPTIONS)


def description_of(key: str) -> str | None:
    """What an option, or a fact that is stored among them, is about; None if nobody knows."""
    option = _OPTIONS.get(key)
    return option.description if option is not None else _FACTS.get(key)


def option_key(name: str) -> str:
    """The stored name of an option, or an error that suggests others."""
    key = name.lower()
    if key not in _OPTIONS:
        raise NotFoundError(f"The option {name!r}", near=OPTION_NAMES, wanted=key)
    return key


def normalise_option(name: str, value: object) -> tuple[str, str]:
    """The stored name and text of an option, or an error that says what it takes."""
    key = option_key(name)
    option = _OPTIONS[key]
    text = str(value).strip()
    if isinstance(value, datetime.timedelta):
        text = text.replace(",", "")  # which is all that DuckDB does not take
    stored = option.parse(text)
    if stored is None:
        raise ConfigError(f"The option {key} cannot be {text!r}.", hint=f"It takes {option.takes}.")
    return key, stored
