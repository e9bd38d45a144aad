"""DuckLake's options as settings of the two Parquet writers, Spark's and PyArrow's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ducklake_spark.errors import ConfigError

_DEFAULT_CODEC = "snappy"
# Spark's names for the codecs. With Spark's "lz4", only Hadoop could read the files.
_SPARK_CODECS = {
    "uncompressed": "uncompressed",
    "snappy": "snappy",
    "gzip": "gzip",
    "zstd": "zstd",
    "lz4": "lz4_raw",
    "lz4_raw": "lz4_raw",
}
_HIGHEST_LEVELS = {"zstd": 22, "gzip": 9}
# Hadoop's names for the levels of gzip, from 0 to 9.
_GZIP_LEVELS = (
    "NO_COMPRESSION", "BEST_SPEED", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT",
    "BEST_COMPRESSION",
)  # fmt: skip
_ROWS_OF_A_GROUP = 122_880  # what DuckDB makes a row group of
_TARGET_FILE_SIZE = 512 * 1024 * 1024


def target_file_size(options: Mapping[str, str]) -> int:
    """How many bytes a data file should have at most, about."""
    return int(options.get("target_file_size", _TARGET_FILE_SIZE))


def writer_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options in force for a table, as Spark's writer takes them."""
    codec, level = _compression(options)
    settings = {
        "compression": _SPARK_CODECS[codec],
        # A marker file would look like one of ours to nobody, and like litter to everybody.
        "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        # Without this, Hadoop leaves a hidden .crc file beside each file on a local file system.
        "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "fs.file.impl.disable.cache": "true",
    }
    if level is not None and codec == "zstd":
        settings["parquet.compression.codec.zstd.level"] = str(level)
    if level is not None and codec == "gzip":
        settings["zlib.compress.level"] = _GZIP_LEVELS[level]
    if (size := options.get("parquet_row_group_size_bytes")) is not None:
        settings["parquet.block.size"] = size
    if (rows := options.get("parquet_row_group_size")) is not None:
        settings["parquet.block.row.count.limit"] = rows
    if options.get("parquet_version") == "V2":
        settings["parquet.writer.version"] = "v2"
    return settings


def _compression(options: Mapping[str, str]) -> tuple[str, int | None]:
    """Return the codec and its level, None without one; reject what Spark cannot write or read.

    DuckDB stores options that this package rejects, such as brotli.
    """
    codec = options.get("parquet_compression", _DEFAULT_CODEC)
    if codec not in _SPARK_CODECS:
        raise ConfigError(
            f"The option parquet_compression is {codec!r}, which Spark does not support.",
            hint=f"Set it to one of {', '.join(_SPARK_CODECS)} with CALL lake.set_option(…).",
        )
    highest = _HIGHEST_LEVELS.get(codec)
    level = options.get("parquet_compression_level")
    if level is None or highest is None:
        return codec, None
    if not level.isdecimal() or int(level) > highest:
        raise ConfigError(
            f"The option parquet_compression_level is {level}, but {codec} has levels from 0 to "
            f"{highest}.",
            hint="Set it to one of these levels with CALL lake.set_option(…).",
        )
    return codec, int(level)


@dataclass(frozen=True, slots=True)
class ArrowOptions:
    """The options in force for a table, as PyArrow's writer takes them."""

    codec: str
    level: int | None
    page_version: str
    group_rows: int
    group_bytes: int | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ArrowOptions:
        codec, level = _compression(options)
        size = options.get("parquet_row_group_size_bytes")
        return cls(
            codec="none" if codec == "uncompressed" else codec,
            level=level,
            page_version="2.0" if options.get("parquet_version") == "V2" else "1.0",
            group_rows=int(options.get("parquet_row_group_size", _ROWS_OF_A_GROUP)),
            group_bytes=None if size is None else int(size),
        )

    def rows_of_a_group(self, rows: int, size: int) -> int:
        """How many rows a row group takes of such that so many take so many bytes."""
        if self.group_bytes is None or not size:
            return self.group_rows
        return max(1, min(self.group_rows, self.group_bytes * rows // size))
