"""One lake, three clients, and a model that predicts what each client reads after every step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import duckdb
import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from ducklake_spark.errors import CommitConflictError, DuckLakeError
from ducklake_spark.maintain import verify
from ducklake_spark.session import Session
from ducklake_spark.sql.failures import SPARK_ERRORS
from support.lakes import LakeAddress
from support.machine.cells import DUCK, key, short
from support.machine.conditions import Condition, bounds_of, conditions, matching, some
from support.machine.foreign_files import ForeignFiles
from support.machine.hands import Duck, Hand, OpenTransaction, columns_of, content_of, difference
from support.machine.model import BASE, Row, State, Table, new_table, put, rebased, same

ZONES = ("UTC", "Europe/Oslo", "America/New_York", "Asia/Kolkata", "Pacific/Apia")
WHO = st.sampled_from(["A", "B", "duck"])
OURS = st.sampled_from(["A", "B"])
Effect = Callable[[State], State]
Client = Hand | Duck

# Faults that DuckDB 1.5.5 leaves behind by its own upkeep (test_verify_healthy lists them too).
_OF_DUCKDB = {
    "outlives-its-owner",
    "table-statistics-hollow",
    "table-statistics-narrow",
    "two-delete-files",
}


@dataclass(frozen=True)
class Turn:
    """A kind of step: how often it is chosen, while which condition holds, and its arguments."""

    function: Callable[..., None]
    weight: int
    when: Callable[[Any], bool]
    strategies: Mapping[str, st.SearchStrategy[Any]]


def turn(
    weight: int = 1, when: Callable[[Any], bool] = lambda _: True, **strategies: Any
) -> Callable[[Callable[..., None]], Any]:
    """Make a method one of the steps that the machine chooses from."""

    def wrap(function: Callable[..., None]) -> Turn:
        return Turn(function, weight, when, strategies)

    return wrap


def first_rows(first: int) -> list[Row]:
    """Return the first rows of both tables: five values of each column."""
    listed = []
    for at in range(first, first + 5):
        values = (column.kind.values[at % len(column.kind.values)] for column in BASE[1:])
        listed.append((at - first + 1, *values))
    return listed


def _as_values(table: Table, who: Client) -> str:
    """Return AS SELECT … for the rows of a new table."""
    rows = (
        ", ".join(
            who.dialect.literal(cell, column.kind)
            for cell, column in zip(row, table.columns, strict=True)
        )
        for row in table.rows.values()
    )
    listed = ", ".join(f"({row})" for row in rows)
    return f"AS SELECT * FROM (VALUES {listed}) AS v({columns_of(table)})"


class World(RuleBasedStateMachine):
    """The clients, the model, and the check after every step. The rules are in subclasses."""

    session: ClassVar[Session]
    make_address: ClassVar[Callable[[], LakeAddress]]

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []
        self.states: dict[int, State] = {}
        self.newest = -1
        self.duck_tidied = False
        self.hands: dict[str, Hand] = {}

    @initialize(
        zone_a=st.sampled_from(ZONES), zone_b=st.sampled_from(ZONES), first=st.integers(0, 5)
    )
    def start(self, zone_a: str, zone_b: str, first: int) -> None:
        """Create table t with Spark and table u with DuckDB, which inlines its rows.

        `first` chooses their rows.
        """
        # Hypothesis tries the simplest choices first, for every seed. Rejecting these makes the
        # one example of a seed a random one.
        assume(zone_a != zone_b)
        self.address = type(self).make_address()
        self.hands = {
            name: Hand(name, self.session, self.address, zone)
            for name, zone in (("A", zone_a), ("B", zone_b))
        }
        self.duck = Duck(self.address)
        tables = [new_table(name, first_rows(first)) for name in ("t", "u")]
        self.hands["A"].run(f"CREATE TABLE t {_as_values(tables[0], self.hands['A'])}")
        self.duck.run(f"CREATE TABLE u {_as_values(tables[1], self.duck)}")
        self.foreign = ForeignFiles(self.address.data_folder)
        for snapshot in self._snapshots():
            self.states[snapshot] = {}
        self.newest = max(self.states)
        self.states[self.newest - 1] = one = put({}, tables[0])
        self.states[self.newest] = put(one, tables[1])

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        """Take one step, and check all clients after it.

        One rule has all steps: of several rules Hypothesis would leave out half in each example.
        """
        able = {name: each for name, each in self._turns() if each.when(self)}
        names = [name for name, each in able.items() for _ in range(each.weight)]
        chosen = able[data.draw(st.sampled_from(names), "step")]
        arguments = {name: data.draw(given, name) for name, given in chosen.strategies.items()}
        try:
            chosen.function(self, data, **arguments)
            self.look(data)
        except Exception as error:
            error.add_note("\n".join(["The statements so far:", *self.done]))
            raise

    @classmethod
    def _turns(cls) -> list[tuple[str, Turn]]:
        found = {
            name: each
            for base in reversed(cls.__mro__)
            for name, each in vars(base).items()
            if isinstance(each, Turn)
        }
        return sorted(found.items())

    def teardown(self) -> None:
        for hand in self.hands.values():
            hand.close()

    # --- who and what ---

    @property
    def state(self) -> State:
        return self.states[self.newest]

    def client(self, name: str) -> Client:
        return self.duck if name == "duck" else self.hands[name]

    def free_client(self, name: str) -> Client:
        """Return the client, or another one if that has a transaction open."""
        clients = [self.client(name), *self.hands.values(), self.duck]
        return next(client for client in clients if client.open is None)

    def seen_by(self, who: Client) -> State:
        """Return what a client sees: the state in its open transaction, or the newest one."""
        return self.state if who.open is None or who.open.view is None else who.open.view

    def any_table(self, data: st.DataObject, who: Client) -> Table:
        return data.draw(st.sampled_from(sorted(self.seen_by(who).values(), key=repr)), "table")

    def base_is_expired(self, who: Client) -> bool:
        transaction = who.open
        return (
            transaction is not None
            and transaction.snapshot is not None
            and transaction.snapshot not in self.states
        )

    @property
    def is_in_transaction(self) -> bool:
        return any(hand.open is not None for hand in self.hands.values())

    # --- doing ---

    def act(self, who: Client, sql: str, effect: Effect) -> None:
        """Run a statement, and apply its effect to the model.

        It must succeed, unless it belongs to a transaction whose snapshot was expired.
        """
        self.note(who, sql)
        self._take_part(who)
        try:
            who.run(sql)
        except (DuckLakeError, duckdb.Error) as error:
            self.note(who, f"  -> {type(error).__name__}: {error}")
            if isinstance(error, DuckLakeError) and self.base_is_expired(who):
                return
            raise
        if who.open is not None and who.open.view is not None:
            who.open.view = effect(who.open.view)
        else:
            self.landed(effect(self.state))

    def _take_part(self, who: Client) -> None:
        """Fix the snapshot of an open transaction, which its first statement does."""
        if who.open is not None and who.open.snapshot is None:
            who.open = OpenTransaction(self.newest, self.state, self.state)  # type: ignore[misc]

    def landed(self, state: State) -> None:
        """Record the new snapshots. Without a new one, the state must be the same."""
        known = self._snapshots()
        new = [snapshot for snapshot in known if snapshot > self.newest]
        if not new:
            assert same(state, self.state), (
                "The statement made no snapshot, but should have changed the lake."
            )
        self.states |= dict.fromkeys(new, state)
        self.newest = max(known)
        self._check_snapshots(known)

    def commit(self, hand: Hand) -> None:
        """Commit the open transaction. It must land or fail with a named conflict."""
        self.note(hand, "COMMIT")
        transaction, others = hand.open, hand.open and hand.open.snapshot != self.newest
        expired = self.base_is_expired(hand)
        hand.open = None
        try:
            hand.lake.commit()
        except DuckLakeError as error:
            self.note(hand, f"  -> {type(error).__name__}: {error}")
            if not expired and not (others and isinstance(error, CommitConflictError)):
                raise
            self.landed(self.state)
            return
        if transaction is None or transaction.view is None or transaction.base is None:
            return
        self.landed(rebased(transaction.base, transaction.view, self.state))

    def expired(self, gone: set[int]) -> None:
        """Forget snapshots that were expired."""
        self.states = {s: state for s, state in self.states.items() if s not in gone}
        self._check_snapshots(self._snapshots())

    def _snapshots(self) -> list[int]:
        commits = self.hands["A"].lake.catalog().commits()
        return sorted(commit.snapshot.id for commit in commits)

    def _check_snapshots(self, known: list[int]) -> None:
        assert known == sorted(self.states), (known, sorted(self.states))

    def note(self, who: object, text: str) -> None:
        self.done.append(f"  {who}: {short(text)}")

    # --- looking ---

    def look(self, data: st.DataObject) -> None:
        """Compare what all clients read with the model, and run verify."""
        self.foreign.check()
        self._check_duck(data)
        for at, hand in enumerate(self.hands.values()):
            if hand.open is not None or at == len(self.done) % 2:
                self._check_ours(hand, data)
        self._check_verify(self.hands["A"])

    def _check_duck(self, data: st.DataObject) -> None:
        state = self.state
        listed = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake' ORDER BY 1"
        queries = {table.name: f"SELECT * FROM {table.name}" for table in state.values()}
        table, condition = self._question(data, state, "DuckDB's question")
        question = f"SELECT k FROM {table} WHERE {condition.sql(DUCK)}"
        old = data.draw(some(sorted(self.states)), "an old snapshot")
        past = {name: f"SELECT * FROM {name} AT (VERSION => {old})" for name in self.states[old]}
        bounds = [bound for column in table.columns for bound in bounds_of(table, column)]
        names, counts, *results = self.duck.read(
            listed, _counts(table, bounds), *queries.values(), question, *past.values()
        )
        self._compare_counts(table, bounds, counts)
        assert names["table_name"].to_pylist() == sorted(state)
        for (name, query), result in zip(queries.items(), results, strict=False):
            self._compare(self.duck, query, state[name], result)
        self._compare_keys(self.duck, question, table, condition, results[len(queries)])
        for (name, query), result in zip(past.items(), results[len(queries) + 1 :], strict=True):
            self._compare(self.duck, query, self.states[old][name], result)

    def _question(self, data: st.DataObject, state: State, label: str) -> tuple[Table, Condition]:
        table = data.draw(st.sampled_from(sorted(state.values(), key=repr)), f"{label}: table")
        return table, data.draw(conditions(table), label)

    def _check_ours(self, hand: Hand, data: st.DataObject) -> None:
        """A client sees its open transaction, or an error if the snapshot of that is expired."""
        self._take_part(hand)
        state = self.seen_by(hand)
        table, condition = self._question(data, state, "our question")
        question = f"SELECT k FROM {table} WHERE {condition.sql(hand.dialect)}"
        try:
            for each in state.values():
                query = f"SELECT * FROM {each}"
                self._compare(hand, query, each, hand.read(query))
            self._compare_keys(hand, question, table, condition, hand.read(question))
        except (DuckLakeError, *SPARK_ERRORS) as error:
            if not self.base_is_expired(hand):
                raise
            self.note(hand, f"reads -> {type(error).__name__}: {first_line(error)}")

    def _compare(self, who: Client, query: str, table: Table, result: pa.Table) -> None:
        assert ", ".join(result.column_names) == columns_of(table), (who, query)
        found = content_of(result)
        if found != table.content:
            raise AssertionError(f"{who}: {query}: {difference(found, table.content)}")

    def _compare_keys(
        self, who: Client, query: str, table: Table, condition: Condition, result: pa.Table
    ) -> None:
        at = table.at("k")
        rows = (table.rows[number] for number in matching(table, condition))
        expected = Counter((key(row[at]),) for row in rows)
        found = content_of(result)
        if found != expected:
            raise AssertionError(f"{who}: {short(query)}: {difference(found, expected)}")

    def _compare_counts(self, table: Table, bounds: list[Condition], counts: pa.Table) -> None:
        """Compare the numbers of rows that DuckDB finds by the bounds that files may have."""
        found = dict(zip(*(column.to_pylist() for column in counts.columns), strict=True))
        for at, condition in enumerate(bounds):
            expected = len(matching(table, condition))
            query = f"SELECT count(*) FROM {table} WHERE {condition.sql(DUCK)}"
            assert found[at] == expected, f"duck: {short(query)}: {found[at]}, not {expected}"

    def _check_verify(self, hand: Hand) -> None:
        faults = verify(hand.lake.catalog())
        if self.duck_tidied:
            faults = [fault for fault in faults if fault.fault not in _OF_DUCKDB]
        assert not faults, "\n".join(map(str, faults))


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _counts(table: Table, bounds: list[Condition]) -> str:
    """Return one query for the numbers of rows that meet each condition."""
    each = (
        f"SELECT {at} AS at, count(*) AS n FROM {table} WHERE {condition.sql(DUCK)}"
        for at, condition in enumerate(bounds)
    )
    return " UNION ALL ".join(each)
