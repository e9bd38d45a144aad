"""The types under which files hold columns, where those are not the columns' own.

A file keeps the type that a column had when it was written. Some types Spark widens as it reads.
Others it refuses, or takes their numbers for what they are not: microseconds for nanoseconds,
unsigned integers for signed ones. There the file's footer says what it holds, and it is read as
that and converted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pyspark.sql import Column as Expression

from ducklake_spark.catalog import LakeReader, required_mapping
from ducklake_spark.errors import UnsupportedFeatureError
from ducklake_spark.files.parquet_types import type_of
from ducklake_spark.scan import decode
from ducklake_spark.scan.types import RAW_MILLIS, Conversion, converted, shown_type
from ducklake_spark.spec.file_names import is_of_table
from ducklake_spark.spec.model import Column, DataFile, MappedName, NameMapping, Table
from ducklake_spark.spec.types import FLOATS, SIGNED, UNSIGNED, DataType, Primitive
from ducklake_spark.storage.footers import leaves_of, read_footer

# The type of each leaf, by its id, that a file holds under another type than the column's.
Held = tuple[tuple[int, Primitive], ...]

_WIDE = ("int128", "uint128")
_NUMBERS = ("boolean", *SIGNED, *UNSIGNED, *FLOATS, "decimal")
_MOMENTS = ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", RAW_MILLIS.name)
# Beside integers and decimals that get wider.
_WIDENED_BY_SPARK = {
    ("uint32", "int64"),
    ("float32", "float64"),
    ("timestamp_s", "timestamp"),
    ("timestamp_s", "timestamp_ms"),
    ("timestamp", "timestamptz"),
}
# Files that were added may hold smaller unsigned integers, or nanoseconds, behind these.
_ADOPTED = (*_WIDE, "uint64", "timestamp_ns", "timestamp", "timestamp_s")
_SMALL = ("uint8", "uint16")
_THREADS = 8


def held_types(
    reader: LakeReader,
    table: Table,
    columns: Sequence[Column],
    files: Sequence[DataFile],
    mappings: Mapping[int, NameMapping],
) -> list[Held]:
    """For each file what it holds under another type."""
    doubts = _Doubts.of(reader, table, columns) if files else None
    if doubts is None or doubts.are_none:
        return [()] * len(files)

    def look(file: DataFile) -> Held:
        wanted = doubts.about(file)
        if not wanted:
            return ()
        mapping_id = file.mapping_id
        mapping = required_mapping(mappings, mapping_id, table) if mapping_id is not None else None
        return _held(file, columns, mapping, wanted)

    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(look, files))


def as_held(column: Column, held: Mapping[int, Primitive]) -> Column:
    """The column with the types that a file holds."""
    if column.id in held:
        return replace(column, type=held[column.id])
    children = tuple(as_held(child, held) for child in column.children)
    return column if children == column.children else replace(column, children=children)


def promoted(value: Expression, column: Column, held: Mapping[int, Primitive]) -> Expression:
    """What is shown under the types that a file holds, as the column shows it."""

    def conversion_of(leaf: Column) -> Conversion | None:
        return _conversion(held[leaf.id], leaf) if leaf.id in held else None

    return converted(value, column, conversion_of)


@dataclass(frozen=True, slots=True)
class _Doubts:
    """Leaves of which only its footer tells what a file holds.

    `mark` is the one of the table. `retyped`: had another type up to a snapshot. `adopted`: may be
    stored with another unit or size in files of other writers, which Spark refuses or misreads.
    `infinite`: may have the infinities that milliseconds have and Spark's timestamps have not, by
    file.
    """

    mark: str
    retyped: Mapping[int, int]
    adopted: frozenset[int]
    infinite: Mapping[int, frozenset[int]]
    millis: frozenset[int]

    @classmethod
    def of(cls, reader: LakeReader, table: Table, columns: Sequence[Column]) -> _Doubts:
        leaves = [c for column in columns for c in column.walk() if not c.children]
        former = reader.former_types(table)
        ended = {
            leaf.id: [end for old, end in former[leaf.id].items() if not _widens(old, leaf.type)]
            for leaf in leaves
            if leaf.id in former
        }
        millis = frozenset(leaf.id for leaf in leaves if leaf.type.name == "timestamp_ms")
        known = reader.files(table, stats_of=millis) if millis else []
        return cls(
            mark=table.mark,
            retyped={leaf_id: max(ends) for leaf_id, ends in ended.items() if ends},
            adopted=frozenset(leaf.id for leaf in leaves if leaf.type.name in _ADOPTED),
            infinite={file.id: _maybe_infinite(file, millis) for file in known},
            millis=millis,
        )

    @property
    def are_none(self) -> bool:
        return not (self.retyped or self.adopted or self.millis)

    def about(self, file: DataFile) -> frozenset[int]:
        retyped = {i for i, until in self.retyped.items() if file.begin_snapshot <= until}
        is_adopted = file.mapping_id is not None and not is_of_table(file.path, self.mark)
        adopted = self.adopted if is_adopted else frozenset()
        return self.infinite.get(file.id, self.millis) | adopted | retyped


def _maybe_infinite(file: DataFile, leaves: frozenset[int]) -> frozenset[int]:
    def is_finite(leaf_id: int) -> bool:
        stats = file.stats.get(leaf_id)
        if stats is None or stats.value_count is None:
            return False
        bounds = (stats.min_value, stats.max_value)
        return stats.value_count == 0 or not any(b is None or "inf" in b for b in bounds)

    return frozenset(leaf_id for leaf_id in leaves if not is_finite(leaf_id))


def _widens(old: DataType, new: DataType) -> bool:
    """Whether Spark reads a file's values as those of another type, and rightly."""
    pair = old.name, new.name
    if old.name in SIGNED or old.name in _SMALL:
        return new.name in SIGNED or pair in (("uint8", "uint16"), *((s, "uint32") for s in _SMALL))
    return old.name == new.name == "decimal" or pair in _WIDENED_BY_SPARK


