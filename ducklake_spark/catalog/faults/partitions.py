"""Faults of partitioning: specifications, and files whose values contradict them or the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Row, and_, func, select

from ducklake_spark.catalog.faults.check import MAKE_ANEW, Finder, Scope, error, of
from ducklake_spark.catalog.versions import current_format
from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.spec import tables
from ducklake_spark.spec.faults import Fault, Severity
from ducklake_spark.spec.partitions import parse_transform, partition_value
from ducklake_spark.spec.stats import ColumnStats, bounds
from ducklake_spark.spec.types import FLOATS, DataType, parse_type

_f, _i, _k = tables.data_file.c, tables.partition_info.c, tables.partition_column.c
_v, _c, _s = tables.file_partition_value.c, tables.column.c, tables.file_column_stats.c
_AGAIN = "ALTER TABLE … SET PARTITIONED BY (…) again."

_KEYS = select(_k.partition_id, func.count().label("keys")).group_by(_k.partition_id).subquery()
_VALUES = (
    select(
        _v.data_file_id,
        func.count().label("values"),
        func.count(_v.partition_key_index.distinct()).label("different"),
    )
    .group_by(_v.data_file_id)
    .subquery()
)
_COUNTS = (
    select(
        of(_f.table_id),
        _f.data_file_id,
        _f.path,
        _f.partition_id,
        func.coalesce(_KEYS.c["keys"], 0).label("wanted"),
        func.coalesce(_VALUES.c["values"], 0).label("found"),
        func.coalesce(_VALUES.c.different, 0).label("different"),
    )
    .select_from(
        tables.data_file.outerjoin(_KEYS, _KEYS.c.partition_id == _f.partition_id).outerjoin(
            _VALUES, _VALUES.c.data_file_id == _f.data_file_id
        )
    )
    .subquery()
)
_BROKEN_COUNTS = select(_COUNTS).where(
    (_COUNTS.c.wanted != _COUNTS.c.found) | (_COUNTS.c.found != _COUNTS.c.different)
)

_LIVING = (
    select(_c.table_id, _c.column_id)
    .where(_c.end_snapshot.is_(None), _c.parent_column.is_(None))
    .distinct()
    .subquery()
)
_LOST_COLUMN = (
    select(of(_i.table_id), _k.column_id, _k.transform)
    .select_from(
        tables.partition_info.join(
            tables.partition_column, _k.partition_id == _i.partition_id
        ).outerjoin(
            _LIVING,
            and_(_LIVING.c.table_id == _i.table_id, _LIVING.c.column_id == _k.column_id),
        )
    )
    .where(_i.end_snapshot.is_(None), _LIVING.c.column_id.is_(None))
)


def transforms(scope: Scope) -> Iterator[Fault]:
    """Every transform is one that other clients know."""
    epochs = current_format(scope.connection).has_epoch_transforms
    for row in scope.rows(select(of(_k.table_id), _k.transform, _k.partition_id)):
        try:
            parse_transform(row.transform, epochs=epochs)
        except InvalidDefinitionError:
            yield Fault(
                Severity.ERROR,
                "unknown-transform",
                scope.name(row.relation_id),
                f"The partitioning {row.partition_id} is by {row.transform!r}, which nobody knows: "
                "the table cannot be read.",
                _AGAIN,
            )


# The key of a file, the file's bounds in its column, and the type the column has now.
_KEYS_AND_BOUNDS = select(
    of(_f.table_id),
    _f.data_file_id,
    _f.path,
    _k.transform,
    _v.partition_value,
    _c.column_type,
    *(_s[name] for name in ColumnStats.__dataclass_fields__),
).select_from(
    tables.data_file.join(tables.partition_column, _k.partition_id == _f.partition_id)
    .join(
        tables.file_partition_value,
        and_(
            _v.data_file_id == _f.data_file_id,
            _v.partition_key_index == _k.partition_key_index,
        ),
    )
    .join(
        tables.file_column_stats,
        and_(_s.data_file_id == _f.data_file_id, _s.column_id == _k.column_id),
    )
    .join(
        tables.column,
        and_(
            _c.table_id == _f.table_id,
            _c.column_id == _k.column_id,
            # As it was when the file was written: a wider type has other values.
            _c.begin_snapshot <= _f.begin_snapshot,
            func.coalesce(_c.end_snapshot, _f.begin_snapshot + 1) > _f.begin_snapshot,
        ),
    )
)


def values(scope: Scope) -> Iterator[Fault]:
    """A file's lowest and highest value are in the partition that the catalog says it is in."""
    for row in scope.rows(_KEYS_AND_BOUNDS):
        found = _values_of_bounds(row)
        if not found <= {row.partition_value}:
            shown = " and ".join(sorted(map(repr, found - {row.partition_value})))
            yield Fault(
                Severity.ERROR,
                "partition-value-wrong",
                scope.name(row.relation_id),
                f"Data file {row.data_file_id} ({row.path}) is in the partition {row.transform} = "
                f"{row.partition_value!r}, and has rows of {shown}: queries of them skip it.",
                MAKE_ANEW,
            )


def _values_of_bounds(row: Row[Any]) -> set[str | None]:
    try:
        data_type: DataType = parse_type(row.column_type)
        transform = parse_transform(row.transform, epochs=True)
    except InvalidDefinitionError:
        return set()  # other checks tell of that
    if data_type.name in FLOATS:
        return set()  # bounds of these are widened a little
    stats = ColumnStats(**{name: row._mapping[name] for name in ColumnStats.__dataclass_fields__})
    return {
        partition_value(transform, bound, data_type)
        for bound in bounds(stats, data_type)
        if bound is not None
    }


FINDERS: tuple[Finder, ...] = (
    transforms,
    error(
        "partition-values-missing",
        _BROKEN_COUNTS.where(_COUNTS.c.partition_id.is_not(None)),
        "Data file {data_file_id} ({path}) has {found} partition values, {different} of them "
        "different keys; its partitioning {partition_id} has {wanted}.",
        MAKE_ANEW,
    ),
    error(
        "partition-values-without-partitioning",
        _BROKEN_COUNTS.where(_COUNTS.c.partition_id.is_(None)),
        "Data file {data_file_id} ({path}) has {found} partition values and no partitioning: "
        "DuckDB refuses the file.",
        "Delete its rows from ducklake_file_partition_value.",
    ),
    error(
        "partitioned-by-missing-column",
        _LOST_COLUMN,
        "The table is partitioned by {transform} of column {column_id}, which it does not have.",
        _AGAIN,
    ),
    values,
)
