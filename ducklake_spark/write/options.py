"""DuckLake's options as settings of Spark's Parquet writer."""

from __future__ import annotations

from collections.abc import Mapping

# DuckDB's codecs under Spark's names.
_CODECS = {"lz4": "lz4", "lz4_raw": "lz4_raw", "brotli": "brotli"}


_TARGET_FILE_SIZE = 512 * 1024 * 1024


def target_file_size(options: Mapping[str, str]) -> int:
    """How many bytes a data file should have at most, about."""
    return int(options.get("target_file_size", _TARGET_FILE_SIZE))


def writer_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options in force for a table, as Spark's writer takes them."""
    codec = options.get("parquet_compression", "snappy")
    settings = {
        "compression": _CODECS.get(codec, codec),
        # A marker file would look like one of ours to nobody, and like litter to everybody.
        "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
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
