"""Rules of transactions, history and upkeep, by all three clients."""

from __future__ import annotations

from hypothesis import strategies as st

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.sql.failures import SPARK_ERRORS
from support.machine.conditions import some
from support.machine.definition_rules import DefinitionRules
from support.machine.hands import Duck, Hand, OpenTransaction, SlowRead, content_of, difference
from support.machine.model import put, remade
from support.machine.world import OURS, WHO, Client, first_line, turn

OUR_UPKEEP = (
    "CALL lake.merge_adjacent_files()",
    "CALL lake.rewrite_data_files(delete_threshold => 0.0)",
    "CALL lake.flush_inlined_data()",
)
DUCKS_UPKEEP = (
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.0)",
    "CALL ducklake_flush_inlined_data('lake')",
)


class LakeMachine(DefinitionRules):
    # --- transactions ---

    @turn(1, when=lambda self: not self.is_in_transaction, who=OURS)
    def begin(self, data: st.DataObject, who: str) -> None:
        self._begin(self.hands[who])

    @turn(2, when=lambda self: not self.is_in_transaction, who=OURS, other=WHO)
    def begin_and_tidy(self, data: st.DataObject, who: str, other: str) -> None:
        """Begin a transaction, and expire what it reads: by chance alone this would be rare."""
        self._begin(self.hands[who])
        self._take_part(self.hands[who])
        self._check_ours(self.hands[who], data)
        self._tidy(data, self.free_client(other))

    def _begin(self, hand: Hand) -> None:
        self.note(hand, "BEGIN")
        hand.lake.begin()
        hand.open = OpenTransaction()

    @turn(3, when=lambda self: self.is_in_transaction)
    def end(self, data: st.DataObject) -> None:
        """Commit, or sometimes roll back, or sometimes begin a transaction of the other client."""
        hand = data.draw(st.sampled_from([h for h in self.hands.values() if h.open is not None]))
        match data.draw(st.integers(0, 6), "end"):
            case 5:
                self.note(hand, "ROLLBACK")
                hand.lake.rollback()
                hand.open = None
                self.landed(self.state)
            case 6:
                for other in self.hands.values():
                    if other.open is None:
                        self._begin(other)
            case _:
                self.commit(hand)

    # --- reading ---

    @turn(1, who=OURS)
    def read_elsewhere(self, data: st.DataObject, who: str) -> None:
        """Read an old snapshot, or plan a query that runs some steps later."""
        hand = self.hands[who]
        if hand.slow is not None:
            self._end_slow_read(hand, hand.slow)
        elif hand.open is None and data.draw(st.booleans(), "slowly"):
            table = self.any_table(data, hand)
            self.note(hand, f"plans SELECT * FROM {table}")
            frame = hand.lake.sql(f"SELECT * FROM {table}")
            hand.slow = SlowRead(frame, table.content, table.name)
        else:
            self._look_back(data, hand)

    def _look_back(self, data: st.DataObject, hand: Hand) -> None:
        """Read every table of an old snapshot. Time travel does not see an open transaction."""
        version = data.draw(some(sorted(self.states)), "version")
        for table in self.states[version].values():
            query = f"SELECT * FROM {table} VERSION AS OF {version}"
            self.note(hand, query)
            self._compare(hand, query, table, hand.read(query))

    def _end_slow_read(self, hand: Hand, slow: SlowRead) -> None:
        """Run a planned query. If its files are removed meanwhile, it must fail."""
        hand.slow = None
        self.note(hand, f"runs SELECT * FROM {slow.table}")
        try:
            found = content_of(slow.frame.toArrow())
        except (DuckLakeError, *SPARK_ERRORS) as error:
            self.note(hand, f"  -> {type(error).__name__}: {first_line(error)}")
            return
        assert found == slow.expected, difference(found, slow.expected)

    # --- history ---

    @turn(2, who=WHO)
    def tidy(self, data: st.DataObject, who: str) -> None:
        """Expire one old snapshot, or replace the files of a table and expire all old snapshots.

        Open transactions may be reading them.
        """
        self._tidy(data, self.free_client(who))

    def _tidy(self, data: st.DataObject, client: Client) -> None:
        table = self.any_table(data, client)
        old = sorted(self.states.keys() - {self.newest})
        match data.draw(st.integers(0, 4), "how"):
            case 4 if old:
                self._expire(client, {data.draw(some(old), "snapshot")})
                return
            case 0:
                self.act(
                    client,
                    f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM {table}",
                    lambda state: put(state, remade(state[table.name])),
                )
            case 1:
                self.act(
                    client,
                    f"DELETE FROM {table}",
                    lambda state: put(state, state[table.name].without(table.rows)),
                )
            case _:
                self._compact(data, client)
        self._expire(client, set(self.states) - {self.newest})
        if data.draw(st.booleans(), "files too"):
            self._clean_up(client)

    def _expire(self, client: Client, gone: set[int]) -> None:
        if not gone:
            return
        listed = ", ".join(map(str, sorted(gone)))
        if isinstance(client, Duck):
            call = f"CALL ducklake_expire_snapshots('lake', versions => [{listed}])"
        else:
            call = f"CALL lake.expire_snapshots(versions => array({listed}))"
        self._call(client, call)
        self.expired(gone)

    @turn(1, when=lambda self: not self.is_in_transaction, who=OURS)
    def roll_back(self, data: st.DataObject, who: str) -> None:
        hand = self.hands[who]
        # The other rules need tables, so skip snapshots without them.
        able = sorted(version for version, state in self.states.items() if {"t", "u"} <= set(state))
        version = data.draw(some(able), "version")
        then = self.states[version]
        self.act(hand, f"CALL lake.rollback(snapshot_version => {version})", lambda _: then)

    # --- files ---

    @turn(2, who=WHO)
    def compact(self, data: st.DataObject, who: str) -> None:
        """Merge files, rewrite files with deletes, or flush inlined rows."""
        self._compact(data, self.free_client(who))

    def _compact(self, data: st.DataObject, client: Client) -> None:
        duck = isinstance(client, Duck)
        self.duck_tidied |= duck
        call = data.draw(st.sampled_from(DUCKS_UPKEEP if duck else OUR_UPKEEP), "upkeep")
        self.act(client, call, lambda state: state)

    @turn(2, who=WHO)
    def remove_files(self, data: st.DataObject, who: str) -> None:
        """Remove the files of expired snapshots, or orphaned files.

        With cleanup_all, files of open transactions are orphaned too. DuckDB's own function for
        orphaned files removes files of others, so it is not called.
        """
        client = self.free_client(who)
        if client is self.duck or self.is_in_transaction or data.draw(st.booleans(), "old"):
            self._clean_up(client)
        else:
            self._call(client, "CALL lake.delete_orphaned_files(cleanup_all => true)")

    def _clean_up(self, client: Client) -> None:
        if isinstance(client, Duck):
            self._call(client, "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
        else:
            self._call(client, "CALL lake.cleanup_old_files(cleanup_all => true)")

    def _call(self, client: Client, call: str) -> None:
        """Call a procedure that makes no snapshot."""
        self.note(client, call)
        client.run(call)
