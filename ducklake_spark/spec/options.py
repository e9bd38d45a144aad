"""The options of a lake, and the text under which each value is stored."""

from __future__ import annotations

import re
from collections.abc import Callable

from ducklake_spark.errors import ConfigError, NotFoundError
from ducklake_spark.spec.moments import is_duration

_UNITS = {"": 1, "b": 1, "byte": 1, "bytes": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for suffix, base in (("", 1000), ("b", 1000), ("ib", 1024))
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_CODECS = ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw")
_TRUE, _FALSE = ("true", "t", "yes", "1", "on"), ("false", "f", "no", "0", "off")


def _count(value: str) -> str | None:
    return str(int(value)) if value.isdecimal() else None


def _positive(value: str) -> str | None:
    return str(int(value)) if value.isdecimal() and int(value) > 0 else None


def _size(value: str) -> str | None:
    match = _SIZE.fullmatch(value)
    unit = _UNITS.get(match.group(2).lower()) if match else None
    if match is None or unit is None or not (size := int(float(match.group(1)) * unit)):
        return None
    return str(size)


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


# What each option takes, as text for the error message.
_OPTIONS: dict[str, tuple[Callable[[str], str | None], str]] = {
    "data_inlining_row_limit": (_count, "a number of rows, such as 10"),
    "parquet_compression": (_codec, f"one of {', '.join(_CODECS)}"),
    "parquet_version": (_version, "1 or 2"),
    "parquet_compression_level": (_count, "a level, such as 3"),
    "parquet_row_group_size": (_positive, "a number of rows, such as 122880"),
    "parquet_row_group_size_bytes": (_size, "a size, such as 128MB"),
    "hive_file_pattern": (_flag, "true or false"),
    "target_file_size": (_size, "a size, such as 512MB"),
    "require_commit_message": (_flag, "true or false"),
    "rewrite_delete_threshold": (_fraction, "a fraction from 0 to 1"),
    "delete_older_than": (_duration, "a duration, such as 7 days"),
    "expire_older_than": (_duration, "a duration, such as 7 days"),
    "auto_compact": (_flag, "true or false"),
    "per_thread_output": (_flag, "true or false"),
    "write_deletion_vectors": (_flag, "true or false"),
    "sort_on_insert": (_flag, "true or false"),
}
OPTION_NAMES = frozenset(_OPTIONS)


def option_key(name: str) -> str:
    """The stored name of an option, or an error that suggests others."""
    key = name.lower()
    if key not in _OPTIONS:
        raise NotFoundError(f"The option {name!r}", near=OPTION_NAMES, wanted=key)
    return key


def normalise_option(name: str, value: object) -> tuple[str, str]:
    """The stored name and text of an option, or an error that says what it takes."""
    key = option_key(name)
    parse, wanted = _OPTIONS[key]
    text = str(value).strip()
    stored = parse(text)
    if stored is None:
        raise ConfigError(f"The option {key} cannot be {text!r}.", hint=f"It takes {wanted}.")
    return key, stored
