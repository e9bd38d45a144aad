"""Files of a sensible size, once it is known what a write came to.

How large files become shows only when they are there: a query may give a thousand tasks a few rows
each, or one task everything. What came out far too small or too large is written once more, from
the files and not from the query.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import ceil

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from ducklake_spark.spec.model import NewDataFile, Table
from ducklake_spark.storage.hadoop import hadoop_path
from ducklake_spark.write.layout import order_within
from ducklake_spark.write.options import target_file_size, writer_options

# A handful of small files is no harm; to write them again is.
_FEW = 4
_GLOB = re.compile(r"([{}\[\]*?\\])")
_SMALL = 4 * 1024 * 1024


def refitted(
    spark: SparkSession,
    schema: T.StructType,
    table: Table,
    folder: str,
    files: Sequence[NewDataFile],
    options: Mapping[str, str],
) -> list[NewDataFile]:
    """Write files that are too small or too large again, beside them in the same folder.

    Return the files that were written again, which are still there: remove them once it is certain
    that the new files hold all of their rows.
    """
    target = target_file_size(options)
    large = [file for file in files if file.file_size_bytes > 2 * target]
    # Files of several partitions cannot be joined, and Spark has joined those of one.
    joinable = () if table.partition_fields else files
    small = [file for file in joinable if file.file_size_bytes < min(_SMALL, target // 2)]

    # A column may come from a file with field ids and bring them along; these files have none.
    bare = _bare(schema)

    def again(members: Sequence[NewDataFile]) -> DataFrame:
        paths = [hadoop_path(file.path.under(table.location)) for file in members]
        return spark.read.schema(bare).parquet(*(_GLOB.sub(r"\\\1", path) for path in paths))

    def write(frame: DataFrame, most: int) -> None:
        writer = frame.write.options(**writer_options(options)).mode("append")
        writer.option("maxRecordsPerFile", most).parquet(hadoop_path(folder))

    if len(small) <= _FEW:
        small = []
    else:
        total = sum(file.file_size_bytes for file in small)
        joined = again(small).coalesce(ceil(total / target))
        order = order_within(joined, table, options)
        write(joined.sortWithinPartitions(*order) if order else joined, 0)
    for file in large:
        pieces = ceil(file.file_size_bytes / target)
        write(again([file]), ceil(file.record_count / pieces))
    return [*small, *large]


def _bare(schema: T.StructType) -> T.StructType:
    """The schema without metadata at any depth."""
    return T.StructType(
        [T.StructField(f.name, _bare_type(f.dataType), f.nullable) for f in schema.fields]
    )


def _bare_type(kind: T.DataType) -> T.DataType:
    match kind:
        case T.StructType():
            return _bare(kind)
        case T.ArrayType():
            return T.ArrayType(_bare_type(kind.elementType), kind.containsNull)
        case T.MapType():
            key, value = _bare_type(kind.keyType), _bare_type(kind.valueType)
            return T.MapType(key, value, kind.valueContainsNull)
        case _:
            return kind
