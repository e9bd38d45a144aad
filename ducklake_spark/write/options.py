"""DuckLake's options as settings of the two Parquet writers, Spark's and PyArrow's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_DEFAULT_CODEC = "snappy"
_CODECS_WITH_LEVELS = ("zstd", "gzip")
_ROWS_OF_A_GROUP = 122_880  # what DuckDB makes a row group of
_TARGET_FILE_SIZE = 512 * 1024 * 1024


def target_file_size(options: Mapping[str, str]) -> int:
    """How many bytes a data file should have at most, about."""
    return int(options.get("target_file_size", _TARGET_FILE_SIZE))


def writer_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options in force for a table, as Spark's writer takes them."""
    codec = options.get("parquet_compression", _DEFAULT_CODEC)
    settings = {
        "compression": codec,
        # A marker file would look like one of ours to nobody, and like litter to everybody.
        "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        # Without this, Hadoop leaves a hidden .crc file beside each file on a local file system.
        "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "fs.file.impl.disable.cache": "true",
    }
    level = options.get("parquet_compression_level")
    if level is not None and codec == "zstd":
        settings["parquet.compression.codec.zstd.level"] = level
    if level is not None and codec == "gzip":
        settings["zlib.compress.level"] = level
    if (size := options.get("parquet_row_group_size_bytes")) is not None:
        settings["parquet.block.size"] = size
    if (rows := options.get("parquet_row_group_size")) is not None:
        settings["parquet.block.row.count.limit"] = rows
    if options.get("parquet_version") == "V2":
        settings["parquet.writer.version"] = "v2"
    return settings


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
        codec = options.get("parquet_compression", _DEFAULT_CODEC)
        level = options.get("parquet_compression_level")
        size = options.get("parquet_row_group_size_bytes")
        return cls(
            codec="none" if codec == "uncompressed" else codec,
            level=int(level) if level is not None and codec in _CODECS_WITH_LEVELS else None,
            page_version="2.0" if options.get("parquet_version") == "V2" else "1.0",
            group_rows=int(options.get("parquet_row_group_size", _ROWS_OF_A_GROUP)),
            group_bytes=None if size is None else int(size),
        )

    def rows_of_a_group(self, rows: int, size: int) -> int:
        """How many rows a row group takes of such that so many take so many bytes."""
        if self.group_bytes is None or not size:
            return self.group_rows
        return max(1, min(self.group_rows, self.group_bytes * rows // size))
