"""BEGIN, COMMIT, ROLLBACK and `Lake.transaction`: one commit or none, across tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ducklake_spark.catalog import CommitNote, Transaction
from ducklake_spark.config import CommitSettings
from ducklake_spark.errors import (
    CommitConflictError,
    CommitMessageRequiredError,
    DuckLakeError,
    InvalidDefinitionError,
    ReadOnlyError,
    RefusedError,
    StatementError,
    TransactionStateError,
)
from ducklake_spark.lake import Lake
from ducklake_spark.sql import change
from ducklake_spark.storage import filesystem
from ducklake_spark.write import StagedFiles, stage
from support.faults import interrupted
from support.lakes import file_lake
from support.sql_lakes import SqlLake


@pytest.fixture
def on(on: SqlLake) -> SqlLake:
    on.run("CREATE TABLE t AS SELECT 1 AS a")
    return on


def data_files(on: SqlLake) -> int:
    return len(list(Path(on.address.data_path).rglob("*.parquet")))


def table_folders(on: SqlLake) -> set[str]:
    """The folders of tables in the schema main."""
    return {folder.name for folder in (on.address.data_folder / "main").iterdir()}


def test_files_of_no_rows_are_not_left_behind(on: SqlLake) -> None:
    before = data_files(on)
    on.run("CREATE TABLE u AS SELECT id FROM range(0, 100, 1, 4) WHERE id > 60")
    assert data_files(on) - before == len(on.rows("SELECT * FROM lake.list_files('main.u')")) == 2


def test_one_commit_across_statements(on: SqlLake) -> None:
    before = on.newest
    on.run("BEGIN")
    assert on.run("INSERT INTO t VALUES (2)").snapshot_id is None
    on.run("CREATE TABLE u AS SELECT a * 10 AS b FROM t", "UPDATE t SET a = a + 1 WHERE a = 2")
    on.run("CREATE SCHEMA s", "CREATE TABLE s.v AS SELECT * FROM u", "DELETE FROM s.v WHERE b = 10")
    assert on.rows("SELECT a FROM t") == [(1,), (3,)]
    assert on.rows("SELECT * FROM s.v JOIN lake.main.u USING (b)") == [(20,)]
    assert on.duck("SELECT * FROM t") == [(1,)]
    outcome = on.run("COMMIT MESSAGE 'all at once'")
    assert outcome.snapshot_id == on.newest == before + 1
    assert on.duck("SELECT b FROM s.v UNION ALL SELECT a FROM t") == [(1,), (20,), (3,)]
    newest = f"SELECT commit_message FROM lake.snapshots() WHERE snapshot_id = {before + 1}"
    assert on.same(newest) == [("all at once",)]


def test_rollback_leaves_nothing(on: SqlLake) -> None:
    before, files = on.newest, data_files(on)
    on.run("START TRANSACTION", "CREATE TABLE u AS SELECT 1 AS a")
    on.run("INSERT INTO t VALUES (2)", "DROP TABLE t", "ROLLBACK")
    assert on.newest == before
    assert on.same("SELECT * FROM t") == [(1,)]
    assert data_files(on) == files
    assert table_folders(on) == {"t"}


def test_delete_files_that_no_commit_refers_to_go(on: SqlLake) -> None:
    on.run("CREATE TABLE u AS SELECT /*+ COALESCE(1) */ id FROM range(10)")
    files = data_files(on)
    on.run("BEGIN", "DELETE FROM u WHERE id = 1", "ROLLBACK")
    assert data_files(on) == files, "rolled back"
    on.run("BEGIN", "DELETE FROM u WHERE id = 2", "DELETE FROM u WHERE id = 3")
    on.run("INSERT INTO u SELECT /*+ COALESCE(1) */ id + 20 FROM range(2)")
    on.run("DELETE FROM u WHERE id = 20", "COMMIT")
    assert data_files(on) == files + 3, "one delete file for each data file"
    assert len(on.same("SELECT id FROM u")) == 9
    on.run("BEGIN", "DELETE FROM u WHERE id = 5", "DELETE FROM u", "COMMIT")
    assert data_files(on) == files + 3, "of files that ended"


def test_data_files_of_rows_that_went_again_go(on: SqlLake) -> None:
    files = data_files(on)
    on.run("BEGIN", "INSERT INTO t VALUES (2)", "DELETE FROM t WHERE a = 2")
    on.run("CREATE TABLE u AS SELECT id FROM range(10)", "DROP TABLE u")
    on.run("CREATE TABLE v AS SELECT id FROM range(10)", "INSERT OVERWRITE v VALUES (7)")
    on.run("CREATE SCHEMA x", "CREATE TABLE x.t AS SELECT 1 AS a", "DROP SCHEMA x CASCADE")
    on.run("INSERT INTO v VALUES (8)", "ALTER TABLE v RENAME TO w", "COMMIT")
    assert data_files(on) == files + 2
    assert table_folders(on) == {"t", "v"}
    assert on.same("SELECT id FROM w") == [(7,), (8,)]
    assert on.same("SELECT a FROM t") == [(1,)]


def test_a_delete_file_that_is_written_again_for_another_snapshot(on: SqlLake) -> None:
    on.run("CREATE TABLE u AS SELECT /*+ COALESCE(1) */ id FROM range(10)")
    on.run("DELETE FROM u WHERE id = 1")
    files = data_files(on)
    on.run("BEGIN", "DELETE FROM u WHERE id = 2")
    on.duck_runs("CREATE SCHEMA s")
    on.run("COMMIT")
    assert data_files(on) == files + 1
    assert len(on.same("SELECT id FROM u")) == 8
    assert len(on.duck(f"SELECT id FROM u AT (VERSION => {on.newest - 1})")) == 9


def test_a_statement_that_fails_after_its_deletes_leaves_none(
    on: SqlLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RefusedError("No.")

    on.run("INSERT INTO t VALUES (2)", "CREATE TABLE u AS SELECT id AS a FROM range(3)", "BEGIN")
    on.run("DELETE FROM u WHERE a = 0")
    files = data_files(on)
    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "add_files", fail)
        for statement in ("UPDATE u SET a = 5 WHERE a = 1", "INSERT INTO u REPLACE WHERE a = 1 "
                          "SELECT 7"):  # fmt: skip
            with pytest.raises(RefusedError):
                on.run(statement)
            assert data_files(on) == files, statement
    on.run("COMMIT")
    assert on.same("SELECT a FROM u") == [(1,), (2,)]


def test_a_failed_statement_leaves_the_transaction_usable(on: SqlLake) -> None:
    on.run("BEGIN TRANSACTION", "INSERT INTO t VALUES (2)")
    files = data_files(on)
    for statement in (
        "INSERT INTO t SELECT 1 / (id - 5) FROM range(10)",
        "CREATE OR REPLACE TABLE t AS SELECT 1 / (id - 5) AS a FROM range(10)",
        "INSERT INTO nope VALUES (1)",
        "ALTER TABLE t DROP COLUMN nope",
    ):
        with pytest.raises(DuckLakeError, match="transaction is still open"):
            on.run(statement)
    with pytest.raises(DuckLakeError):
        on.rows("SELECT nope FROM t")
    assert data_files(on) == files
    assert on.lake.in_transaction
    on.run("INSERT INTO t VALUES (3)", "COMMIT")
    assert on.same("SELECT * FROM t") == [(1,), (2,), (3,)]


def fail_in_a_transaction(lake: Lake) -> None:
    with lake.transaction():
        lake.sql("DELETE FROM t")
        lake.sql("DELETE FROM nope")


def test_the_block_form(on: SqlLake) -> None:
    before = on.newest
    with on.lake.transaction(author="me", message="why", extra_info="{}") as lake:
        lake.sql("INSERT INTO t VALUES (2)")
        lake.sql("DELETE FROM t WHERE a = 1")
    assert on.newest == before + 1
    assert on.duck("SELECT author, commit_message FROM lake.snapshots() "
                   f"WHERE snapshot_id = {before + 1}") == [("me", "why")]  # fmt: skip
    with pytest.raises(DuckLakeError, match="nope"):
        fail_in_a_transaction(on.lake)
    assert on.same("SELECT * FROM t") == [(2,)]
    assert not on.lake.in_transaction


def test_readers_keep_the_snapshot_that_the_transaction_began_with(on: SqlLake) -> None:
    on.run("BEGIN")
    assert on.rows("SELECT * FROM t") == [(1,)]
    on.duck_runs("INSERT INTO t VALUES (9)")
    assert on.rows("SELECT * FROM t") == [(1,)]
    on.run("INSERT INTO t VALUES (2)", "COMMIT")
    assert on.same("SELECT * FROM t") == [(1,), (2,), (9,)]


def test_a_conflict_rolls_back_and_says_so(on: SqlLake) -> None:
    on.run("CREATE OR REPLACE TABLE t AS SELECT /*+ COALESCE(1) */ id AS a FROM range(2)")
    on.run("BEGIN", "UPDATE t SET a = 5 WHERE a = 0")
    on.duck_runs("UPDATE t SET a = 6 WHERE a = 0")
    files = data_files(on)
    with pytest.raises(CommitConflictError, match="rolled back"):
        on.run("COMMIT")
    assert not on.lake.in_transaction
    assert on.same("SELECT * FROM t") == [(1,), (6,)]
    assert data_files(on) == files - 2, "the new rows and the delete file"
    assert on.run("UPDATE t SET a = 7").rows_updated == 2


@pytest.fixture
def no_removal(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(f"{path} stays")

    monkeypatch.setattr(filesystem, "remove_file", refuse)


@pytest.mark.usefixtures("no_removal")
def test_files_that_cannot_be_removed_are_no_error_of_a_statement(
    on: SqlLake, caplog: pytest.LogCaptureFixture
) -> None:
    on.run("CREATE OR REPLACE TABLE t AS SELECT /*+ COALESCE(1) */ id AS a FROM range(4)")
    on.run("BEGIN", "DELETE FROM t WHERE a = 0", "DELETE FROM t WHERE a = 1")
    assert on.run("COMMIT").snapshot_id == on.newest
    assert on.same("SELECT * FROM t") == [(2,), (3,)]
    assert "-delete.parquet stays" in caplog.text
    on.run("BEGIN", "UPDATE t SET a = 5 WHERE a = 2")
    on.duck_runs("UPDATE t SET a = 6 WHERE a = 2")
    with pytest.raises(CommitConflictError, match="rolled back"):
        on.run("COMMIT")


@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_commit_that_is_interrupted_once_it_landed_keeps_its_files(
    on: SqlLake, in_transaction: bool
) -> None:
    on.run("CREATE OR REPLACE TABLE t AS SELECT /*+ COALESCE(1) */ id AS a FROM range(3)")
    last = "UPDATE t SET a = 5 WHERE a = 1"
    if in_transaction:
        on.run("BEGIN", last)
        last = "COMMIT"
    with interrupted(on.lake.catalog()):
        on.run(last)
    assert on.same("SELECT * FROM t") == [(0,), (2,), (5,)]
    assert on.run("DELETE FROM t WHERE a = 5").rows_deleted == 1


@pytest.fixture
def meanwhile(on: SqlLake, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Has another client commit a statement once the next rows are written."""
    other, waiting = on.lake.sibling(), list[str]()

    def stage_and_wait(*arguments: Any) -> StagedFiles:
        staged = stage(*arguments)
        while waiting:
            other.sql(waiting.pop())
        return staged

    monkeypatch.setattr(change, "stage", stage_and_wait)
    yield waiting.append
    other.session.close()


