"""Clients that write at the same time leave a history as if one had written after the other."""

from __future__ import annotations

import pytest

from support.budget import FULL
from support.clients import in_processes, prepare_shared, run_client
from support.lakes import LakeAddress
from support.oracle import Oracle
from support.replay import check_totals, replayed, state_of

SEEDS = range(5) if FULL else range(1)
CLIENTS = {"postgres": 8, "sqlite": 4}
TRANSACTIONS = 200 if FULL else 20
CHECKED = 200  # of long histories, not every snapshot


@pytest.mark.timeout(1800 if FULL else 300)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_history_of_many_clients_has_a_serial_order(shared_lake: LakeAddress, seed: int) -> None:
    first = prepare_shared(shared_lake)
    clients = CLIENTS[shared_lake.kind] if FULL else 4
    orders = [(shared_lake, number, TRANSACTIONS, seed) for number in range(1, clients + 1)]
    logs = in_processes(run_client, orders)
    with shared_lake.open() as catalog:
        start = state_of(catalog.at(first))
        states = replayed(start, first, logs)
        assert catalog.snapshot().id == max(states)
        for snapshot in [*sorted(states)[:: max(1, len(states) // CHECKED)], max(states)]:
            seen = state_of(catalog.at(snapshot))
            assert seen == states[snapshot], f"snapshot {snapshot}, seed {seed}"
        for read in (read for log in logs for read in log.read):
            assert read.first == read.second == states[read.snapshot], f"seed {seed}"
        check_totals(catalog, shared_lake.dump())
    with Oracle(shared_lake) as duck:
        for snapshot in sorted(states)[:: max(1, len(states) // 10)]:
            for table, ids in states[snapshot].items():
                at = f"{table} AT (VERSION => {snapshot})"
                assert duck.value(f"SELECT count(*) FROM {at}") == len(ids)
                assert {row[0] for row in duck.rows(f"SELECT id FROM {at}")} == ids