def _held(
    file: DataFile, columns: Sequence[Column], mapping: NameMapping | None, wanted: frozenset[int]
) -> Held:
    footer = read_footer(file.path)
    if mapping is not None:
        columns = _as_called(columns, mapping.columns)
    found: dict[int, Primitive] = {}
    for leaf in leaves_of(footer.schema, columns, by_name=mapping is not None):
        held = type_of(footer.metadata.schema.column(leaf.index))
        if leaf.column.id not in wanted or held is None:
            continue
        if held.name == "timestamp_ms":
            held = RAW_MILLIS
        is_usual = held == leaf.column.type or (
            held.name == "float64" and leaf.column.type.name in _WIDE
        )
        if not is_usual:
            found[leaf.column.id] = held
    return tuple(found.items())


def _as_called(columns: Sequence[Column], entries: Sequence[MappedName]) -> tuple[Column, ...]:
    """The columns under the names that a mapping gives."""
    sources = {entry.field_id: entry for entry in entries}
    return tuple(
        replace(
            column,
            name=sources[column.id].source_name,
            children=_as_called(column.children, sources[column.id].children),
        )
        for column in columns
        if column.id in sources
    )


def _conversion(old: Primitive, leaf: Column) -> Conversion:
    new = leaf.type
    if old.name == "float64" and new.name == "decimal":  # what was a 128-bit integer
        return lambda value: decode.whole_number(value).cast(shown_type(leaf))
    if old.name in _NUMBERS and new.name in (*_NUMBERS, *_WIDE):
        return lambda value: value.cast(shown_type(leaf))
    if old.name == "date" and new.name in (*_MOMENTS, "timestamptz"):
        return decode.midnight if new.name != "timestamptz" else decode.midnight_of_utc
    if old.name in _MOMENTS and new.name in _MOMENTS:
        return _same
    if (old.name, new.name) == ("varchar", "json"):
        return _same
    raise UnsupportedFeatureError(
        f"Column {leaf.name!r} is {new}, and files hold it as {old}, which Spark cannot read as "
        "that.",
        hint="Leave the column out, or read the table with DuckDB.",
    )


def _same(value: Expression) -> Expression:
    return value
