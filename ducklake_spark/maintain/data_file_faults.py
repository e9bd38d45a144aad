"""Compares a data file's footer with what the catalog says of it (rules 7, 8, 11, 12 and 13)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ducklake_spark.files.parquet_types import can_hold, type_of
from ducklake_spark.maintain.file_fault import UNREADABLE, FileFault, unreadable, wrong_size
from ducklake_spark.spec.model import Column, DataFile
from ducklake_spark.spec.scalars import parse_text, to_float32
from ducklake_spark.spec.stats import ColumnStats, has_counts, without_usable_bounds
from ducklake_spark.spec.types import FLOATS, SIGNED, UNSIGNED, DataType, Primitive
from ducklake_spark.storage.footers import (
    Footer,
    Leaf,
    children_of,
    field_id,
    leaf_stats,
    leaves_of,
    read_footer,
)

_ROW_IDS = Column(2147483540, "_ducklake_internal_row_id", Primitive("int64"), order=0)
_SNAPSHOTS = Column(2147483539, "_ducklake_internal_snapshot_id", Primitive("int64"), order=0)
_ZONELESS = {"timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"}
_OPAQUE = ("variant", "geometry", "unknown", "null")
# What else a column's values may be stored as: readers cast it.
_ALSO = {
    "uuid": {"varchar", "blob"},
    "json": {"varchar", "blob"},
    "varchar": {"json", "blob"},
    "time": {"varchar", "int64", "timestamp"},  # a timestamp is what Spark makes of it
    "time_ns": {"varchar", "time", "int64"},
    "timetz": {"varchar", "time", "int64"},
    "interval": {"varchar", "blob"},
    "timestamptz": {"timestamp", "timestamp_ms", "timestamp_ns", "date"},
    "timestamptz_ns": {"timestamptz"},  # of whatever precision
    "timestamp": {"timestamptz", "date"},
    "timestamp_s": {"timestamptz", "date"},
    "timestamp_ms": {"timestamptz", "date"},
    "timestamp_ns": {"timestamptz", "date", "int64"},
    "float64": {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "decimal"},
    "float32": {"int8", "int16", "uint8", "uint16"},
    "decimal": {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"},
    "uint8": {"int16", "int32"},
    "uint16": {"int32"},
    "uint32": {"int64"},
    "uint64": {"decimal", "int64"},
    "int128": {"float64", "decimal", "int8", "int16", "int32", "int64", "uint64"},
    "uint128": {"float64", "decimal", "uint8", "uint16", "uint32", "uint64"},
}


def data_file_faults(
    file: DataFile, columns: Sequence[Column], next_row_id: int | None = None
) -> list[FileFault]:
    """What is wrong with a data file of a table with these columns."""
    if file.encryption_key is not None or file.format != "parquet":
        return []  # the catalog's own check names these
    try:
        footer = read_footer(file.path)
    except UNREADABLE as failure:
        return [unreadable(file.path, failure)]
    return [
        *_sizes(file, footer),
        *_field_ids(file, footer, columns),
        *_row_ids(file, footer, next_row_id),
        *_snapshots(file, footer),
        *_columns(file, footer, columns),
    ]


def _sizes(file: DataFile, footer: Footer) -> Iterator[FileFault]:
    if file.file_size_bytes != footer.file_size_bytes:
        yield wrong_size(file.path, footer.file_size_bytes, file.file_size_bytes, "file")
    if file.footer_size is not None and file.footer_size != footer.footer_size:
        yield wrong_size(file.path, footer.footer_size, file.footer_size, "footer")
    if file.record_count != footer.metadata.num_rows:
        yield FileFault(
            "record-count-wrong",
            file.path,
            f"has {footer.metadata.num_rows:,} rows, and the catalog says {file.record_count}: "
            "count(*) is answered from that.",
            f"Set record_count of its row in ducklake_data_file to {footer.metadata.num_rows}.",
        )


# --- ids ---


def _field_ids(file: DataFile, footer: Footer, columns: Sequence[Column]) -> Iterator[FileFault]:
    if file.mapping_id is not None:
        return
    opaque = {column.id for column in columns if column.type.name in _OPAQUE}
    missing = sorted(_without_ids(footer.schema, opaque))
    if missing:
        yield FileFault(
            "field-ids-missing",
            file.path,
            f"has no field id for {', '.join(missing[:5])}, and no name mapping: readers take "
            "columns by their place, or find NULL.",
            "Insert its rows again with this package, or add the file with "
            "CALL lake.add_data_files(…), which makes a mapping.",
        )


def _without_ids(fields: Any, opaque: set[int], prefix: str = "") -> Iterator[str]:
    for field in fields:
        own = field_id(field)
        if own is None:
            yield prefix + field.name
        if own not in opaque:
            yield from _without_ids(children_of(field.type), opaque, f"{prefix}{field.name}.")


def _row_ids(file: DataFile, footer: Footer, next_row_id: int | None) -> Iterator[FileFault]:
    """Check that every row has an id and that new rows cannot get the same id.

    Readers take the ids from the file if it has a column for them, and else count from row_id_start
    (FORMAT 1.10).
    """
    leaves = list(leaves_of(footer.schema, [_ROW_IDS]))
    if not leaves:
        if file.row_id_start is None:
            yield FileFault(
                "row-ids-missing",
                file.path,
                "contains no row ids, and row_id_start is NULL in the catalog: UPDATE, DELETE and "
                "the change feed fail.",
                "Set row_id_start of its row to the table's next_row_id, and raise next_row_id by "
                "the file's record_count.",
            )
        return
    ids = leaf_stats(footer.metadata, leaves[0])
    if ids.null_count:
        yield FileFault(
            "row-ids-missing",
            file.path,
            f"has no row id for {ids.null_count:,} of its {footer.metadata.num_rows:,} rows: "
            "UPDATE, DELETE and the change feed take the wrong rows.",
            "Insert its rows again with this package, and delete the file's own.",
        )
    if None not in (ids.max_value, next_row_id) and int(ids.max_value or 0) >= (next_row_id or 0):
        yield FileFault(
            "row-ids-beyond-counter",
            file.path,
            f"contains row ids up to {ids.max_value}, but the table's next_row_id is "
            f"{next_row_id}: a new row gets the id of another.",
            "Set next_row_id of the table's row in ducklake_table_stats to a number above "
            f"{ids.max_value}.",
        )


def _snapshots(file: DataFile, footer: Footer) -> Iterator[FileFault]:
    """The rows of a file that several snapshots filled know theirs, and the catalog the span."""
    if file.mapping_id is not None or file.begin_snapshot is None:
        return  # readers look for no such column there; the catalog's own check names the other
    newest = file.begin_snapshot if file.partial_max is None else file.partial_max
    leaves = list(leaves_of(footer.schema, [_SNAPSHOTS]))
    if not leaves:
        if newest > file.begin_snapshot:
            yield FileFault(
                "row-snapshots-missing",
                file.path,
                f"has rows of the snapshots {file.begin_snapshot} to {newest}, as the catalog "
                "says, and does not hold which row is of which.",
                "If the rows are all of one snapshot, set begin_snapshot of its row to that and "
                "partial_max to NULL; else bring the file back from a backup.",
            )
        return
    held = leaf_stats(footer.metadata, leaves[0])
    if held.max_value is not None and int(held.max_value) > newest:
        yield FileFault(
            "partial-max-wrong",
            file.path,
            f"has rows of snapshots up to {held.max_value}, and the catalog says {newest}: older "
            "snapshots show rows that came later.",
            f"Set partial_max of its row in ducklake_data_file to {held.max_value}.",
        )
    if held.min_value is not None and int(held.min_value) < file.begin_snapshot:
        yield FileFault(
            "begin-snapshot-wrong",
            file.path,
            f"has rows of snapshots from {held.min_value} on, and begins at "
            f"{file.begin_snapshot}: the snapshots in between lack them.",
            f"Set begin_snapshot of its row in ducklake_data_file to {held.min_value}.",
        )


# --- columns ---


def _columns(file: DataFile, footer: Footer, columns: Sequence[Column]) -> Iterator[FileFault]:
    if any(field_id(field) is None for field in footer.schema):
        return  # columns are found by a name mapping, of whatever names they had then
    for leaf in leaves_of(footer.schema, columns):
        if leaf.column.type.is_nested or leaf.column.type.name in _OPAQUE:
            continue
        stored = type_of(footer.metadata.schema.column(leaf.index))
        data_type = leaf.column.type
        if stored is not None and not (
            can_hold(data_type, stored) or stored.name in _ALSO.get(data_type.name, ())
        ):
            yield FileFault(
                "column-type-wrong",
                file.path,
                f"has {stored} in column {leaf.column.name!r}, which is {data_type}: readers fail.",
                "Insert its rows again with a cast, and delete the file's own.",
            )
        elif leaf.column.id in file.stats and _is_alike(stored, data_type):
            yield from _statistics(file, footer, leaf)


def _is_alike(stored: Primitive | None, data_type: DataType) -> bool:
    """Whether the footer's bounds are of the column's type; not so before a promotion."""
    families = ({*SIGNED, *UNSIGNED}, {*FLOATS}, _ZONELESS)
    return stored is not None and (
        stored.name in (data_type.name, "varchar")
        or any({stored.name, data_type.name} <= family for family in families)
    )


def _statistics(file: DataFile, footer: Footer, leaf: Leaf) -> Iterator[FileFault]:
    said, real = file.stats[leaf.column.id], leaf_stats(footer.metadata, leaf)
    if said.contains_nan and real.contains_nan is not True and _leaves_out_nan(footer, leaf):
        yield FileFault(
            "nan-hidden",
            file.path,
            f"has NaN in column {leaf.column.name!r} that the bounds in its footer leave out: "
            "filters such as > do not find these rows.",
            "Write its rows again: UPDATE the table and SET the column to itself.",
        )
    problem = _counts(said, real, leaf.column.type) or _bounds(said, real, leaf.column.type)
    if problem is not None:
        yield FileFault(
            "file-statistics-wrong",
            file.path,
            f"{problem} in column {leaf.column.name!r}: queries may leave the file out wrongly.",
            "Delete the file's row for this column in ducklake_file_column_stats; rewriting the "
            "table's data files makes a right one.",
        )


def _counts(said: ColumnStats, real: ColumnStats, data_type: DataType) -> str | None:
    if not has_counts(data_type):
        return None
    for name in ("value_count", "null_count"):
        claimed, counted = getattr(said, name), getattr(real, name)
        if None not in (claimed, counted) and claimed != counted:
            what = name.removesuffix("_count").replace("null", "NULL")
            return f"has {counted:,} {what}s, and the catalog says {claimed},"
    return None


def _leaves_out_nan(footer: Footer, leaf: Leaf) -> bool:
    """Whether the footer has bounds that tell nothing of NaN."""
    if not (footer.metadata.created_by or "").startswith("parquet-cpp"):
        return False
    groups = map(footer.metadata.row_group, range(footer.metadata.num_row_groups))
    statistics = [group.column(leaf.index).statistics for group in groups]
    return any(s is not None and s.has_min_max for s in statistics)


def _bounds(said: ColumnStats, real: ColumnStats, data_type: DataType) -> str | None:
    if said.contains_nan is False and real.contains_nan:
        return "has NaN, and the catalog says that there is none,"
    if without_usable_bounds(data_type) or said.contains_nan:
        return None
    low, high = (_value(text, data_type) for text in (said.min_value, said.max_value))
    real_low, real_high = (_value(text, data_type) for text in (real.min_value, real.max_value))
    is_above = None not in (low, real_low) and low > real_low
    is_below = None not in (high, real_high) and high < real_high
    if not (is_above or is_below):
        return None
    return (
        f"has values from {real.min_value!r} to {real.max_value!r}, and the catalog says "
        f"{said.min_value!r} to {said.max_value!r},"
    )


def _value(text: str | None, data_type: DataType) -> Any:
    try:
        value = None if text is None else parse_text(text, data_type)
    except ValueError:
        return None
    if value is None or value != value:  # NaN is no bound
        return None
    # The texts of a column promoted from float32 stand for 32-bit floats.
    return to_float32(value) if data_type.name in FLOATS else value
