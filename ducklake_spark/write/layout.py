"""How rows are spread over files: by partition, in sort order, in files of a sensible size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.spec.model import Column, NewDataFile, PartitionField, SortKey, Table
from ducklake_spark.spec.names import backticked
from ducklake_spark.spec.partitions import key_names, partition_value
from ducklake_spark.storage.footers import bound_of

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR


def laid_out(
    frame: DataFrame, table: Table, options: Mapping[str, str]
) -> tuple[DataFrame, list[str]]:
    """The frame as it is to be written, and the names of the columns to partition the write by.

    Those are copies: Spark leaves what it partitions by out of the files, DuckLake wants it in.
    """
    columns = {column.id: column for column in table.columns}
    keys = [(key, columns[key.column_id]) for key in table.partition_fields]
    names = [f"__{name}" for name in key_names([(k.transform, c.name) for k, c in keys])]
    for name, (key, column) in zip(names, keys, strict=True):
        frame = frame.withColumn(name, partition_key(key, column))
    if names:
        # Spark itself then splits what is too much for one task and joins what is too little.
        frame = frame.hint("rebalance", *names)
    return sorted_within(frame, table, options, names), names


def sorted_within(
    frame: DataFrame, table: Table, options: Mapping[str, str], first: Sequence[str] = ()
) -> DataFrame:
    """The frame in the table's order inside each task, by some columns first."""
    if not table.sort_keys or options.get("sort_on_insert", "true") != "true":
        return frame
    first_keys = (F.col(backticked(name)) for name in first)
    return frame.sortWithinPartitions(*first_keys, *sort_order(table))


def sort_order(table: Table) -> list[Expression]:
    """The keys that the table's rows are sorted by; none if it has no order."""
    return [_sorted(key) for key in table.sort_keys]


def partition_key(key: PartitionField, column: Column) -> Expression:
    """What rows of one partition have in common, and no others."""
    value = F.col(backticked(column.name))
    match key.transform.name:
        case "identity":
            return _distinct_text(value)
        case "bucket":
            # pandas takes half a second to import, and few tables have buckets.
            from ducklake_spark.write.buckets import bucket_number

            return bucket_number(value, column, key.transform.buckets or 1)
        case part:
            return _calendar_part(part, value, column)


def _distinct_text(value: Expression) -> Expression:
    """Spark puts empty strings where it puts NULL, so they get another name."""
    text = value.cast("string")
    return F.when((text == "") | text.startswith("__"), F.concat(F.lit("__"), text)).otherwise(text)


def _calendar_part(part: str, value: Expression, column: Column) -> Expression:
    if column.type.name == "time":
        return F.substring(value, 1, 2).cast("int")
    if column.type.name == "date":
        day, hour = value, F.lit(0)
    else:
        # By plain arithmetic, for Spark's own functions ask what time zone the session has.
        micros = _micros(value, column)
        of_day = F.pmod(micros, F.lit(_DAY))
        days = ((micros - of_day) / F.lit(_DAY)).cast("int")
        day = F.date_add(F.lit("1970-01-01").cast("date"), days)
        hour = F.floor(of_day / F.lit(_HOUR))
    parts = {"year": F.year(day), "month": F.month(day), "day": F.dayofmonth(day), "hour": hour}
    return parts[part].cast("int")


def _micros(value: Expression, column: Column) -> Expression:
    if column.type.name == "timestamptz":
        return F.unix_micros(value)
    return F.timestamp_diff("MICROSECOND", F.lit("1970-01-01").cast("timestamp_ntz"), value)


def _sorted(key: SortKey) -> Expression:
    expression = F.expr(key.expression.replace('"', "`"))
    if key.descending:
        return expression.desc_nulls_first() if key.nulls_first else expression.desc_nulls_last()
    return expression.asc_nulls_first() if key.nulls_first else expression.asc_nulls_last()


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
        if value is None:
            raise InvalidDefinitionError(
                f"The partition of {file.path.path!r} by {column.name!r} cannot be told: its "
                "values are too long for the file's statistics.",
                hint="Partition by a column of shorter values, or by bucket(N, column).",
            )
        texts.append(partition_value(key.transform, value, column.type))
    return tuple(texts)
