"""The answer to COMMIT gets lost: nothing is lost or doubled, and the caller is told right."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.config import CommitSettings
from ducklake_spark.errors import CommitUnknownError
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.parquet import append, delete_positions
from support.proxy import BEGIN, COMMIT, CommitCutter, Cut

SEED = 20261118
CUTS = 50


@dataclass
class Broken:
    """A lake that we reach through a proxy, and the oracle directly."""

    direct: LakeAddress
    proxied: LakeAddress
    proxy: CommitCutter

    def open(self, **settings: float) -> Catalog:
        return self.proxied.open(commit_settings=CommitSettings(**settings))  # type: ignore[arg-type]


@pytest.fixture
def broken(make_lake: Callable[[str], LakeAddress], postgres_conninfo: str) -> Iterator[Broken]:
    if not postgres_conninfo.startswith("host=/"):
        pytest.skip("the proxy speaks through Unix sockets, and the server given is elsewhere")
    direct = make_lake("postgres")
    server = postgres_conninfo.split()[0].removeprefix("host=")
    # A socket's path has little room, less than a test's own folder takes.
    with tempfile.TemporaryDirectory() as folder:
        proxy = CommitCutter(Path(folder), server)
        catalog = direct.catalog.replace(f"host={server}", f"host={folder}")
        yield Broken(direct, LakeAddress("postgres", catalog, direct.data_path), proxy)
        proxy.close()


def test_fifty_cuts_lose_nothing_and_double_nothing(broken: Broken) -> None:
    rng = random.Random(SEED)
    model: Counter[int] = Counter()
    with broken.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", [Field("id", "int32")])
        for step in range(CUTS):
            broken.proxy.cut = rng.choice([Cut.BEFORE, Cut.AFTER])
            operation = rng.choice([append_one, append_one, delete_one, create_one, alter_one])
            before = catalog.snapshot().id
            with catalog.transaction(message=f"step {step}") as tx:
                operation(tx, step, model)
                result = tx.commit()
            assert (result.snapshot_id, result.is_new) == (before + 1, True), f"step {step}"
            assert catalog.snapshot().id == before + 1, f"step {step}"
        assert broken.proxy.cuts == CUTS
        messages = [commit.message for commit in catalog.commits() if commit.message]
        assert messages == [f"step {step}" for step in range(CUTS)]
    with Oracle(broken.direct) as duck:
        assert Counter(row[0] for row in duck.rows("SELECT id FROM t")) == model
        assert duck.value("SELECT count(*) FROM t") == model.total()
        duck.run("INSERT INTO t (id) VALUES (1)")


def append_one(tx, step: int, model: Counter[int]) -> None:  # type: ignore[no-untyped-def]
    append(tx, "t", [{"id": step}, {"id": -step}])
    model.update([step, -step])


def delete_one(tx, step: int, model: Counter[int]) -> None:  # type: ignore[no-untyped-def]
    files = [file for file in tx.files(tx.table("t"), stats_of=[1]) if file.delete_file is None]
    if not files:
        return append_one(tx, step, model)
    low = int(files[0].stats[1].min_value or 0)
    delete_positions(tx, "t", files[0], [0])
    # The rows were written as step, -step: the first of them is the greater one.
    model.subtract([-low])
    model += Counter()
    for key in [key for key, count in model.items() if count == 0]:
        del model[key]
    return None


def create_one(tx, step: int, model: Counter[int]) -> None:  # type: ignore[no-untyped-def]
    tx.create_table(f"other_{step}", [Field("a", "varchar")], comment="one of many")


def alter_one(tx, step: int, model: Counter[int]) -> None:  # type: ignore[no-untyped-def]
    tx.add_column("t", Field(f"c{step}", "int32"))


def test_a_server_that_does_not_notice_the_cut_is_made_to_decide(broken: Broken) -> None:
    with broken.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", [Field("id", "int32")])
        broken.proxy.cut = Cut.SILENT
        with catalog.transaction() as tx:
            append(tx, "t", [{"id": 7}])
            assert tx.commit().attempts == 2
    with Oracle(broken.direct) as duck:
        assert duck.rows("FROM t") == [(7,)]


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
def test_a_server_that_stays_away_leaves_the_caller_with_an_honest_answer(
    broken: Broken, cut: Cut
) -> None:
    with broken.open(give_up_after_s=1.0) as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", [Field("id", "int32")])
        tx = catalog.transaction()
        file = append(tx, "t", [{"id": 7}])
        broken.proxy.cut = cut
        broken.proxy.refuses = True
        with pytest.raises(CommitUnknownError) as caught:
            tx.commit()
        broken.proxy.refuses = False
        assert "snapshot 2" in str(caught.value)
        assert "inserted_into_table:1" in str(caught.value)
        assert Path(file.path).exists()
        landed = catalog.snapshot().id == 2
    assert landed is (cut is Cut.AFTER)


@pytest.mark.parametrize("command", [BEGIN, COMMIT])
def test_a_command_with_two_replies_is_a_lost_connection(broken: Broken, command: bytes) -> None:
    """psycopg raises "received 2 results from command 'BEGIN …'" and keeps the connection open."""
    with broken.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_table("t", [Field("id", "int32")])
        broken.proxy.confused = BEGIN
        assert catalog.snapshot().id == 1
        with catalog.transaction() as tx:
            append(tx, "t", [{"id": 7}])
            broken.proxy.confused = command
            assert tx.commit().snapshot_id == 2
        assert broken.proxy.confused is None
        assert catalog.snapshot().id == 2
    with Oracle(broken.direct) as duck:
        assert duck.rows("FROM t") == [(7,)]


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
def test_upkeep_is_repeated_after_a_lost_reply(broken: Broken, cut: Cut) -> None:
    """It makes no snapshot, and doing it twice does no harm."""
    with broken.open() as catalog:
        for name in ("t", "u"):
            with catalog.transaction() as tx:
                tx.create_table(name, [Field("id", "int32")])
        broken.proxy.cut = cut
        catalog.expire([0, 1])
        assert broken.proxy.cuts == 1
        assert [commit.snapshot.id for commit in catalog.commits()] == [2]
        assert catalog.faults() == []
    with Oracle(broken.direct) as duck:
        assert duck.rows("FROM t") == []
