"""Our client reads the definitions DuckDB writes as DuckDB does, at every snapshot."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import NotFoundError
from ducklake_spark.spec.names import QualifiedName
from support.lakes import LakeAddress
from support.shared_duck import SharedDuck
from support.states import assert_read_alike

_PRIMITIVES = {
    "BOOLEAN": "boolean",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "HUGEINT": "int128",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
    "UHUGEINT": "uint128",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "DECIMAL(4,1)": "decimal(4,1)",
    "DECIMAL(38,10)": "decimal(38,10)",
    "TIME": "time",
    "TIME_NS": "time_ns",
    "TIMETZ": "timetz",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_S": "timestamp_s",
    "TIMESTAMP_MS": "timestamp_ms",
    "TIMESTAMP_NS": "timestamp_ns",
    "TIMESTAMPTZ": "timestamptz",
    "INTERVAL": "interval",
    "VARCHAR": "varchar",
    "BLOB": "blob",
    "JSON": "json",
    "UUID": "uuid",
    "VARIANT": "variant",
    "GEOMETRY": "geometry",
}
_ODD_NAMES = ("a.b", 'q"u', "it's", "Ünï ☃", "select", "per%c", "[x]", "\\n")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def test_names_of_every_kind_are_read_and_found_again(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run("BEGIN")
        for at, name in enumerate(_ODD_NAMES):
            other = _ODD_NAMES[at - 1]
            quoted = _quoted(name)
            duck.run(
                f"CREATE SCHEMA {quoted}",
                f"CREATE TABLE {quoted}.{_quoted(other)} ({quoted} INTEGER)",
                f"INSERT INTO {quoted}.{_quoted(other)} SELECT range FROM range(20)",
                f"INSERT INTO {quoted}.{_quoted(other)} VALUES (100)",
                f"CREATE VIEW {quoted}.{_quoted('v ' + other)} AS SELECT 1 AS {quoted}",
            )
        duck.run("COMMIT")
        for at, name in enumerate(_ODD_NAMES):
            duck.run(f"INSERT INTO {_quoted(name)}.{_quoted(_ODD_NAMES[at - 1])} VALUES (200)")
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        for at, name in enumerate(_ODD_NAMES):
            other = _ODD_NAMES[at - 1]
            table = reader.table(QualifiedName(name, other))
            assert (table.name.schema, table.name.name) == (name, other)
            (column,) = table.columns
            assert column.name == name
            assert reader.view(QualifiedName(name, f"v {other}")).sql.startswith("SELECT 1 AS")


def test_directories_have_the_name_where_it_is_plain_and_the_uuid_elsewhere(
    lake: LakeAddress,
) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            'CREATE SCHEMA "a-B_1"',
            'CREATE SCHEMA "a b"',
            'CREATE TABLE "a-B_1"."T-2" (a INTEGER)',
            'CREATE TABLE "a b"."T 2" (a INTEGER)',
        )
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        plain = reader.table('"a-B_1"."T-2"')
        odd = reader.table('"a b"."T 2"')
        assert plain.location == f"{lake.data_path}a-B_1/T-2/"
        assert odd.location == f"{lake.data_path}{reader.schema('a b').uuid}/{odd.uuid}/"


def test_names_are_found_in_any_case_of_ascii(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE SCHEMA Sales",
            'CREATE TABLE Sales.Orders ("Größe" INTEGER, "ID" INTEGER)',
            "CREATE VIEW sales.Recent AS SELECT 1 AS x",
            'CREATE TABLE "ÄRGER" (a INTEGER)',
            'CREATE TABLE "ärger" (a INTEGER)',
        )
        assert duck.rows("FROM SALES.ORDERS") == []
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        table = reader.table("SALES.orders")
        assert table.name == QualifiedName("Sales", "Orders")
        assert table.column("id").name == "ID"
        assert table.column("GRöSSE".replace("SS", "ß")).name == "Größe"
        assert reader.view("sAlEs.rEcEnT").name.name == "Recent"
        assert reader.schema("SALES").name == "Sales"
        assert reader.table('"ÄRGER"').id != reader.table('"ärger"').id
        with pytest.raises(NotFoundError, match=r"Sales\.Ordres"):
            reader.table("Sales.Ordres")


def test_tables_are_created_replaced_dropped_and_created_again(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (a INTEGER)",
            "CREATE TABLE IF NOT EXISTS t (b INTEGER)",
            "CREATE TABLE c AS SELECT range AS i, 'v' || range AS s FROM range(15)",
            "CREATE TABLE empty AS SELECT 1 AS x WHERE false",
            "CREATE OR REPLACE TABLE t AS SELECT 'x' AS a, 2.5 AS b FROM range(12)",
            "DROP TABLE c",
            "CREATE TABLE c (other VARCHAR)",
            "INSERT INTO c VALUES ('second life')",
            "DROP TABLE IF EXISTS missing",
            "CREATE SCHEMA s",
            "CREATE TABLE s.x AS SELECT 1 AS one FROM range(11)",
            "DROP SCHEMA s CASCADE",
        )
    states = assert_read_alike(lake)
    assert sorted(states[max(states)].tables) == [("main", "c"), ("main", "empty"), ("main", "t")]
    assert states[max(states)].rows["main", "c"] == [(0, {"other": "second life"})]


def test_a_table_swapped_in_as_dbt_does_keeps_its_directory(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run("CREATE TABLE o AS SELECT range AS a FROM range(20)")
        duck.run(
            "BEGIN",
            "CREATE TABLE o__tmp AS SELECT range AS a, 'new' AS b FROM range(30)",
            "ALTER TABLE o RENAME TO o__old",
            "ALTER TABLE o__tmp RENAME TO o",
            "DROP TABLE o__old",
            "COMMIT",
        )
    states = assert_read_alike(lake)
    assert [len(state.rows.get(("main", "o"), [])) for state in states.values()] == [0, 20, 30]
    with lake.open(read_only=True) as catalog:
        assert catalog.at().table("o").path.path == "o__tmp/"


def test_columns_of_every_primitive_type_have_their_type(lake: LakeAddress) -> None:
    # Variants have no form in the tables of inlined rows on PostgreSQL and SQLite.
    with SharedDuck(lake) as duck:
        duck.run("CALL lake.set_option('data_inlining_row_limit', 0)")
        columns = ", ".join(f"c{at} {sql}" for at, sql in enumerate(_PRIMITIVES))
        duck.run(f"CREATE TABLE t ({columns})")
        lists = [f"l{at} {sql}[]" for at, sql in enumerate(_PRIMITIVES) if sql != "VARIANT"]
        duck.run(f"CREATE TABLE lists ({', '.join(lists)})")
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        types = [str(column.type) for column in catalog.at().table("t").columns]
        assert types == list(_PRIMITIVES.values())


def test_nested_columns_have_their_whole_tree(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (id INTEGER, a STRUCT(a STRUCT(x INTEGER[], y DOUBLE))[], "
            "m MAP(VARCHAR, STRUCT(k INTEGER, l MAP(INTEGER, DECIMAL(9,2)[]))), "
            'o STRUCT("odd name" INTEGER, "q""uote" VARCHAR, "a.b" STRUCT(c BOOLEAN)), '
            "deep INTEGER[][][])"
        )
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        table = catalog.at().table("t")
        assert [(column.id, column.name) for column in table.column("a").walk()] == [
            (2, "a"),
            (3, "element"),
            (4, "a"),
            (5, "x"),
            (6, "element"),
            (7, "y"),
        ]
        assert table.column('o."a.b".c').type.name == "boolean"
        assert str(table.column("deep").type) == "int32[][][]"
        ids = [column.id for column in table.walk()]
        assert ids == sorted(ids) == list(range(1, len(ids) + 1))


def test_defaults_are_literals_or_expressions(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (plain INTEGER, i INTEGER DEFAULT 42, s VARCHAR DEFAULT 'it''s', "
            "empty VARCHAR DEFAULT '', d DECIMAL(5,2) DEFAULT 1.5, n INTEGER DEFAULT NULL, "
            "word VARCHAR DEFAULT 'NULL', t TIMESTAMP DEFAULT now(), u UUID DEFAULT uuid(), "
            "e INTEGER DEFAULT 1 + 1, b BOOLEAN DEFAULT true, y DATE DEFAULT DATE '2024-01-15')",
            "ALTER TABLE t ALTER i SET DEFAULT 43",
            "ALTER TABLE t ALTER s DROP DEFAULT",
            "ALTER TABLE t ALTER e SET DEFAULT random()",
            "ALTER TABLE t ADD COLUMN added VARCHAR DEFAULT 'later'",
            "ALTER TABLE t ALTER added SET DEFAULT 'even later'",
        )
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        table = catalog.at().table("t")
        assert table.column("plain").default.is_none
        assert table.column("n").default.is_none
        assert table.column("s").default.is_none
        assert table.column("i").default.value == "43"
        assert table.column("i").initial_default == "42"
        assert table.column("empty").default.value == ""
        assert table.column("t").default.kind == "expression"
        assert table.column("added").initial_default == "later"
        assert catalog.at(1).table("t").column("i").default.value == "42"


def test_constraints_and_comments_come_and_go(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (a INTEGER NOT NULL, b VARCHAR)",
            "CREATE VIEW v AS SELECT a, b FROM t",
            "INSERT INTO t SELECT range, 'x' FROM range(11)",
            "ALTER TABLE t ALTER b SET NOT NULL",
            "ALTER TABLE t ALTER a DROP NOT NULL",
            "COMMENT ON TABLE t IS 'what it''s for'",
            "COMMENT ON COLUMN t.a IS 'line one\nline two ☃'",
            "COMMENT ON VIEW v IS 'a view'",
            "COMMENT ON TABLE t IS 'better'",
            "COMMENT ON COLUMN t.a IS NULL",
            "COMMENT ON TABLE t IS NULL",
            "COMMENT ON COLUMN t.b IS ''",
            "COMMENT ON TABLE t IS 'last'",
            "ALTER TABLE t RENAME TO t2",
            "ALTER TABLE t2 RENAME b TO c",
            "CREATE OR REPLACE TABLE t2 (a INTEGER)",
        )
    states = assert_read_alike(lake)
    comments = [
        table[0] for state in states.values() for name, table in state.tables.items() if name[1]
    ]
    assert {"what it's for", "better", "last"} < set(comments)


def test_views_have_their_sql_and_their_aliases(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (id INTEGER, nm VARCHAR)",
            "CREATE VIEW v AS SELECT id, nm FROM t WHERE nm <> 'it''s; -- no'",
            'CREATE VIEW aliased (a, "b c", "d""e") AS SELECT id, nm, 1 FROM t',
            "CREATE OR REPLACE VIEW v AS SELECT id FROM t",
            'ALTER VIEW v RENAME TO "other view"',
            "CREATE SCHEMA s",
            'CREATE VIEW s.v (x) AS SELECT count(*) FROM "other view"',
            "DROP VIEW s.v",
            "DROP SCHEMA s",
        )
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        assert catalog.at().view("aliased").column_aliases == ("a", "b c", 'd"e')
        assert catalog.at().find_table("aliased") is None
        with pytest.raises(NotFoundError, match="there is a view of that name"):
            catalog.at().table("aliased")
    plain = (
        """UPDATE ducklake_view SET column_aliases = 'a, b c,"d""e"' WHERE column_aliases > ''"""
    )
    lake.sql(plain)  # of another client
    with lake.open(read_only=True) as catalog:
        assert catalog.at().view("aliased").column_aliases == ("a", "b c", 'd"e')


def test_macros_have_their_implementations(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE MACRO plus(a, b := 5) AS a + b",
            "CREATE MACRO numbers(n) AS TABLE SELECT * FROM range(n) AS t(i)",
            "CREATE MACRO many(a) AS a + 1, (a, b) AS a + b, (a, b, c := 'x') AS c || a || b",
            "CREATE OR REPLACE MACRO plus(a) AS a",
            "CREATE SCHEMA s",
            'CREATE MACRO s."odd name"("a b") AS "a b" || \'!\'',
            "DROP MACRO TABLE numbers",
            "DROP MACRO plus",
        )
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        assert [macro.name.name for macro in catalog.at().macros("main")] == ["many"]
        (old,) = (macro for macro in catalog.at(1).macros("main") if macro.name.name == "plus")
        (implementation,) = old.implementations
        assert [(p.name, p.default) for p in implementation.parameters] == [
            ("a", "NULL"),
            ("b", "5"),
        ]
