"""Histories in SQL, and what our transactions do for the same: one commit each, side by side."""

from __future__ import annotations

import datetime
from decimal import Decimal

from ducklake_spark.catalog import Field, Transaction
from support.twins import Act, delete

History = tuple[tuple[str, Act], ...]

ID = Field("id", "int32")
NAME = Field("name", "varchar")


def _end_files(tx: Transaction, name: str, at: int) -> None:
    tx.end_files(name, [tx.files(tx.table(name))[at].id])


def _create(name: str, *fields: Field) -> Act:
    return lambda tx, _: tx.create_table(name, fields)


def _take(name: str) -> Act:
    return lambda _, take: take(name)


def _all(*acts: object) -> None:
    """Several calls in one lambda."""


SCHEMAS: History = (
    ("CREATE SCHEMA s", lambda tx, _: tx.create_schema("s")),
    ('CREATE SCHEMA "odd name"', lambda tx, _: tx.create_schema("odd name")),
    ("CREATE TABLE s.t (id INTEGER)", _create("s.t", ID)),
    ('CREATE TABLE "odd name"."ä" (id INTEGER)', _create('"odd name"."ä"', ID)),
    ("INSERT INTO s.t VALUES (1)", _take("s.t")),
    (
        "CREATE SCHEMA n; CREATE TABLE n.t (id INTEGER)",
        lambda tx, _: _all(tx.create_schema("n"), tx.create_table("n.t", [ID])),
    ),
    ("CREATE VIEW s.v AS SELECT 1 AS a", lambda tx, _: tx.create_view("s.v", "SELECT 1 AS a")),
    ("COMMENT ON TABLE s.t IS 'goes'", lambda tx, _: tx.comment_on_table("s.t", "goes")),
    ("DROP SCHEMA s CASCADE", lambda tx, _: tx.drop_schema("s", cascade=True)),
    ("CREATE SCHEMA s", lambda tx, _: tx.create_schema("s")),
    ("DROP SCHEMA s", lambda tx, _: tx.drop_schema("s")),
)

CREATE_NOT_NULL = _create("t", ID, Field("name", "varchar", nullable=False))

TABLES: History = (
    ("CREATE TABLE t (id INTEGER, name VARCHAR NOT NULL)", CREATE_NOT_NULL),
    (
        "CREATE TABLE c AS SELECT 1 AS id",
        lambda tx, take: _all(tx.create_table("c", [ID]), take("c")),
    ),
    ("COMMENT ON TABLE t IS 'it''s'", lambda tx, _: tx.comment_on_table("t", "it's")),
    ("COMMENT ON TABLE t IS 'ours'", lambda tx, _: tx.comment_on_table("t", "ours")),
    ("COMMENT ON COLUMN t.id IS 'key'", lambda tx, _: tx.comment_on_column("t", "id", "key")),
    ("COMMENT ON COLUMN t.id IS 'two'", lambda tx, _: tx.comment_on_column("t", "id", "two")),
    (
        "CREATE TABLE d (id INTEGER); COMMENT ON TABLE d IS 'c'; COMMENT ON COLUMN d.id IS 'k'",
        lambda tx, _: tx.create_table("d", [Field("id", "int32", comment="k")], comment="c"),
    ),
    ("ALTER TABLE t RENAME TO t2", lambda tx, _: tx.rename_table("t", "t2")),
    ("CREATE TABLE t (id INTEGER)", _create("t", ID)),
    (
        "ALTER TABLE t2 RENAME TO t3; ALTER TABLE t3 RENAME TO t4",
        lambda tx, _: _all(tx.rename_table("t2", "t3"), tx.rename_table("t3", "t4")),
    ),
    (
        "CREATE TABLE t__tmp AS SELECT 5 AS id; ALTER TABLE t RENAME TO t__old; "
        "ALTER TABLE t__tmp RENAME TO t; DROP TABLE t__old",
        lambda tx, take: _all(
            tx.create_table("t__tmp", [ID]),
            tx.rename_table("t", "t__old"),
            tx.rename_table("t__tmp", "t"),
            take("t"),
            tx.drop_table("t__old"),
        ),
    ),
    (
        "CREATE OR REPLACE TABLE t4 AS SELECT 9::BIGINT AS id",
        lambda tx, take: _all(
            tx.create_table("t4", [Field("id", "int64")], replace_existing=True), take("t4")
        ),
    ),
    (
        "DROP TABLE d; CREATE TABLE d (id VARCHAR)",
        lambda tx, _: _all(tx.drop_table("d"), tx.create_table("d", [Field("id", "varchar")])),
    ),
    ("DROP TABLE t4", lambda tx, _: tx.drop_table("t4")),
    ("COMMENT ON TABLE t IS 'short'", lambda tx, _: tx.comment_on_table("t", "short")),
    ("COMMENT ON TABLE t IS NULL", lambda tx, _: tx.comment_on_table("t", None)),
    ("COMMENT ON COLUMN t.id IS 'short'", lambda tx, _: tx.comment_on_column("t", "id", "short")),
    ("COMMENT ON COLUMN t.id IS NULL", lambda tx, _: tx.comment_on_column("t", "id", None)),
)

