"""Rules that change rows: INSERT, UPDATE, DELETE, MERGE, INSERT OVERWRITE and REPLACE WHERE."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from support.machine.cells import Cell, Dialect
from support.machine.conditions import Condition, Everything, cells, conditions, matching
from support.machine.dbt_project import run_model
from support.machine.hands import Duck, Hand
from support.machine.model import BASE, Column, Row, State, Table, put
from support.machine.world import OURS, WHO, Client, World, turn

BY_CHANCE = "FROM range(1, 17) WHERE pmod(hash(id, current_timestamp()), 2) = 0"
STRATEGIES = ("delete+insert", "delete+insert", "merge")
KEYS = (1, 2, 3, 4, 5, 6, 7, 8, None)


def value_of(draw: st.DataObject, column: Column, who: Client) -> Cell:
    """Draw a value for a column. Keys are few, so that statements meet the same rows."""
    if column.name == "k":
        return draw.draw(st.sampled_from(KEYS))
    if column.kind.name == "struct" and isinstance(who, Duck):
        # DuckDB 1.5.5 cannot read infinities back from a struct that it inlined.
        return draw.draw(st.sampled_from([(1.5,), (None,), None]))
    return draw.draw(cells(column.kind.name))


def rows_of(data: st.DataObject, columns: list[Column], who: Client) -> list[dict[str, Cell]]:
    """Draw one to three rows, or four times as many, which DuckDB may not inline."""
    rows = [
        {column.name: value_of(data, column, who) for column in columns}
        for _ in range(data.draw(st.integers(1, 3), "rows"))
    ]
    return rows * 4 if data.draw(st.integers(0, 5), "many") == 5 else rows


def values_clause(dialect: Dialect, columns: list[Column], rows: list[dict[str, Cell]]) -> str:
    """Return VALUES (…), (…) in a dialect."""
    listed = (
        ", ".join(dialect.literal(row[column.name], column.kind) for column in columns)
        for row in rows
    )
    return "VALUES " + ", ".join(f"({row})" for row in listed)


def some_columns(data: st.DataObject, table: Table) -> list[Column]:
    """Draw all columns of a table, or k and some others. The rest gets its defaults."""
    if data.draw(st.integers(0, 2), "some columns") < 2:
        return list(table.columns)
    chosen = data.draw(st.sets(st.sampled_from(table.columns)), "columns")
    return [column for column in table.columns if column.name == "k" or column in chosen]


def names_of(columns: list[Column]) -> str:
    return ", ".join(column.name for column in columns)


@dataclass(frozen=True)
class Clause:
    """A WHEN clause of a MERGE."""

    when: str
    then: str
    condition: Condition
    assigned: dict[str, Cell]

    def sql(self, dialect: Dialect, table: Table) -> str:
        prefix = "s." if self.when == "NOT MATCHED" else "t."
        text = f" WHEN {self.when} AND {self.condition.sql(dialect, prefix)} THEN "
        if self.then == "INSERT":
            names = names_of(list(BASE))
            return f"{text}INSERT ({names}) VALUES ({', '.join(f's.{c.name}' for c in BASE)})"
        if self.then == "DELETE":
            return text + "DELETE"
        assigned = ", ".join(
            f"{name} = {dialect.literal(value, table.column(name).kind)}"
            for name, value in self.assigned.items()
        )
        return f"{text}UPDATE SET {assigned}"


class RowRules(World):
    @turn(2, who=WHO)
    def insert(self, data: st.DataObject, who: str) -> None:
        client = self.client(who)
        table = self.any_table(data, client)
        columns = some_columns(data, table)
        rows = rows_of(data, columns, client)
        self.act(
            client,
            f"INSERT INTO {table} ({names_of(columns)}) "
            f"{values_clause(client.dialect, columns, rows)}",
            lambda state: put(state, state[table.name].adding(map(table.filled, rows))),
        )

    @turn(1, who=WHO)
    def insert_select(self, data: st.DataObject, who: str) -> None:
        """Insert rows of one table into another one, or into itself."""
        client = self.client(who)
        table, source = self.any_table(data, client), self.any_table(data, client)
        condition = data.draw(conditions(source), "condition")

        def effect(state: State) -> State:
            now = state[source.name]
            rows = [base_of(now, now.rows[n]) for n in matching(now, condition)]
            return put(state, state[table.name].adding(map(table.filled, rows)))

        names = names_of(list(BASE))
        where = condition.sql(client.dialect)
        sql = f"INSERT INTO {table} ({names}) SELECT {names} FROM {source} WHERE {where}"
        self.act(client, sql, effect)

    @turn(3, who=WHO)
    def update(self, data: st.DataObject, who: str) -> None:
        client = self.client(who)
        table = self.any_table(data, client)
        condition = self._some_rows(data, table)
        column = data.draw(st.sampled_from(table.columns), "column")
        value = value_of(data, column, client)
        literal = client.dialect.literal(value, column.kind)
        self.act(
            client,
            f"UPDATE {table} SET {column.name} = {literal} WHERE {condition.sql(client.dialect)}",
            lambda state: put(state, updated(state[table.name], condition, {column.name: value})),
        )

    def _some_rows(self, data: st.DataObject, table: Table) -> Condition:
        if data.draw(st.integers(0, 3), "all rows") == 3:
            return Everything()
        return data.draw(conditions(table), "condition")

    @turn(2, who=WHO)
    def delete(self, data: st.DataObject, who: str) -> None:
        client = self.client(who)
        table = self.any_table(data, client)
        condition = self._some_rows(data, table)
        self.act(
            client,
            f"DELETE FROM {table} WHERE {condition.sql(client.dialect)}",
            lambda state: put(
                state, state[table.name].without(matching(state[table.name], condition))
            ),
        )

    @turn(3, who=WHO)
    def merge(self, data: st.DataObject, who: str) -> None:
        client = self.client(who)
        table = self.any_table(data, client)
        rows = {row["k"]: row for row in rows_of(data, list(BASE), client)}
        clauses = self._clauses(data, table, client)
        source = values_clause(client.dialect, list(BASE), list(rows.values()))
        self.act(
            client,
            f"MERGE INTO {table} AS t USING (SELECT * FROM ({source}) AS v({names_of(list(BASE))}))"
            " AS s ON t.k = s.k" + "".join(clause.sql(client.dialect, table) for clause in clauses),
            lambda state: put(state, merged(state[table.name], list(rows.values()), clauses)),
        )

    def _clauses(self, data: st.DataObject, table: Table, client: Client) -> list[Clause]:
        kinds = [
            ("MATCHED", "UPDATE"),
            ("NOT MATCHED", "INSERT"),
            ("MATCHED", "DELETE"),
            ("NOT MATCHED BY SOURCE", "UPDATE"),
            ("NOT MATCHED BY SOURCE", "DELETE"),
        ]
        chosen = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3), "clauses")
        if isinstance(client, Duck):
            # DuckDB 1.5.5 allows a MERGE into a lake one UPDATE or DELETE.
            changes = [kind for kind in chosen if kind[1] != "INSERT"][:1]
            chosen = changes + [kind for kind in chosen if kind[1] == "INSERT"][:1]
        return [self._clause(data, table, client, *kind) for kind in chosen]

    def _clause(
        self, data: st.DataObject, table: Table, client: Client, when: str, then: str
    ) -> Clause:
        subject = Table(-1, "s", BASE) if when == "NOT MATCHED" else table
        some = data.draw(st.booleans(), "conditional")
        condition = data.draw(conditions(subject), "condition") if some else Everything()
        assigned = {}
        if then == "UPDATE":
            column = data.draw(st.sampled_from(table.columns[1:]), "column")
            assigned = {column.name: value_of(data, column, client)}
        return Clause(when, then, condition, assigned)

    @turn(1, who=OURS)
    def merge_by_chance(self, data: st.DataObject, who: str) -> None:
        """MERGE a source that returns different rows each time it is evaluated.

        The marked rows tell what it returned. All other rows must be unchanged.
        """
        hand = self.hands[who]
        if self.base_is_expired(hand):
            return  # the result could not be read
        table = self.any_table(data, hand)
        mark = f"chance {len(self.done)}"
        sql = (
            f"MERGE INTO {table} AS t USING (SELECT CAST(id AS INT) AS k, '{mark}' AS s "
            f"{BY_CHANCE}) AS s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET s = s.s WHEN NOT MATCHED THEN INSERT (k, s) "
            "VALUES (s.k, s.s)"
        )

        def effect(state: State) -> State:
            source = [{"k": k, "s": mark} for k in _marked(hand, table, mark)]
            return put(state, merged(state[table.name], source, _upsert(mark)))

        self.act(hand, sql, effect)

    @turn(1, when=lambda self: not self.is_in_transaction)
    def dbt_by_chance(self, data: st.DataObject) -> None:
        """Run a dbt model whose query returns different rows each time it is evaluated.

        It writes to the table with the most rows, where lost rows show.
        """
        table = max(self.state.values(), key=lambda each: len(each.rows))
        name = table.name
        strategy = data.draw(st.sampled_from(STRATEGIES), "strategy")
        mark = f"dbt {len(self.done)}"
        values = {"k": "CAST(id AS INT)", "s": f"'{mark}'"}
        listed = ", ".join(
            f"{values.get(c.name, f'CAST(NULL AS {c.kind.spark})')} AS {c.name}"
            for c in table.columns
        )
        self.note("dbt", f"{strategy}: {name}")
        run_model(self.address, name, strategy, f"SELECT {listed} {BY_CHANCE}")
        new = [{"k": k, "s": mark} for k in _marked(self.hands["A"], table, mark)]
        keys = {row["k"] for row in new}
        old = [n for n, row in table.rows.items() if row[table.at("k")] in keys]
        nulls = {column.name: None for column in table.columns}
        rows = [table.filled({**nulls, **row}) for row in new]
        self.landed(put(self.state, table.without(old).adding(rows)))

    @turn(2, who=OURS)
    def overwrite(self, data: st.DataObject, who: str) -> None:
        """Run INSERT OVERWRITE or INSERT … REPLACE WHERE."""
        client = self.client(who)
        table = self.any_table(data, client)
        columns = list(table.columns)
        rows = rows_of(data, columns, client)
        partly = data.draw(st.booleans(), "partly")
        condition = data.draw(conditions(table), "condition") if partly else Everything()
        values = values_clause(client.dialect, columns, rows)
        query = f"SELECT * FROM {values} AS v({names_of(columns)})"
        where = condition.sql(client.dialect)
        sql = (
            f"INSERT INTO {table} BY NAME REPLACE WHERE {where} {query}"
            if partly
            else f"INSERT OVERWRITE {table} {query}"
        )

        def effect(state: State) -> State:
            now = state[table.name]
            kept = now.without(matching(now, condition))
            return put(state, kept.adding(map(table.filled, rows)))

        self.act(client, sql, effect)


def _marked(hand: Hand, table: Table, mark: str) -> list[Cell]:
    found = hand.read(f"SELECT DISTINCT k FROM {table} WHERE s = '{mark}'")
    return list(found["k"].to_pylist())


def _upsert(mark: str) -> list[Clause]:
    return [
        Clause("MATCHED", "UPDATE", Everything(), {"s": mark}),
        Clause("NOT MATCHED", "INSERT", Everything(), {}),
    ]


def base_of(table: Table, row: Row) -> dict[str, Cell]:
    return {column.name: row[table.at(column.name)] for column in BASE}


def updated(table: Table, condition: Condition, assigned: dict[str, Cell]) -> Table:
    return table.changing(
        {n: assign(table, table.rows[n], assigned) for n in matching(table, condition)}
    )


def assign(table: Table, row: Row, assigned: dict[str, Cell]) -> Row:
    places = {table.at(name): value for name, value in assigned.items()}
    return tuple(places.get(at, cell) for at, cell in enumerate(row))


def merged(table: Table, source: list[dict[str, Cell]], clauses: list[Clause]) -> Table:
    """Return a table after a MERGE on t.k = s.k: for each row the first clause that holds."""
    at = table.at("k")
    given = {row["k"] for row in source if row["k"] is not None}
    changed: dict[int, Row] = {}
    deleted = []
    for number, row in table.rows.items():
        when = "MATCHED" if row[at] in given else "NOT MATCHED BY SOURCE"
        clause = _first(clauses, when, table, row)
        if clause is not None and clause.then == "DELETE":
            deleted.append(number)
        elif clause is not None:
            changed[number] = assign(table, row, clause.assigned)
    known = {row[at] for row in table.rows.values() if row[at] is not None}
    shape = Table(-1, "s", BASE)
    inserted = [
        table.filled(row)
        for row in source
        if row["k"] not in known
        and _first(clauses, "NOT MATCHED", shape, shape.filled(row)) is not None
    ]
    return table.without(deleted).changing(changed).adding(inserted)


def _first(clauses: list[Clause], when: str, table: Table, row: Row) -> Clause | None:
    found = (c for c in clauses if c.when == when and c.condition.holds(table, row))
    return next(found, None)