@pytest.mark.parametrize("in_transaction", [False, True])
def test_what_others_write_beside_a_replacement_stays(
    on: SqlLake, meanwhile: Callable[[str], None], in_transaction: bool
) -> None:
    meanwhile("INSERT INTO t VALUES (1), (5)")
    if in_transaction:
        on.run("BEGIN")
    outcome = on.run("INSERT INTO t AS x REPLACE WHERE x.a < 3 SELECT 2")
    assert outcome.rows_deleted == 2, "the other's row too, for it came first"
    if in_transaction:
        on.run("COMMIT")
    assert on.same("SELECT a FROM t") == [(2,), (5,)]


@pytest.mark.parametrize("read", ["INSERT INTO t REPLACE WHERE a < 3 SELECT a + 1 FROM t", "later"])
def test_a_replacement_that_depends_on_the_rows_is_in_conflict(
    on: SqlLake, meanwhile: Callable[[str], None], read: str
) -> None:
    meanwhile("INSERT INTO t VALUES (1)")
    on.run("BEGIN")
    if read == "later":
        on.rows("SELECT max(a) FROM t")
        read = "INSERT INTO t REPLACE WHERE a < 3 SELECT 2"
    on.run(read)
    with pytest.raises(CommitConflictError):
        on.run("COMMIT")
    assert on.same("SELECT a FROM t") == [(1,), (1,)]


