"""The page about a lake says what is in it, needs no network, and takes names as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.cli import main
from ducklake_spark.errors import CatalogNotFoundError, ConfigError
from ducklake_spark.lake import Lake
from ducklake_spark.report import write_report
from ducklake_spark.report.facts import gather
from ducklake_spark.report.gains import Gain
from ducklake_spark.session import Session
from support.lakes import LakeAddress, file_lake
from support.migration import migrate
from support.oracle import Oracle
from support.sound_lake import copy_of, make_sound_lake

_EVIL = "<script>alert(1)</script>\"' onload='x"
_VOID = {"meta", "rect", "path", "br"}


class _Page(HTMLParser):
    """A page's words, and the tags and attributes that it consists of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        assert self.open == [], "a tag is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def _report(lake: LakeAddress, path: Path) -> str:
    with lake.open(read_only=True) as catalog:
        return write_report(catalog, path).read_text(encoding="utf-8")


def _assert_needs_nothing(html: str) -> None:
    page = _Page(html)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not {"src", "href", "srcset", "onload", "onclick"} & {
        name for name, _ in page.attributes
    }
    assert not re.search(r"https?:|//[a-z]|url\(|@import", html)


def test_the_page_tells_of_tables_and_what_could_be_done(lake: LakeAddress, tmp_path: Path) -> None:
    make_sound_lake(lake)
    html = _report(lake, tmp_path / "a" / "page.html")
    page = _Page(html)
    _assert_needs_nothing(html)
    for expected in (
        "sales.orders 104",  # rows, without those that are deleted
        "main.notes 2",
        "main.events 67",
        "2 rows in the catalog that could be in files",
        "2 partitions",
        "inserted into table",
    ):
        assert expected in page.text
    assert "main.gone" not in page.text


def test_the_printed_calls_do_what_they_promise(
    session: Session, sound: LakeAddress, tmp_path: Path
) -> None:
    lake = copy_of(sound, tmp_path / "copy")
    with lake.open() as catalog, Lake(session, {"lake": catalog}) as on:
        on.sql("CREATE TABLE small AS SELECT 1 AS a")
        on.sql("INSERT INTO small SELECT 2")
        lake.sql("UPDATE ducklake_snapshot SET snapshot_time = '2020-01-01 00:00:00+00'")
        for title in ("Inlined rows", "Small files", "Deleted rows", "Old snapshots"):
            gain = _gain(catalog, title)
            assert gain.count > 0, title
            assert on.sql(f"CALL lake.{gain.command}").collect() != [], title
            assert _gain(catalog, title).count == 0, title
        lake.sql("UPDATE ducklake_files_scheduled_for_deletion SET schedule_start = '2020-01-01'")
        gain = _gain(catalog, "Scheduled files")
        deleted = on.sql(f"CALL lake.{gain.command}").where("action = 'delete'").count()
        assert deleted == gain.count > 0


def _gain(catalog: Catalog, title: str) -> Gain:
    return next(gain for gain in gather(catalog).gains if gain.title == title)


def test_counts_are_those_of_the_newest_snapshot(sound: LakeAddress, tmp_path: Path) -> None:
    lake = copy_of(sound, tmp_path / "copy")
    with Oracle(lake) as duck:
        counted = {
            name: duck.value(f"SELECT count(*) FROM {name}")
            for name in ("sales.orders", "main.events", "main.notes")
        }
    with lake.open(read_only=True) as catalog:
        usage = {str(table.name): table for table in catalog.usage().tables}
    assert {name: usage[name].rows for name in counted} == counted
    on_disk = {path.name: path.stat().st_size for path in Path(lake.data_path).rglob("*.parquet")}
    live = "SELECT path FROM ducklake_data_file WHERE end_snapshot IS NULL"
    sizes = sum(on_disk[Path(path).name] for (path,) in lake.sql(live))
    assert sum(table.size_bytes for table in usage.values()) == sizes


