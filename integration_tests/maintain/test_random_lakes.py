"""What DuckDB has made of random lakes is compacted by us, and goes on being DuckDB's."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from ducklake_spark.maintain import flush_inlined_data, merge_adjacent_files, rewrite_data_files
from ducklake_spark.session import Session
from support.budget import seeds
from support.histories import History, play
from support.lakes import file_lake
from support.shared_duck import SharedDuck
from support.unharmed import unharmed


@pytest.mark.parametrize("seed", seeds(2, 40))
def test_a_random_lake_is_compacted_unharmed(tmp_path: Path, session: Session, seed: int) -> None:
    """Inlined rows and deletes, columns that came, went and widened, partitions, sort orders."""
    lake = file_lake("sqlite", tmp_path)
    done = play(lake, History(seed), 16)
    with lake.open() as catalog:
        tables = [entry.name.name for entry in catalog.at().tables("main")]

    def compact() -> None:
        with lake.open() as catalog:
            flush_inlined_data(catalog, session)
            rewrite_data_files(catalog, session, delete_threshold=0.0)
            merge_adjacent_files(catalog, session)

    def checkpoint() -> None:
        with SharedDuck(lake) as duck:
            duck.run("CHECKPOINT")

    try:
        for upkeep in (compact, checkpoint):
            with ExitStack() as all_tables:
                for name in tables:
                    all_tables.enter_context(unharmed(lake, name, by_duckdb=upkeep is checkpoint))
                upkeep()
    except Exception as error:
        error.add_note(f"seed {seed}, after\n" + "\n".join(done))
        raise