HIDDEN_READS = {
    "view": "SELECT a FROM hidden",
    "view of a view": "SELECT a FROM behind",
    "cached view": "SELECT a FROM cached",
    "global view": "SELECT a FROM global_temp.everywhere",
    "registered frame": "SELECT a FROM registered",
    "table": "TABLE hidden",
    "from first": "FROM hidden SELECT a",
    "expression": "SELECT 1 + (SELECT count(*) FROM hidden) * 0 AS a",
    "with": "WITH hidden AS (SELECT * FROM hidden) SELECT a FROM hidden",
    "identifier": "SELECT a FROM IDENTIFIER('hid' || 'den')",
    "function": "SELECT highest() AS a",
    "table function": "SELECT a FROM everything()",
    "variable": "SELECT a FROM ${hidden_name}",
    "feed": "SELECT a FROM lake.table_insertions('t', 0, {newest})",
}


@pytest.mark.parametrize("query", HIDDEN_READS.values(), ids=HIDDEN_READS)
def test_a_replacement_that_reads_its_target_behind_another_name_is_in_conflict(
    on: SqlLake, meanwhile: Callable[[str], None], query: str
) -> None:
    """Else it would put rows in that were computed before the other's change."""
    on.run(
        "INSERT INTO t VALUES (2)",
        "CREATE TEMPORARY VIEW hidden AS SELECT a FROM t",
        "CREATE TEMPORARY VIEW behind AS SELECT a FROM hidden",
    )
    spark = on.lake.session.spark
    on.lake.sql("CREATE TEMPORARY FUNCTION highest() RETURNS INT RETURN SELECT max(a) FROM hidden")
    on.lake.sql(
        "CREATE TEMPORARY FUNCTION everything() RETURNS TABLE (a INT) RETURN SELECT a FROM hidden"
    )
    on.lake.sql("SET hidden_name = hidden")
    on.lake.sql("SELECT a FROM t").cache().createOrReplaceTempView("cached")
    on.lake.table("t").createOrReplaceTempView("registered")
    spark.table("hidden").createOrReplaceGlobalTempView("everywhere")
    meanwhile("UPDATE t SET a = 9 WHERE a = 2")
    with pytest.raises(CommitConflictError):
        on.run(f"INSERT INTO t REPLACE WHERE true {query.replace('{newest}', str(on.newest))}")
    assert (9,) in on.same("SELECT a FROM t")


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t REPLACE WHERE a IN (SELECT a FROM hidden) SELECT 2",
        "INSERT INTO t REPLACE WHERE a = highest() SELECT 2",
    ],
)
def test_a_condition_that_reads_the_target_behind_another_name_is_in_conflict(
    on: SqlLake, meanwhile: Callable[[str], None], statement: str
) -> None:
    on.run("CREATE TEMPORARY VIEW hidden AS SELECT a FROM t")
    on.lake.sql("CREATE TEMPORARY FUNCTION highest() RETURNS INT RETURN SELECT max(a) FROM hidden")
    meanwhile("UPDATE t SET a = 9")
    with pytest.raises(CommitConflictError):
        on.run(statement)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM u",
        "SELECT a FROM lake.main.u",
        "WITH c AS (SELECT a FROM w) SELECT CAST(concat(a, '') AS INT) FROM c",
        "VALUES (2)",
        "SELECT explode(array(2)) AS a",
    ],
)
def test_a_replacement_from_other_tables_of_the_lake_is_in_no_conflict(
    on: SqlLake, meanwhile: Callable[[str], None], query: str
) -> None:
    on.run("CREATE TABLE u AS SELECT 2 AS a", "CREATE VIEW w AS SELECT a FROM u")
    meanwhile("INSERT INTO t VALUES (1), (5)")
    on.run(f"INSERT INTO t REPLACE WHERE a < 3 AND a NOT IN (SELECT a + 90 FROM w) {query}")
    assert on.same("SELECT a FROM t") == [(2,), (5,)]


