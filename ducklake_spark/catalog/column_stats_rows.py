"""What the catalog says of a table's columns over all its files, widened as files come (rule 1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import BigInteger, Connection, and_, bindparam, delete, update

from ducklake_spark.catalog.batch import Batch, values_of
from ducklake_spark.catalog.files import has_only_nulls, read_table_column_stats
from ducklake_spark.spec import tables
from ducklake_spark.spec.model import Column
from ducklake_spark.spec.stats import ColumnStats, TableColumnStats, widen_by_all

_OF_COLUMN = and_(
    tables.table_column_stats.c.table_id == bindparam("of_table", type_=BigInteger),
    tables.table_column_stats.c.column_id == bindparam("of_column", type_=BigInteger),
)
_UPDATE = update(tables.table_column_stats).where(_OF_COLUMN)
_DELETE = delete(tables.table_column_stats).where(_OF_COLUMN)

# A primitive column with what each file says of it; None where one says nothing.
Added = tuple[Column, Sequence[ColumnStats | None]]


def widen_column_stats(
    batch: Batch,
    connection: Connection,
    table_id: int,
    added: Iterable[Added],
    *,
    first_data: bool = False,
) -> None:
    """Widen what is known of columns; what cannot be known any more loses its row."""
    known = read_table_column_stats(connection, table_id)
    for leaf, stats in added:
        before = known.get(leaf.id)
        after = _widened(connection, table_id, leaf, before, stats, first_data)
        _write(batch, table_id, leaf.id, before, after)


def _widened(
    connection: Connection,
    table_id: int,
    leaf: Column,
    before: TableColumnStats | None,
    added: Sequence[ColumnStats | None],
    first_data: bool,
) -> TableColumnStats | None:
    complete = [stats for stats in added if stats is not None]
    if len(complete) < len(added):
        return None
    # Asked only where it decides anything, for the answer may take a look at every file.
    only_nulls = (
        before is not None
        and before.min_value is None
        and any(stats.min_value is not None for stats in complete)
        and has_only_nulls(connection, table_id, leaf.id)
    )
    return widen_by_all(before, complete, leaf.type, first_data=first_data, only_nulls=only_nulls)


def _write(
    batch: Batch,
    table_id: int,
    column_id: int,
    before: TableColumnStats | None,
    after: TableColumnStats | None,
) -> None:
    of = {"of_table": table_id, "of_column": column_id}
    if after == before:
        return
    if after is None:
        batch.repeat(_DELETE, **of)
    elif before is None:
        batch.add(tables.table_column_stats, table_id=table_id, **values_of(after))
    else:
        batch.repeat(_UPDATE, **of, **values_of(after))