VIEWS: History = (
    ("CREATE VIEW v AS SELECT 1 AS a", lambda tx, _: tx.create_view("v", "SELECT 1 AS a")),
    (
        'CREATE VIEW w (x, "y z") AS SELECT 1 AS a, 2 AS b',
        lambda tx, _: tx.create_view("w", "SELECT 1 AS a, 2 AS b", column_aliases=["x", "y z"]),
    ),
    (
        "CREATE OR REPLACE VIEW v AS SELECT 3 AS a",
        lambda tx, _: tx.create_view("v", "SELECT 3 AS a", replace_existing=True),
    ),
    (
        "CREATE VIEW c AS SELECT 1 AS a; COMMENT ON VIEW c IS 'new'",
        lambda tx, _: tx.create_view("c", "SELECT 1 AS a", tags={"comment": "new"}),
    ),
    ("COMMENT ON VIEW v IS 'seen'", lambda tx, _: tx.comment_on_view("v", "seen")),
    ("ALTER VIEW v RENAME TO u", lambda tx, _: tx.rename_view("v", "u")),
    ("DROP VIEW u", lambda tx, _: tx.drop_view("u")),
)

COLUMNS: History = (
    ("CREATE TABLE t (id INTEGER, name VARCHAR NOT NULL)", CREATE_NOT_NULL),
    ("INSERT INTO t VALUES (1, 'a')", _take("t")),
    ("ALTER TABLE t ADD COLUMN x INTEGER", lambda tx, _: tx.add_column("t", Field("x", "int32"))),
    (
        "ALTER TABLE t ADD COLUMN y VARCHAR DEFAULT 'yy'",
        lambda tx, _: tx.add_column("t", Field("y", "varchar", default="yy")),
    ),
    ("INSERT INTO t VALUES (5, 'e', 7, 'q')", _take("t")),
    ("ALTER TABLE t RENAME COLUMN x TO z", lambda tx, _: tx.rename_column("t", "x", "z")),
    ("ALTER TABLE t ALTER z TYPE BIGINT", lambda tx, _: tx.set_column_type("t", "z", "int64")),
    ("INSERT INTO t VALUES (6, 'f', 5000000000, '')", _take("t")),
    ("ALTER TABLE t ALTER id TYPE DOUBLE", lambda tx, _: tx.set_column_type("t", "id", "float64")),
    ("INSERT INTO t VALUES (7.5, 'f', -5, NULL)", _take("t")),
    ("ALTER TABLE t ALTER z SET DEFAULT 9", lambda tx, _: tx.set_column_default("t", "z", 9)),
    ("ALTER TABLE t ALTER z DROP DEFAULT", lambda tx, _: tx.set_column_default("t", "z")),
    (
        "ALTER TABLE t ALTER name DROP NOT NULL",
        lambda tx, _: tx.set_column_nullable("t", "name", True),
    ),
    (
        "ALTER TABLE t ALTER name SET NOT NULL",
        lambda tx, _: tx.set_column_nullable("t", "name", False),
    ),
    (
        "ALTER TABLE t RENAME COLUMN y TO w; COMMENT ON COLUMN t.w IS 'goes'",
        lambda tx, _: _all(tx.rename_column("t", "y", "w"), tx.comment_on_column("t", "w", "goes")),
    ),
    ("ALTER TABLE t DROP COLUMN w", lambda tx, _: tx.drop_column("t", "w")),
    ("ALTER TABLE t ADD COLUMN w DATE", lambda tx, _: tx.add_column("t", Field("w", "date"))),
    ("INSERT INTO t VALUES (8, 'g', 5, '2024-01-15')", _take("t")),
    (
        "ALTER TABLE t ALTER w TYPE TIMESTAMP",
        lambda tx, _: tx.set_column_type("t", "w", "timestamp"),
    ),
    ("INSERT INTO t VALUES (8, 'g', 5, '2023-01-15 12:00:00')", _take("t")),
    ("DELETE FROM t WHERE id = 1", lambda tx, _: _end_files(tx, "t", 0)),
)