def _last_commit(on: SqlLake) -> tuple[str | None, str | None, str | None]:
    commit = on.lake.catalog().commits()[-1]
    return commit.author, commit.message, commit.extra_info


@pytest.mark.parametrize(
    "statement", ["INSERT INTO t REPLACE WHERE a < 3 SELECT 2", "UPDATE t SET a = 2"]
)
def test_a_statement_by_itself_says_who_commits_and_why(on: SqlLake, statement: str) -> None:
    note = CommitNote("ann", "monthly", '{"run": 7}')
    on.lake.describe_commits(note)
    on.lake.sql("CALL lake.set_option('require_commit_message', true)")
    on.run(statement)
    assert _last_commit(on) == ("ann", "monthly", '{"run": 7}')


@pytest.mark.parametrize("between", ["look again", "CALL lake.merge_adjacent_files('t')", "read"])
def test_a_transaction_that_begins_anew_still_says_who_commits(on: SqlLake, between: str) -> None:
    on.run("BEGIN")
    on.lake.sql(
        "CALL lake.set_commit_message(author => 'ann', commit_message => 'why', "
        "extra_info => 'more')"
    )
    if between == "look again":
        on.lake.look_again()
    else:
        on.lake.sql("SELECT * FROM t" if between == "read" else between)
    on.run("INSERT INTO t REPLACE WHERE a < 3 SELECT 2", "COMMIT")
    assert _last_commit(on) == ("ann", "why", "more")


