"""Rules that change definitions: tables, columns, partitions, sort orders, options."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from support.machine.cells import KINDS, Cell
from support.machine.model import BASE, Column, State, Table, dropped, new_table, put
from support.machine.row_rules import RowRules, names_of, rows_of, values_clause
from support.machine.world import WHO, Client, turn

DEFAULTS: dict[str, tuple[Cell, ...]] = {"int": (7,), "text": ("dflt", ""), "double": (1.5,)}
PARTITIONS = ("bucket(3, k)", "year(ts)", "s", "f", "bucket(2, s)", "k")
SORTS = ("k", "f DESC", "ts DESC NULLS LAST, s")


class DefinitionRules(RowRules):
    @turn(1, who=WHO)
    def create_as(self, data: st.DataObject, who: str) -> None:
        """Create or replace a table from literals or from another table, or drop table v."""
        client = self.client(who)
        name = data.draw(st.sampled_from(["t", "u", "v"]), "name")
        if name == "v" and "v" in self.seen_by(client):
            self.act(client, "DROP TABLE v", lambda state: dropped(state, "v"))
            return
        columns, names = list(BASE), names_of(list(BASE))
        if data.draw(st.booleans(), "from a table"):
            source = self.any_table(data, client)
            query = f"SELECT {names} FROM {source}"
            at = [source.at(column.name) for column in BASE]
            rows = [tuple(row[i] for i in at) for row in source.rows.values()]
        else:
            given = rows_of(data, columns, client)
            query = f"SELECT * FROM ({values_clause(client.dialect, columns, given)}) AS v({names})"
            rows = [tuple(row.values()) for row in given]
        self.act(
            client,
            f"CREATE OR REPLACE TABLE {name} AS {query}",
            lambda state: put(state, new_table(name, rows)),
        )

    @turn(2, who=WHO)
    def alter(self, data: st.DataObject, who: str) -> None:
        """Add, drop, rename or promote a column, or give it another default."""
        client = self.free_client(who)
        table = self.any_table(data, client)
        added = [c for c in table.columns if c.name not in {column.name for column in BASE}]
        changes = [self._add]
        if added:
            changes += [self._drop, self._rename]
        if any(column.kind.wider for column in table.columns):
            changes.append(self._promote)
        changes.append(self._set_default)
        data.draw(st.sampled_from(changes), "change")(data, client, table, added)

    def _alter(self, client: Client, table: Table, sql: str, columns: list[Column]) -> None:
        self.act(
            client,
            f"ALTER TABLE {table} {sql}",
            lambda state: put(state, replace(state[table.name], columns=tuple(columns))),
        )

    def _add(self, data: st.DataObject, client: Client, table: Table, added: list[Column]) -> None:
        kind = data.draw(st.sampled_from(list(KINDS.values())), "type")
        default = data.draw(st.sampled_from([None, *DEFAULTS.get(kind.name, ())]), "default")
        column = Column(f"c{len(self.done)}", kind, default)
        sql = f"ADD COLUMN {column.name} {client.dialect.type(kind)}"
        if default is not None:
            sql += f" DEFAULT {_plain(default)}"

        def effect(state: State) -> State:
            now = state[table.name]
            rows = {number: (*row, default) for number, row in now.rows.items()}
            return put(state, replace(now, columns=(*now.columns, column), rows=rows))

        self.act(client, f"ALTER TABLE {table} {sql}", effect)

    def _drop(self, data: st.DataObject, client: Client, table: Table, added: list[Column]) -> None:
        column = data.draw(st.sampled_from(added), "column")
        at = table.at(column.name)

        def effect(state: State) -> State:
            now = state[table.name]
            rows = {n: (*row[:at], *row[at + 1 :]) for n, row in now.rows.items()}
            columns = (*now.columns[:at], *now.columns[at + 1 :])
            return put(state, replace(now, columns=columns, rows=rows))

        self.act(client, f"ALTER TABLE {table} DROP COLUMN {column.name}", effect)

    def _rename(
        self, data: st.DataObject, client: Client, table: Table, added: list[Column]
    ) -> None:
        old = data.draw(st.sampled_from(added), "column")
        new = replace(old, name=f"r{len(self.done)}")
        columns = [new if column == old else column for column in table.columns]
        self._alter(client, table, f"RENAME COLUMN {old.name} TO {new.name}", columns)

    def _promote(
        self, data: st.DataObject, client: Client, table: Table, added: list[Column]
    ) -> None:
        # k and f may be partition columns, whose types stay.
        able = [c for c in table.columns if c.kind.wider and c.name not in ("k", "f")]
        if not able:
            return
        old = data.draw(st.sampled_from(able), "column")
        assert old.kind.wider is not None
        wide = KINDS[old.kind.wider]
        columns = [replace(c, kind=wide) if c == old else c for c in table.columns]
        sql = f"ALTER COLUMN {old.name} SET DATA TYPE {client.dialect.type(wide)}"
        self._alter(client, table, sql, columns)

    def _set_default(
        self, data: st.DataObject, client: Client, table: Table, added: list[Column]
    ) -> None:
        able = [column for column in table.columns if column.kind.name in DEFAULTS]
        old = data.draw(st.sampled_from(able), "column")
        default = data.draw(st.sampled_from(DEFAULTS[old.kind.name]), "default")
        columns = [replace(c, default=default) if c == old else c for c in table.columns]
        sql = f"ALTER COLUMN {old.name} SET DEFAULT {_plain(default)}"
        self._alter(client, table, sql, columns)

    @turn(2, who=WHO)
    def lay_out(self, data: st.DataObject, who: str) -> None:
        """Partition or sort the files to come, or set how many rows DuckDB inlines."""
        client = self.free_client(who)
        table = self.any_table(data, client)
        kind = data.draw(st.sampled_from(["partition", "sort", "inline"]), "kind")
        if kind == "inline":
            limit = data.draw(st.sampled_from([0, 2, 10]), "limit")
            call = (
                f"CALL lake.set_option('data_inlining_row_limit', {limit}, table_name => '{table}')"
            )
            self.act(client, call, lambda state: state)
            return
        keys = PARTITIONS if kind == "partition" else SORTS
        chosen = data.draw(st.sampled_from([*keys, None]), "keys")
        word = "PARTITIONED BY" if kind == "partition" else "SORTED BY"
        sql = f"RESET {word}" if chosen is None else f"SET {word} ({chosen})"
        now = chosen if kind == "partition" else table.partitioned_by
        self.act(
            client,
            f"ALTER TABLE {table} {sql}",
            lambda state: put(state, replace(state[table.name], partitioned_by=now)),
        )


def _plain(default: Cell) -> str:
    return f"'{default}'" if isinstance(default, str) else str(default)
