"""Names and texts are data: whatever they are made of, they come back, and become no SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.errors import AlreadyExistsError, DuckLakeError, NotFoundError
from ducklake_spark.spec.names import QualifiedName, fold, quote
from support.lakes import KINDS, LakeAddress
from support.oracle import Oracle
from support.parquet import append
from support.reader import read_rows

MakeLake = Callable[[str], LakeAddress]

ODD = [
    'say "hi"', '"a"', '"', '""', "it's", "''", "`tick`", "; DROP TABLE ducklake_snapshot;--", "--",
    "/* */", "%s", "%(x)s", "%%", "%", ":x", "::int", "?", "$1", "{0}", "{}", "\\", "\\'", "\\x00",
    "a.b", ".", "x" * 63, "x" * 64, "é" * 32, "x" * 300, "select", "order", "NULL", "null",
    "row_id", "rowid", "begin_snapshot", "_ducklake", "file_row_number", "filename",
    " lead", "trail ", "in between", "\t", "new\nline", "\r\n", "\u202ertl", "\u200b", "\ufeff",
    "日本語", "👩‍👩‍👧", "e\u0301", "é", "İstanbul", "\u0131", "ß", "\x01", "\x7f", "\x85", "0",
    "-1", "1e5", "true", "a,b", "a=b", "a/b", "..", "../../x", "C:\\x", "s3://b/x", "=1+1", "<b>",
    "&amp;",
    "QUALIFY", "pivot", "lambda", "summarize", "Mixed Case", "#", "@", "!", "~", "[1]", "(", ")",
]  # fmt: skip
NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12
)
UNSTORABLE = ["a\x00b", "\x00", "\ud800", "a\udfffb"]


@contextmanager
def _statements(catalog: Catalog) -> Iterator[list[str]]:
    """The SQL that is sent to the catalog database, without its parameters."""
    sent: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: object) -> None:
        sent.append(statement)

    engine = catalog._store.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", note)


def _distinct(names: list[str]) -> list[str]:
    return list({fold(name): name for name in names}.values())


def _some(names: list[str], kind: str) -> list[str]:
    """All names, or a few where every question opens the file anew."""
    return names[::5] if kind == "duckdb" else names


# --- what we write, we and DuckDB read ---


def _define(catalog: Catalog, names: list[str]) -> None:
    """Every name as that of everything that has one."""
    with catalog.transaction(author=names[0], message=names[-1], extra_info=names[0]) as tx:
        for name in names:
            tx.create_schema(f"s {name}")
            tx.create_table(QualifiedName("main", name), [Field("id", "int32")], comment=name)
            tx.create_view(
                QualifiedName(f"s {name}", name),
                "SELECT 1",
                column_aliases=[name],
                tags={name: name},
            )
        fields = [Field(name, f"struct({quote(name)} int32)", comment=name) for name in names]
        tx.create_table("columns", fields)


@pytest.mark.parametrize("kind", KINDS)
def test_odd_names_come_back_to_us_and_to_duckdb(make_lake: MakeLake, kind: str) -> None:
    lake, names = make_lake(kind), _some(_distinct(ODD), kind)
    assert "main" not in names
    with lake.open() as catalog:
        _define(catalog, names)
        reader = catalog.at()
        assert {s.name for s in reader.schemas()} == {"main", *(f"s {name}" for name in names)}
        assert {entry.name.name for entry in reader.tables("main")} == {*names, "columns"}
        for name in names:
            table = reader.table(QualifiedName("main", name))
            assert (table.name.name, table.comment) == (name, name)
            view = reader.view(QualifiedName(f"s {name}", name))
            assert (view.name.name, view.column_aliases, view.tags) == (name, (name,), {name: name})
        columns = reader.table("columns").columns
        assert [c.name for c in columns] == names
        assert [(c.children[0].name, c.comment) for c in columns] == [(n, n) for n in names]
        commit = catalog.commits()[-1]
        assert (commit.author, commit.message, commit.extra_info) == (names[0], names[-1], names[0])
        created = [c.target for c in commit.changes if isinstance(c.target, QualifiedName)]
        assert {target.name for target in created} == {*names, "columns"}
    _check_duckdb(lake, names)


def _check_duckdb(lake: LakeAddress, names: list[str]) -> None:
    with Oracle(lake) as duck:
        found = duck.rows("SELECT table_name, comment FROM duckdb_tables() "
                          "WHERE database_name = 'lake' AND table_name <> 'columns'")  # fmt: skip
        assert sorted(found) == sorted((name, name) for name in names)
        views = duck.rows("SELECT schema_name, view_name FROM duckdb_views() "
                          "WHERE database_name = 'lake' AND NOT internal")  # fmt: skip
        assert sorted(views) == sorted((f"s {name}", name) for name in names)
        described = duck.rows("SELECT column_name, comment FROM duckdb_columns() "
                              "WHERE database_name || table_name = 'lakecolumns'")  # fmt: skip
        assert described == [(name, name) for name in names]
        author = duck.rows("SELECT author, commit_message, commit_extra_info FROM lake.snapshots()")
        assert author[-1] == (names[0], names[-1], names[0])
        for name in names:
            view = f"{quote(f's {name}')}.{quote(name)}"
            assert duck.connection.execute(f"FROM {view}").description[0][0] == name


@pytest.mark.parametrize("kind", KINDS)
def test_odd_names_written_by_duckdb_are_read_as_they_are(make_lake: MakeLake, kind: str) -> None:
    lake = make_lake(kind)
    reserved = ("row_id", "begin_snapshot")  # which DuckDB refuses while it may inline rows
    names = [n for n in _distinct(ODD) if n not in reserved]
    with Oracle(lake) as duck:
        columns = ", ".join(f"{quote(name)} INT" for name in names)
        duck.run("BEGIN", f"CREATE TABLE columns ({columns})")
        duck.run(f"INSERT INTO columns VALUES ({', '.join(map(str, range(len(names))))})")
        for name in names:
            duck.run(f"CREATE TABLE {quote(name)} (i INT)")
            duck.run(f"CREATE VIEW {quote('v' + name)} AS SELECT 1")
            duck.run(f"COMMENT ON TABLE {quote(name)} IS {_literal(name)}")
        duck.run("COMMIT")
    with lake.open() as catalog:
        reader = catalog.at()
        assert {view.name.name for view in reader.views("main")} == {"v" + name for name in names}
        for name in _some(names, kind):
            table = reader.table(QualifiedName("main", name))
            assert (table.name.name, table.comment) == (name, name)
            assert reader.view(QualifiedName("main", "v" + name)).name.name == "v" + name
        table = reader.table("columns")
        assert read_rows(reader, table) == [{name: at for at, name in enumerate(names)}]
        created = [c.target for c in catalog.commits()[-1].changes]
        assert {QualifiedName("main", name) for name in names} <= set(created)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(names=st.lists(NAMES, min_size=1, max_size=4), data=st.data())
def test_any_names_come_back(make_lake: MakeLake, names: list[str], data: st.DataObject) -> None:
    lake = make_lake(data.draw(st.sampled_from(["sqlite", "duckdb"])))
    names = [name for name in _distinct(names) if fold(name) not in ("main", "columns")] or ["a"]
    with lake.open() as catalog:
        _define(catalog, names)
        assert [c.name for c in catalog.at().table("columns").columns] == names
    _check_duckdb(lake, names)


@pytest.mark.parametrize("name", ['say "hi"; DROP TABLE t;--', "İ%s:x?\\", "x" * 64])
def test_rows_are_written_and_read_under_odd_names(make_lake: MakeLake, name: str) -> None:
    lake = make_lake("sqlite")
    where = QualifiedName(f"s{name}", name)
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            tx.create_schema(where.schema)
            tx.create_table(where, [Field(name, "int32")], partitioned_by=[quote(name)])
            tx.set_sort_order(where, [f"{quote(name)} desc"])
            tx.set_option("parquet_compression", "zstd", table=where)
            append(tx, str(where), [{name: 1}], partition_values=["1"])
        assert read_rows(catalog.at(), catalog.at().table(where)) == [{name: 1}]
    qualified = f"{quote(where.schema)}.{quote(name)}"
    with Oracle(lake) as duck:
        duck.run(f"INSERT INTO {qualified} SELECT * FROM range(2, 30)",
                 f"DELETE FROM {qualified} WHERE {quote(name)} = 1")  # fmt: skip
        assert duck.value(f"SELECT count({quote(name)}) FROM {qualified}") == 28


# --- no name becomes SQL ---


@pytest.mark.parametrize("kind", KINDS)
def test_the_statements_are_the_same_whatever_the_names(make_lake: MakeLake, kind: str) -> None:
    seen = []
    for names in (["plain"], ["; DROP TABLE ducklake_table;--"], ["%s :x ? {} \" ' ` \\"]):
        lake = make_lake(kind)
        with lake.open() as catalog:
            with _statements(catalog) as sent:
                _define(catalog, names)
                catalog.at().table(QualifiedName("main", names[0]))
                catalog.at().view(QualifiedName(f"s {names[0]}", names[0]))
            seen.append(sent)
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_inlined_columns_are_quoted(make_lake: MakeLake, kind: str) -> None:
    lake = make_lake(kind)
    words = """select QUALIFY pivot user index glob Mixed 1a q"q %s :x İ end do values summarize
        lambda offset limit order group returning window""".split()
    with Oracle(lake) as duck:
        duck.run(f"CREATE TABLE t ({', '.join(f'{quote(w)} VARCHAR' for w in words)})",
                 f"INSERT INTO t VALUES ({', '.join(map(_literal, words))})")  # fmt: skip
    with lake.open() as catalog:
        reader = catalog.at()
        table = reader.table("t")
        (row,) = reader.inlined_rows(table)
        assert [row.values[column.id] for column in table.columns] == words
        with catalog.transaction() as tx:
            tx.delete_inlined("t", [row.row_id])
    with Oracle(lake) as duck:
        assert duck.rows("FROM t") == []


# --- names that only case tells apart ---


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_the_same_by_ascii_letters_only(make_lake: MakeLake, kind: str) -> None:
    with make_lake(kind).open() as catalog:
        with catalog.transaction() as tx:
            for name in ("Orders", "İ", "i\u0307", "\u0131", "Ä", "ä", "ß", "ẞ", "Σ", "\u03c3"):
                tx.create_table(QualifiedName("main", name), [Field("x", "int32")])
        for spelled in ("orders", "ORDERS", "oRdErS"):
            assert catalog.at().table(spelled).name.name == "Orders"
            with pytest.raises(AlreadyExistsError, match=r"main\."), catalog.transaction() as tx:
                tx.create_table(spelled, [Field("x", "int32")])
        for name in ("İ", "i\u0307", "\u0131", "Ä", "ä", "ß", "ẞ", "Σ", "\u03c3"):
            assert catalog.at().table(QualifiedName("main", name)).name.name == name
        with pytest.raises(NotFoundError):
            catalog.at().table("I")


# --- what no catalog can hold ---

REFUSED: dict[str, Callable[[Any, str], object]] = {
    "schema": lambda tx, bad: tx.create_schema(bad),
    "table": lambda tx, bad: tx.create_table(QualifiedName("main", bad), [Field("x", "int32")]),
    "renamed table": lambda tx, bad: tx.rename_table("t", bad),
    "column": lambda tx, bad: tx.create_table("u", [Field(bad, "int32")]),
    "added column": lambda tx, bad: tx.add_column("t", Field(bad, "int32")),
    "renamed column": lambda tx, bad: tx.rename_column("t", "x", bad),
    "view": lambda tx, bad: tx.create_view(QualifiedName("main", bad), "SELECT 1"),
    "query": lambda tx, bad: tx.create_view("v2", bad),
    "alias": lambda tx, bad: tx.create_view("v2", "SELECT 1", column_aliases=[bad]),
    "renamed view": lambda tx, bad: tx.rename_view("v", bad),
    "tag": lambda tx, bad: tx.set_table_tag("t", bad, "x"),
    "tag of a view": lambda tx, bad: tx.create_view("v2", "SELECT 1", tags={bad: "x"}),
    "option": lambda tx, bad: tx.set_option(bad, "x"),
    "value of an option": lambda tx, bad: tx.set_option("parquet_compression", bad),
}
REFUSED_TEXTS: dict[str, Callable[[Any, str], object]] = {
    "comment": lambda tx, bad: tx.comment_on_table("t", bad),
    "comment of a column": lambda tx, bad: tx.comment_on_column("t", "x", bad),
    "comment of a view": lambda tx, bad: tx.comment_on_view("v", bad),
    "comment of a new table": lambda tx, bad: tx.create_table(
        "u", [Field("x", "int32")], comment=bad
    ),
    "comment of a new column": lambda tx, bad: tx.create_table(
        "u", [Field("x", "int32", comment=bad)]
    ),
    "default": lambda tx, bad: tx.set_column_default("t", "s", bad),
    "author": lambda tx, bad: tx.describe_commit(author=bad),
    "message": lambda tx, bad: tx.describe_commit(message=bad),
    "extra": lambda tx, bad: tx.describe_commit(extra_info=bad),
}


@pytest.fixture
def prepared(make_lake: MakeLake) -> LakeAddress:
    lake = make_lake("postgres")  # the strictest of the three
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.create_table("t", [Field("x", "int32"), Field("s", "varchar")])
        tx.create_view("v", "SELECT 1")
    return lake


def test_names_that_no_catalog_can_hold_are_refused_clearly(prepared: LakeAddress) -> None:
    cases = [(what, REFUSED[what], ["", *UNSTORABLE]) for what in REFUSED]
    cases += [(what, REFUSED_TEXTS[what], UNSTORABLE) for what in REFUSED_TEXTS]
    with prepared.open() as catalog:
        for what, act, texts in cases:
            for bad in texts:
                with pytest.raises(DuckLakeError) as refused, catalog.transaction() as tx:
                    act(tx, bad)
                assert repr(bad) in str(refused.value) or not bad.strip(), (what, bad)
                assert "\x00" not in str(refused.value)
        for message in UNSTORABLE:
            with pytest.raises(DuckLakeError, match="message of a commit"):
                catalog.transaction(message=message)
        assert catalog.snapshot().id == 1


def test_empty_texts_are_texts(prepared: LakeAddress) -> None:
    with prepared.open() as catalog:
        with catalog.transaction(author="", message="") as tx:
            tx.comment_on_table("t", "")
            tx.set_column_default("t", "s", "")
        table = catalog.at().table("t")
        assert (table.comment, table.column("s").default.value) == ("", "")


def test_what_cannot_be_a_name_is_not_found_rather_than_an_error_of_the_driver(
    prepared: LakeAddress,
) -> None:
    with prepared.open() as catalog:
        for bad in UNSTORABLE:
            with pytest.raises(NotFoundError):
                catalog.at().table(QualifiedName("main", bad))
            with pytest.raises(NotFoundError):
                catalog.at().view(QualifiedName("main", bad))
            with pytest.raises(NotFoundError):
                catalog.at().tables(bad)
        for bad_id in (-1, 99, 2**63, 2**100):
            with pytest.raises(NotFoundError, match="in a lake with snapshots 0 to 1"):
                catalog.snapshot(bad_id)