def test_replacements_side_by_side(on: SqlLake) -> None:
    """Of one table, in transactions that stay open for a while: none is in the way of another."""
    lakes = [on.lake.sibling() for _ in range(3)]

    def replace(number: int) -> None:
        with lakes[number].transaction():
            lakes[number].sql(f"INSERT INTO t REPLACE WHERE a = {number} SELECT {number}")
            lakes[number].sql("SELECT count(*) FROM t").collect()

    for _ in range(2):
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(replace, range(3)))
    assert on.same("SELECT a FROM t") == [(0,), (1,), (2,)]


def test_who_waits_for_a_turn_in_vain_goes_on_without(on: SqlLake) -> None:
    """Here for ever, for one thread has both transactions."""
    catalog = on.address.open(commit_settings=CommitSettings(give_up_after_s=0.1))
    with Lake(on.lake.session.sibling(), {"lake": catalog}) as first:
        second = first.sibling()
        first.sql("BEGIN")
        first.sql("INSERT INTO t REPLACE WHERE a = 1 SELECT 1")
        second.sql("INSERT INTO t REPLACE WHERE a = 2 SELECT 2")
        with pytest.raises(CommitConflictError):
            first.sql("COMMIT")
        second.session.close()
    assert on.same("SELECT a FROM t") == [(1,), (2,)]


