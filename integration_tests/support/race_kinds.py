"""The kinds of commits that can meet each other, as DuckDB and as we make them.

All speak of the content that `races.prepare` makes: a table `t` with data files A (ids 1 to 4), B
(5 to 8) and C, two inlined rows (9 and 10), and a view `w`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ducklake_spark.catalog import Field, Transaction
from ducklake_spark.spec.model import DataFile
from support.parquet import append, delete_positions

ROWS = dict.fromkeys(range(1, 13), 0)


@dataclass
class World:
    """What is in a race's schema. The table and the view of the start go by `home` and `view`
    as long as they exist, and are the ones that both players mean."""

    player: int = 0
    exists: bool = True
    tables: dict[str, dict[int, int | None]] = field(default_factory=lambda: {"t": {**ROWS}})
    views: set[str] = field(default_factory=lambda: {"w"})
    home: str | None = "t"
    view: str | None = "w"

    @property
    def rows(self) -> dict[int, int | None]:
        return self.tables[self.home] if self.home else {}

    def put(self, row: int, value: int) -> None:
        self.rows[row] = value

    def delete(self, *rows: int) -> None:
        for row in rows:
            self.rows.pop(row, None)

    def create_table(self, name: str, *rows: int) -> None:
        self.tables[name] = dict.fromkeys(rows, 0)

    def drop_table(self) -> None:
        if self.home:
            del self.tables[self.home]
        self.home = None

    def replace_table(self) -> None:
        self.drop_table()
        self.create_table("t", 50 + self.player)

    def rename_table(self) -> None:
        if self.home:
            rows, self.home = self.tables.pop(self.home), f"r{self.player}"
            self.tables[self.home] = rows

    def drop_view(self) -> None:
        self.views -= {self.view or ""}
        self.view = None

    def replace_view(self) -> None:
        self.drop_view()
        self.views.add("w")

    def rename_view(self) -> None:
        if self.view:
            self.views.remove(self.view)
            self.view = f"x{self.player}"
            self.views.add(self.view)

    def drop_schema(self) -> None:
        self.exists, self.tables, self.views, self.home, self.view = False, {}, set(), None, None


@dataclass
class Ours:
    """A transaction of ours in a race."""

    tx: Transaction
    schema: str
    player: int

    @property
    def t(self) -> str:
        return f"{self.schema}.t"

    def put(self, row: int, value: int) -> None:
        append(self.tx, self.t, [{"id": row, "v": value}])

    def file(self, which: int) -> DataFile:
        files = self.tx.files(self.tx.table(self.t))
        return sorted(files, key=lambda file: file.row_id_start or 0)[which]

    def delete(self, which: int, position: int) -> None:
        delete_positions(self.tx, self.t, self.file(which), [position])

    def update(self, which: int, row: int) -> None:
        self.delete(which, 1)
        self.put(row, self.player)

    def delete_inlined(self) -> None:
        table = self.tx.table(self.t)
        (column,) = (column for column in table.columns if column.name == "id")
        rows = [row for row in self.tx.inlined_rows(table) if row.values[column.id] == 9]
        self.tx.delete_inlined(self.t, [row.row_id for row in rows])

    def insert_unless_found(self) -> None:
        self.tx.delete_rows(self.t, {})
        self.put(100 + self.player, 0)

    def replace_table(self) -> None:
        fields = [Field("id", "int32"), Field("v", "int32")]
        self.tx.create_table(self.t, fields, replace_existing=True)
        self.put(50 + self.player, 0)

    def create_table(self, name: str) -> None:
        self.tx.create_table(f"{self.schema}.{name}", [Field("id", "int32")])

    def create_view(self, name: str, *, replace: bool = False) -> None:
        sql = f"SELECT {self.player} AS x"
        self.tx.create_view(f"{self.schema}.{name}", sql, replace_existing=replace)


@dataclass(frozen=True)
class Kind:
    """A kind of commit: what it does to the world, and DuckDB's statements for it.

    `ours` does the same in a transaction of ours; None if this package does no such thing.
    """

    name: str
    effect: Callable[[World], object]
    duck: str
    ours: Callable[[Ours], object] | None
    inlining: int = 0

    def statements(self, schema: str, player: int) -> list[str]:
        return self.duck.format(s=schema, k=player).split("; ")


def _nothing(_: World) -> None:
    """Rows, tables and views stay what they are."""


KINDS = (
    Kind(
        "insert",
        lambda w: w.put(100 + w.player, 0),
        "INSERT INTO {s}.t VALUES (100 + {k}, 0)",
        lambda o: o.put(100 + o.player, 0),
    ),
    Kind(
        "inlined insert",
        lambda w: w.put(100 + w.player, 0),
        "INSERT INTO {s}.t VALUES (100 + {k}, 0)",
        None,
        inlining=10,
    ),
    Kind(
        "delete in A",
        lambda w: w.delete(1),
        "DELETE FROM {s}.t WHERE id = 1",
        lambda o: o.delete(0, 0),
    ),
    Kind(
        "delete in B",
        lambda w: w.delete(5),
        "DELETE FROM {s}.t WHERE id = 5",
        lambda o: o.delete(1, 0),
    ),
    Kind(
        "delete all of A",
        lambda w: w.delete(1, 2, 3, 4),
        "DELETE FROM {s}.t WHERE id < 5",
        lambda o: o.tx.end_files(o.t, [o.file(0).id]),
    ),
    Kind(
        "update in A",
        lambda w: w.put(2, w.player),
        "UPDATE {s}.t SET v = {k} WHERE id = 2",
        lambda o: o.update(0, 2),
    ),
    Kind(
        "update in B",
        lambda w: w.put(6, w.player),
        "UPDATE {s}.t SET v = {k} WHERE id = 6",
        lambda o: o.update(1, 6),
    ),
    Kind("truncate", lambda w: w.rows.clear(), "TRUNCATE {s}.t", lambda o: o.tx.truncate(o.t)),
    Kind(
        "inlined delete",
        lambda w: w.delete(9),
        "DELETE FROM {s}.t WHERE id = 9",
        lambda o: o.delete_inlined(),
    ),
    Kind(
        "inlined delete in A",
        lambda w: w.delete(1),
        "DELETE FROM {s}.t WHERE id = 1",
        None,
        inlining=10,
    ),
    Kind(
        "insert unless found",
        lambda w: w.put(100 + w.player, 0),
        "DELETE FROM {s}.t WHERE id = 100; INSERT INTO {s}.t VALUES (100 + {k}, 0)",
        lambda o: o.insert_unless_found(),
    ),
    Kind(
        "add column",
        _nothing,
        "ALTER TABLE {s}.t ADD COLUMN c{k} INTEGER",
        lambda o: o.tx.add_column(o.t, Field(f"c{o.player}", "int32")),
    ),
    Kind(
        "comment",
        _nothing,
        "COMMENT ON TABLE {s}.t IS 'by {k}'",
        lambda o: o.tx.comment_on_table(o.t, f"by {o.player}"),
    ),
    Kind(
        "set partitioned",
        _nothing,
        "ALTER TABLE {s}.t SET PARTITIONED BY (id)",
        lambda o: o.tx.set_partitioning(o.t, ["id"]),
    ),
    Kind(
        "rename table",
        lambda w: w.rename_table(),
        "ALTER TABLE {s}.t RENAME TO r{k}",
        lambda o: o.tx.rename_table(o.t, f"r{o.player}"),
    ),
    Kind(
        "drop table",
        lambda w: w.drop_table(),
        "DROP TABLE {s}.t",
        lambda o: o.tx.drop_table(o.t),
    ),
    Kind(
        "replace table",
        lambda w: w.replace_table(),
        "CREATE OR REPLACE TABLE {s}.t AS SELECT 50 + {k} AS id, 0 AS v",
        lambda o: o.replace_table(),
    ),
    Kind(
        "create table n",
        lambda w: w.create_table("n"),
        "CREATE TABLE {s}.n (id INTEGER)",
        lambda o: o.create_table("n"),
    ),
    Kind(
        "create table N",
        lambda w: w.create_table("N"),
        "CREATE TABLE {s}.N (id INTEGER)",
        lambda o: o.create_table("N"),
    ),
    Kind(
        "create table o",
        lambda w: w.create_table(f"o{w.player}"),
        "CREATE TABLE {s}.o{k} (id INTEGER)",
        lambda o: o.create_table(f"o{o.player}"),
    ),
    Kind(
        "create view n",
        lambda w: w.views.add("n"),
        "CREATE VIEW {s}.n AS SELECT {k} AS x",
        lambda o: o.create_view("n"),
    ),
    Kind("create macro n", _nothing, "CREATE MACRO {s}.n(a) AS a + {k}", None),
    Kind(
        "comment on view",
        _nothing,
        "COMMENT ON VIEW {s}.w IS 'by {k}'",
        lambda o: o.tx.comment_on_view(f"{o.schema}.w", f"by {o.player}"),
    ),
    Kind(
        "rename view",
        lambda w: w.rename_view(),
        "ALTER VIEW {s}.w RENAME TO x{k}",
        lambda o: o.tx.rename_view(f"{o.schema}.w", f"x{o.player}"),
    ),
    Kind(
        "replace view",
        lambda w: w.replace_view(),
        "CREATE OR REPLACE VIEW {s}.w AS SELECT {k} AS x",
        lambda o: o.create_view("w", replace=True),
    ),
    Kind(
        "drop view",
        lambda w: w.drop_view(),
        "DROP VIEW {s}.w",
        lambda o: o.tx.drop_view(f"{o.schema}.w"),
    ),
    Kind(
        "create schema",
        _nothing,
        "CREATE SCHEMA {s}_new",
        lambda o: o.tx.create_schema(f"{o.schema}_new"),
    ),
    Kind(
        "drop schema",
        lambda w: w.drop_schema(),
        "DROP SCHEMA {s} CASCADE",
        lambda o: o.tx.drop_schema(o.schema, cascade=True),
    ),
    Kind(
        "merge files",
        _nothing,
        "CALL ducklake_merge_adjacent_files('lake', 't', schema => '{s}')",
        None,
    ),
    Kind(
        "rewrite files",
        _nothing,
        "CALL ducklake_rewrite_data_files('lake', 't', schema => '{s}', delete_threshold => 0.1)",
        None,
    ),
    Kind(
        "flush inlined",
        _nothing,
        "CALL ducklake_flush_inlined_data('lake', schema_name => '{s}', table_name => 't')",
        None,
    ),
)