DEFAULTS: History = (
    (
        "CREATE TABLE d (id INTEGER DEFAULT 42, s VARCHAR DEFAULT 'bob', e VARCHAR DEFAULT '', "
        "n DECIMAL(5,2) DEFAULT 1.5, ts TIMESTAMP DEFAULT now(), b BOOLEAN DEFAULT true, "
        "f DOUBLE DEFAULT 1.5, dt DATE DEFAULT '2024-01-01')",
        lambda tx, _: tx.create_table(
            "d",
            [
                Field("id", "int32", default=42),
                Field("s", "varchar", default="bob"),
                Field("e", "varchar", default=""),
                Field("n", "decimal(5,2)", default=Decimal("1.5")),
                Field("ts", "timestamp", expression="now()"),
                Field("b", "boolean", default=True),
                Field("f", "float64", default=1.5),
                Field("dt", "date", default=datetime.date(2024, 1, 1)),
            ],
        ),
    ),
)

NESTED: History = (
    (
        "CREATE TABLE n (id INTEGER, s STRUCT(a INTEGER, b STRUCT(x VARCHAR)), l INTEGER[], "
        "m MAP(VARCHAR, STRUCT(q INTEGER)), ls STRUCT(z DATE[])[])",
        _create(
            "n",
            ID,
            Field("s", "STRUCT(a INTEGER, b STRUCT(x VARCHAR))"),
            Field("l", "INTEGER[]"),
            Field("m", "MAP(VARCHAR, STRUCT(q INTEGER))"),
            Field("ls", "STRUCT(z DATE[])[]"),
        ),
    ),
    (
        "INSERT INTO n VALUES (1, {'a': 1, 'b': {'x': 'q'}}, [1, 2, NULL], MAP {'k': {'q': 5}}, "
        "[{'z': ['2024-01-15']}]), (2, NULL, [], NULL, NULL)",
        _take("n"),
    ),
    (
        "ALTER TABLE n ADD COLUMN s.c INTEGER",
        lambda tx, _: tx.add_column("n", Field("c", "int32"), parent="s"),
    ),
    (
        "ALTER TABLE n ADD COLUMN s.b.y VARCHAR",
        lambda tx, _: tx.add_column("n", Field("y", "varchar"), parent="s.b"),
    ),
    (
        "ALTER TABLE n ADD COLUMN s.d STRUCT(e INTEGER)",
        lambda tx, _: tx.add_column("n", Field("d", "STRUCT(e INTEGER)"), parent="s"),
    ),
    ("ALTER TABLE n RENAME COLUMN s.a TO aa", lambda tx, _: tx.rename_column("n", "s.a", "aa")),
    ("ALTER TABLE n DROP COLUMN s.b.x", lambda tx, _: tx.drop_column("n", "s.b.x")),
    (
        "ALTER TABLE n ADD COLUMN t STRUCT(i INTEGER, j INTEGER[])",
        lambda tx, _: tx.add_column("n", Field("t", "STRUCT(i INTEGER, j INTEGER[])")),
    ),
    ("INSERT INTO n (id) VALUES (3)", _take("n")),
    ("ALTER TABLE n RENAME COLUMN s TO ss", lambda tx, _: tx.rename_column("n", "s", "ss")),
    ("ALTER TABLE n DROP COLUMN ss", lambda tx, _: tx.drop_column("n", "ss")),
    ("INSERT INTO n (id) VALUES (4)", _take("n")),
)