def test_a_failed_replacement_leaves_the_transaction_as_it_was(
    on: SqlLake, meanwhile: Callable[[str], None]
) -> None:
    files = data_files(on)
    meanwhile("INSERT INTO t VALUES (1)")
    on.run("BEGIN")
    with pytest.raises(DuckLakeError):
        on.run("INSERT INTO t REPLACE WHERE a / (a - 1) > 0 SELECT 2")
    assert on.rows("SELECT a FROM t") == [(1,)]
    on.run("COMMIT")
    assert data_files(on) == files + 1
    assert on.same("SELECT a FROM t") == [(1,), (1,)]


def test_states(on: SqlLake) -> None:
    for statement in ("COMMIT", "ROLLBACK"):
        with pytest.raises(TransactionStateError, match="BEGIN"):
            on.run(statement)
    on.run("BEGIN")
    with pytest.raises(TransactionStateError, match="open already"):
        on.run("BEGIN")
    assert on.run("COMMIT").snapshot_id is None
    with pytest.raises(StatementError, match="set_commit_message"):
        on.lake.sql("CALL lake.set_commit_message('me', 'why')")


def test_commit_messages_by_call(on: SqlLake) -> None:
    on.run("BEGIN", "DELETE FROM t")
    on.lake.sql("CALL lake.set_commit_message('me', commit_message => 'gone')")
    newest = on.run("COMMIT").snapshot_id
    query = f"SELECT author, commit_message FROM lake.snapshots() WHERE snapshot_id = {newest}"
    assert on.same(query) == [("me", "gone")]


def test_a_lake_that_asks_for_messages(on: SqlLake) -> None:
    on.lake.sql("CALL lake.set_option('require_commit_message', true)")
    with pytest.raises(CommitMessageRequiredError):
        on.run("DELETE FROM t")
    on.lake.describe_commits(CommitNote(message="of all", extra_info="{}"))
    newest = on.run("DELETE FROM t").snapshot_id
    on.lake.sql("CALL lake.set_option('require_commit_message', false)")
    query = (
        "SELECT commit_message, commit_extra_info FROM lake.snapshots() "
        f"WHERE snapshot_id = {newest}"
    )
    assert on.same(query) == [("of all", "{}")]


def test_two_lakes(on: SqlLake, tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    second = file_lake("sqlite", tmp_path / "two")
    on.lake.attach("two", second.catalog, second.data_path)
    on.run("CREATE TABLE two.main.w AS SELECT 5 AS a")
    on.run("BEGIN", "INSERT INTO t SELECT a FROM two.w")
    with pytest.raises(StatementError, match="no commit in common"):
        on.run("INSERT INTO two.main.w VALUES (6)")
    on.run("COMMIT")
    assert on.same("SELECT * FROM t") == [(1,), (5,)]
    on.run("BEGIN", "INSERT INTO two.w SELECT a FROM t WHERE a = 1", "COMMIT")
    assert on.rows("SELECT * FROM two.w") == [(1,), (5,)]


def test_a_lake_that_may_only_be_read(on: SqlLake) -> None:
    with Lake(on.lake.session.sibling(), {"lake": on.address.open(read_only=True)}) as lake:
        assert lake.sql("SELECT * FROM t").collect() == [(1,)]
        for statement in ("DELETE FROM t", "CREATE TABLE x AS SELECT 1 AS a", "DROP TABLE t"):
            with pytest.raises(ReadOnlyError, match="lake"):
                lake.sql(statement)
    assert on.same("SELECT * FROM t") == [(1,)]


def test_closing_rolls_back(on: SqlLake) -> None:
    other = on.lake.sibling()
    other.sql("BEGIN")
    other.sql("DELETE FROM t")
    assert other.in_transaction
    other._workspace.rollback()
    assert on.same("SELECT * FROM t") == [(1,)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("RESET PARTITIONED BY", "SET PARTITIONED BY (b)"),
        ("SET PARTITIONED BY (b)", "RESET PARTITIONED BY"),
        ("SET PARTITIONED BY (b)", "SET PARTITIONED BY (a)"),
        ("SET PARTITIONED BY (a)", "SET PARTITIONED BY (b, a)"),
    ],
)
def test_another_partitioning_after_rows(on: SqlLake, before: str, after: str) -> None:
    on.run("CREATE TABLE p (a INT, b STRING)", f"ALTER TABLE p {before}")
    on.run("BEGIN", "INSERT INTO p VALUES (1, 'x'), (2, 'y')", f"ALTER TABLE p {after}", "COMMIT")
    assert on.rows("CALL lake.verify()") == []
    on.run("INSERT INTO p VALUES (3, 'y')")
    assert on.same("SELECT a FROM p WHERE b = 'y'") == [(2,), (3,)]
    on.duck_runs("CALL ducklake_merge_adjacent_files('lake')")
    assert on.same("SELECT * FROM p WHERE a < 3") == [(1, "x"), (2, "y")]
    assert on.rows("CALL lake.verify()") == []


