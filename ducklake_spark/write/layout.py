"""How rows are spread over files: by partition, in sort order, in files of a sensible size."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.scan.decode import is_infinite
from ducklake_spark.scan.types import spark_type_of
from ducklake_spark.spec.model import Column, NewDataFile, PartitionField, SortKey, Table
from ducklake_spark.spec.names import backticked
from ducklake_spark.spec.partitions import partition_directory, partition_value
from ducklake_spark.spec.paths import is_remote
from ducklake_spark.spec.types import FLOATS
from ducklake_spark.storage.footers import bound_of
from ducklake_spark.write.sort_keys import sort_value

_log = logging.getLogger(__name__)
_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
_LONGEST_NAME = 255  # of ASCII, which is all that such a name has


def partitioned(frame: DataFrame, table: Table) -> tuple[DataFrame, list[str]]:
    """Add the columns to partition the write by; return the frame and their names.

    They are copies: Spark leaves the partition columns out of the files, and DuckLake wants them
    in the files.
    """
    columns = {column.id: column for column in table.columns}
    keys = [(key, columns[key.column_id]) for key in table.partition_fields]
    # Not the columns' own names: Spark reads those of a hint as SQL.
    names = [f"_ducklake_partition_{at}" for at in range(len(keys))]
    for name, (key, column) in zip(names, keys, strict=True):
        frame = frame.withColumn(name, partition_key(key, column))
    if names:
        # Spark itself then splits what is too much for one task and joins what is too little.
        frame = frame.hint("rebalance", *names)
    return frame, names


def order_within(
    frame: DataFrame, table: Table, options: Mapping[str, str], first: Sequence[str] = ()
) -> list[Expression]:
    """Return what to sort the frame by inside each task: some columns first, then the table's keys.

    Empty if the table is not sorted.
    """
    if not table.sort_keys or options.get("sort_on_insert", "true") != "true":
        return []
    keys = sort_order(frame, table)
    return [*(F.col(backticked(name)) for name in first), *keys] if keys else []


def sort_order(frame: DataFrame, table: Table) -> list[Expression]:
    """Return the keys to sort the table's rows by, up to one that Spark cannot compute safely.

    DuckDB may have written the keys, and rows in another order are no less right.
    """
    keys: list[Expression] = []
    for key in table.sort_keys:
        value = sort_value(key.expression, table)
        if value is None or not _sorts_by(frame, value):
            _log.warning(
                "Cannot sort the files of %s by %s: they are not sorted by this key. Sort by "
                "columns, or by functions such as lower(name) and date_trunc('day', time).",
                table.name,
                key.expression,
            )
            break
        keys.append(_directed(value, key))
    return keys


def _sorts_by(frame: DataFrame, value: Expression) -> bool:
    """Return whether Spark accepts an order; it has none for maps, for example."""
    try:
        frame.sortWithinPartitions(value).schema  # noqa: B018 - asks Spark
    except PySparkException:
        return False
    return True


def partition_key(key: PartitionField, column: Column) -> Expression:
    """What rows of one partition have in common, and no others."""
    value = F.col(backticked(column.name))
    match key.transform.name:
        case "identity":
            return _distinct_text(value, column)
        case "bucket":
            # pandas takes half a second to import, and few tables have buckets.
            from ducklake_spark.write.buckets import bucket_number

            return bucket_number(value, column, key.transform.buckets or 1)
        case part:
            return _calendar_part(part, value, column)


def _distinct_text(value: Expression, column: Column) -> Expression:
    """A text that no other value has, also where a file system takes two names for one.

    Spark makes folders of these; it takes an empty one for NULL.
    """
    if column.type.name == "timestamptz":  # whose text is twice the same when clocks go back
        return F.unix_micros(value).cast("string")
    if column.type.name in FLOATS:  # -0.0 equals 0.0, and has another text
        value = F.when(value == 0, F.lit(0.0)).otherwise(value)
    if isinstance(spark_type_of(column).shown, (T.StringType, T.BinaryType)):
        return F.sha2(value.cast("binary"), 256)
    return value.cast("string")


def _calendar_part(part: str, value: Expression, column: Column) -> Expression:
    """Without a look at the session's time zone; no moment without end has a part."""
    match column.type.name:
        case "time":
            return F.substring(value, 1, 2).cast("int")
        case "date":
            day, hour = value, F.lit(0)
        case "timestamptz":
            # By plain arithmetic, for Spark's own functions ask what time zone the session has.
            micros = F.unix_micros(value)
            of_day = F.pmod(micros, F.lit(_DAY))
            days = ((micros - of_day) / F.lit(_DAY)).cast("int")
            day = F.date_add(F.lit("1970-01-01").cast("date"), days)
            hour = F.floor(of_day / F.lit(_HOUR))
        case _:
            day, hour = value.cast("date"), F.hour(value)
    parts = {"year": F.year(day), "month": F.month(day), "day": F.dayofmonth(day), "hour": hour}
    return F.when(~is_infinite(value, column.type.name), parts[part].cast("int"))


def _directed(expression: Expression, key: SortKey) -> Expression:
    if key.descending:
        return expression.desc_nulls_first() if key.nulls_first else expression.desc_nulls_last()
    return expression.asc_nulls_first() if key.nulls_first else expression.asc_nulls_last()


def partition_folder(table: Table, values: Sequence[str | None], options: Mapping[str, str]) -> str:
    """The directory of a partition's files, exactly as DuckDB names it.

    Its compaction stops with an internal error where files of one partition are in several. A name
    that no file system takes is none: the directory is for people, the catalog knows the values.
    """
    if not values or options.get("hive_file_pattern", "true") != "true":
        return ""
    names = {column.id: column.name for column in table.columns}
    keys = [(key.transform, names[key.column_id]) for key in table.partition_fields]
    folder = partition_directory(keys, values)
    is_too_long = any(len(name) > _LONGEST_NAME for name in folder.split("/"))
    return "" if is_too_long and not is_remote(table.location) else folder


def partition_texts(table: Table, file: NewDataFile) -> tuple[str | None, ...]:
    """The partition values of a written file, from any one of its rows: they all agree."""
    columns = {column.id: column for column in table.columns}
    stats = {s.column_id: s for s in file.stats}
    texts: list[str | None] = []
    for key in table.partition_fields:
        column = columns[key.column_id]
        known = stats.get(column.id)
        if known is not None and known.value_count == 0:
            texts.append(None)
            continue
        value = bound_of(known, column.type) if known is not None else None
        if value is None and known is not None and known.contains_nan:
            value = math.nan
        if value is None:
            raise InvalidDefinitionError(
                f"The partition of {file.path.path!r} by {column.name!r} cannot be told: its "
                "values are too long for the file's statistics.",
                hint="Partition by a column of shorter values, or by bucket(N, column).",
            )
        if column.type.name in FLOATS:
            value += 0.0  # makes -0.0 to 0.0
        texts.append(partition_value(key.transform, value, column.type))
    return tuple(texts)
