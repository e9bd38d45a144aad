"""What the catalog keeps of a file, whoever added or replaced it."""

from __future__ import annotations

import datetime
from typing import Any

from ducklake_spark.catalog.batch import Batch, values_of
from ducklake_spark.spec import tables
from ducklake_spark.spec.model import NewDataFile
from ducklake_spark.spec.paths import stored_below


def add_facts(batch: Batch, table_id: int, file_id: int, new: NewDataFile) -> None:
    """Collect the statistics and partition values of a data file."""
    owner = {"data_file_id": file_id, "table_id": table_id}
    for stats in new.stats:
        batch.add(tables.file_column_stats, **owner, **values_of(stats))
    for at, value in enumerate(new.partition_values):
        batch.add(
            tables.file_partition_value, **owner, partition_key_index=at, partition_value=value
        )


def schedule_deletion(batch: Batch, data_path: str, file_id: int, path: str) -> None:
    """Let a clean-up remove a file that no row names any more."""
    row = scheduled_row(data_path, file_id, path, batch.time)
    batch.add(tables.files_scheduled_for_deletion, **row)


def scheduled_row(
    data_path: str, file_id: int, path: str, now: datetime.datetime
) -> dict[str, Any]:
    """The row that lets a clean-up remove a file."""
    stored = stored_below(data_path, path)
    return {
        "data_file_id": file_id,
        "path": stored.path,
        "path_is_relative": stored.is_relative,
        "schedule_start": now,
    }