def test_who_made_a_snapshot_and_with_which_model(tmp_path: Path) -> None:
    lake = file_lake("sqlite", tmp_path)
    noted = {
        '{"node_id": "model.shop.orders", "target": "dev"}': "model.shop.orders",
        "no JSON": "by hand",
        '["a list"]': "by list",
        '{"node_id": 7}': "by number",
    }
    with lake.open() as catalog:
        for at, (extra, message) in enumerate(noted.items()):
            with catalog.transaction(author="Ana", message=message, extra_info=extra) as tx:
                tx.create_table(f"t{at}", [Field("a", "int32")])
    text = _Page(_report(lake, tmp_path / "page.html")).text
    assert "model.shop.orders model.shop.orders Ana" in text
    assert re.search("created table . by number Ana", text)


def test_names_and_messages_are_text_whatever_is_in_them(tmp_path: Path) -> None:
    lake = file_lake("sqlite", tmp_path)
    with lake.open() as catalog, catalog.transaction(author=_EVIL, message=_EVIL) as tx:
        tx.create_schema(_EVIL)
        tx.create_table(f'"{_EVIL.replace(chr(34), chr(34) * 2)}"', [Field("a", "int32")])
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE p (a VARCHAR)", "ALTER TABLE p SET PARTITIONED BY (a)")
        values = ", ".join(f"('{v}')" for v in [_EVIL.replace("'", "''"), "b"] * 10)
        duck.run(f"INSERT INTO p VALUES {values}")
    html = _report(lake, tmp_path / "page.html")
    _assert_needs_nothing(html)
    assert _Page(html).text.count("<script>alert(1)</script>") >= 4


def test_an_empty_lake_has_a_page(lake: LakeAddress, tmp_path: Path) -> None:
    lake.open().close()
    html = _report(lake, tmp_path / "page.html")
    _assert_needs_nothing(html)
    text = _Page(html).text
    assert "The lake has no table yet." in text
    assert text.count("Nothing to do") == 5


def test_a_big_lake_has_a_page_that_can_be_read(tmp_path: Path) -> None:
    lake = file_lake("sqlite", tmp_path)
    with lake.open() as catalog, catalog.transaction() as tx:
        for at in range(130):
            tx.create_table(f"t{at}", [Field("a", "int32")])
    # Years of snapshots, a thousand files, hundreds of partitions.
    many = "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
    for statement in (
        "INSERT INTO ducklake_snapshot SELECT i, datetime('2024-01-01', i || ' hours') || '+00', "
        "1, 200, 5000 FROM n",
        "INSERT INTO ducklake_snapshot_changes (snapshot_id, changes_made) "
        "SELECT i, 'inserted_into_table:1' FROM n",
    ):
        lake.sql((many + statement).format(5000))
    lake.sql(
        many.format(1000)
        + "INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, path, "
        "path_is_relative, file_format, record_count, file_size_bytes, partition_id) "
        "SELECT i, 1, i, 'f' || i, 1, 'parquet', 10, i * 100000, 1 FROM n"
    )
    lake.sql(
        "INSERT INTO ducklake_file_partition_value SELECT data_file_id, 1, 0, data_file_id % 300 "
        "FROM ducklake_data_file"
    )
    html = _report(lake, tmp_path / "page.html")
    text = _Page(html).text
    assert "and 30 more tables" in text
    assert "and 290 more." in text
    assert "and 4,901 older snapshots" in text
    assert len(html) < 300_000


# --- as a command ---


def test_the_command_writes_the_page_without_spark(
    sound: LakeAddress, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", "--catalog", sound.catalog, "-o", str(page)]) == 0
    assert capsys.readouterr().out.strip() == str(page)
    assert "sales.orders" in page.read_text(encoding="utf-8")


def test_what_cannot_be_reported(sound: LakeAddress, tmp_path: Path) -> None:
    with pytest.raises(CatalogNotFoundError):
        file_lake("sqlite", tmp_path).open(read_only=True)
    folder = tmp_path / "folder"
    folder.mkdir()
    with sound.open(read_only=True) as catalog, pytest.raises(ConfigError, match="cannot be"):
        write_report(catalog, folder)


def test_a_lake_that_is_read_only_gets_no_advice(tmp_path: Path) -> None:
    lake = file_lake("sqlite", tmp_path)
    make_sound_lake(lake)
    assert "CALL lake." in _report(lake, tmp_path / "before.html")
    migrate(lake)
    page = _Page(_report(lake, tmp_path / "after.html")).text
    assert "CALL lake." not in page
    assert "Run the maintenance with DuckDB." in page