LAYOUT: History = (
    (
        "CREATE TABLE t (id INTEGER, name VARCHAR, ts TIMESTAMP, d DECIMAL(10,2))",
        _create("t", ID, NAME, Field("ts", "timestamp"), Field("d", "decimal(10,2)")),
    ),
    ("INSERT INTO t VALUES (1, 'a', '2024-01-01', 1.5)", _take("t")),
    ("ALTER TABLE t SET PARTITIONED BY (name)", lambda tx, _: tx.set_partitioning("t", ["name"])),
    (
        "INSERT INTO t VALUES (1, 'a b/ä', '2024-01-01', 1.5), (2, NULL, NULL, 2.5), "
        "(3, '', '2024-01-02', 2.5)",
        _take("t"),
    ),
    (
        "ALTER TABLE t SET PARTITIONED BY "
        "(year(ts), month(ts), day(ts), hour(ts), bucket(4, id), bucket(3, d), name)",
        lambda tx, _: tx.set_partitioning(
            "t",
            "year(ts) month(ts) day(ts) hour(ts) bucket(4,id) bucket(3,d) name".split(),
        ),
    ),
    (
        "INSERT INTO t VALUES (1, 'a', '2024-11-21 13:59:59', 1.5), (2, NULL, NULL, NULL)",
        _take("t"),
    ),
    ("ALTER TABLE t RENAME COLUMN name TO n", lambda tx, _: tx.rename_column("t", "name", "n")),
    ("ALTER TABLE t RESET PARTITIONED BY", lambda tx, _: tx.set_partitioning("t", [])),
    ("INSERT INTO t VALUES (1, 'a', '2024-01-01', 1.5)", _take("t")),
    ("ALTER TABLE t SET SORTED BY (id)", lambda tx, _: tx.set_sort_order("t", ["id"])),
    (
        "ALTER TABLE t SET SORTED BY (id DESC NULLS FIRST, lower(n))",
        lambda tx, _: tx.set_sort_order("t", ["id desc nulls first", "lower(n)"]),
    ),
    ("ALTER TABLE t RENAME COLUMN id TO key", lambda tx, _: tx.rename_column("t", "id", "key")),
    ("ALTER TABLE t RENAME COLUMN n TO m", lambda tx, _: tx.rename_column("t", "n", "m")),
    ("ALTER TABLE t RESET SORTED BY", lambda tx, _: tx.set_sort_order("t", [])),
    (
        "CREATE TABLE p (id INTEGER, name VARCHAR); ALTER TABLE p SET PARTITIONED BY (name); "
        "ALTER TABLE p SET SORTED BY (id); COMMENT ON TABLE p IS 'x'; "
        "INSERT INTO p VALUES (1, 'a'), (2, 'b')",
        lambda tx, take: _all(
            tx.create_table(
                "p", [ID, NAME], partitioned_by=["name"], sorted_by=["id"], comment="x"
            ),
            take("p"),
        ),
    ),
    (
        "CREATE OR REPLACE TABLE p AS SELECT 1 AS id",
        lambda tx, take: _all(tx.create_table("p", [ID], replace_existing=True), take("p")),
    ),
    ("DROP TABLE t", lambda tx, _: tx.drop_table("t")),
)

ROWS: History = (
    ("CREATE TABLE t (id INTEGER, name VARCHAR)", _create("t", ID, NAME)),
    ("INSERT INTO t SELECT i, 'v' || i FROM range(10) r(i)", _take("t")),
    ("DELETE FROM t WHERE id IN (1, 3)", lambda tx, _: delete(tx, "t", 0, 1, 3)),
    ("DELETE FROM t WHERE id = 5", lambda tx, _: delete(tx, "t", 0, 5)),
    ("DELETE FROM t WHERE id = 6", lambda tx, _: delete(tx, "t", 0, 6)),
    (
        "UPDATE t SET name = 'new' WHERE id = 8",
        lambda tx, take: _all(delete(tx, "t", 0, 8), take("t")),
    ),
    ("INSERT INTO t VALUES (10, NULL), (11, 'b')", _take("t")),
    ("DELETE FROM t WHERE id >= 10", lambda tx, _: _end_files(tx, "t", 2)),
    ("DELETE FROM t WHERE id <> 8", lambda tx, _: delete(tx, "t", 0, 0, 2, 4, 7, 9)),
    ("INSERT INTO t VALUES (20, 'z')", _take("t")),
    ("TRUNCATE t", lambda tx, _: tx.truncate("t")),
    ("INSERT INTO t SELECT i, NULL FROM range(20, 25) r(i)", _take("t")),
    (
        "DELETE FROM t; INSERT INTO t VALUES (30, 'z'), (31, 'z'), (32, 'z')",
        lambda tx, take: _all(tx.truncate("t"), take("t")),
    ),
    (
        "INSERT INTO t VALUES (40, 'z'), (41, 'z'); DELETE FROM t WHERE id = 41",
        lambda tx, take: _all(take("t"), delete(tx, "t", 1, 1)),
    ),
    ("DELETE FROM t WHERE id = 30", lambda tx, _: delete(tx, "t", 0, 0)),
    (
        "INSERT INTO t VALUES (50, 'a'), (51, 'b'), (52, 'c'); "
        "DELETE FROM t WHERE id = 50; DELETE FROM t WHERE id = 51",
        lambda tx, take: _all(take("t"), delete(tx, "t", 2, 0), delete(tx, "t", 2, 1)),
    ),
    ("INSERT INTO t VALUES (60, 'a'); INSERT INTO t VALUES (61, 'b')", _take("t")),
    (
        "CREATE TABLE u (id INTEGER, name VARCHAR); INSERT INTO t VALUES (70, 'q'); "
        "INSERT INTO u VALUES (1, 'a'), (2, NULL)",
        lambda tx, take: _all(tx.create_table("u", [ID, NAME]), take("t"), take("u")),
    ),
    (
        "CALL lake.set_commit_message('me', 'why', extra_info => '{}'); DELETE FROM u WHERE id = 1",
        lambda tx, _: _all(
            delete(tx, "u", 0, 0), tx.describe_commit(author="me", message="why", extra_info="{}")
        ),
    ),
)