def test_a_partitioning_with_rows_cannot_end_in_the_commit_it_begins_in(on: SqlLake) -> None:
    on.run("BEGIN", "CREATE TABLE p PARTITIONED BY (a) AS SELECT 1 AS a, 'x' AS b")
    with pytest.raises(RefusedError, match=r"main\.p .* another way.* added in this"):
        on.run("ALTER TABLE p SET PARTITIONED BY (b)")
    on.run("TRUNCATE TABLE p", "ALTER TABLE p SET PARTITIONED BY (b)")
    on.run("INSERT INTO p VALUES (2, 'y')", "COMMIT")
    assert on.rows("CALL lake.verify()") == []
    assert on.same("SELECT * FROM p WHERE b = 'y'") == [(2, "y")]


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE n AS SELECT CAST(NULL AS INT) AS x",),
        ("CREATE TABLE n (x INT)", "INSERT INTO n VALUES (NULL)"),
        ("ALTER TABLE t RENAME TO n", "ALTER TABLE n ADD COLUMN x INT"),
        ("CREATE TABLE n AS SELECT 1 AS a", "ALTER TABLE n ADD COLUMN x INT"),
        (
            "ALTER TABLE t RENAME TO n",
            "ALTER TABLE n ADD COLUMN x INT DEFAULT 1",
            "INSERT INTO n VALUES (2, NULL)",
        ),
        ("ALTER TABLE r ALTER COLUMN x DROP NOT NULL", "INSERT INTO r VALUES (NULL)",
         "ALTER TABLE r RENAME TO n"),
    ],
)  # fmt: skip
def test_not_null_of_what_is_new(on: SqlLake, statements: tuple[str, ...]) -> None:
    on.run("CREATE TABLE r (x INT NOT NULL)")
    before = on.newest
    on.run("BEGIN", *statements, "ALTER TABLE n ALTER COLUMN x SET NOT NULL")
    with pytest.raises(InvalidDefinitionError, match=r"'x' of main\.n cannot become NOT NULL"):
        on.run("COMMIT")
    assert on.newest == before


def test_not_null_of_what_is_new_and_filled(on: SqlLake) -> None:
    on.run("BEGIN", "CREATE TABLE n AS SELECT 1 AS x", "ALTER TABLE n ALTER COLUMN x SET NOT NULL")
    on.run("INSERT INTO n VALUES (2)", "ALTER TABLE n ADD COLUMN y INT DEFAULT 7")
    on.run("ALTER TABLE t ADD COLUMN x INT DEFAULT 3", "ALTER TABLE t ALTER COLUMN x SET NOT NULL")
    on.run("ALTER TABLE n ALTER COLUMN y SET NOT NULL", "INSERT INTO n VALUES (3, 8)", "COMMIT")
    assert on.same("SELECT * FROM n") == [(1, 7), (2, 7), (3, 8)]
    assert on.same("SELECT * FROM t") == [(1, 3)]
    assert on.rows("CALL lake.verify()") == []
