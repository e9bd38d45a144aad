"""UPDATE and MERGE by Spark: rows as a model says, row ids kept, changes as DuckDB reports them."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from ducklake_spark.catalog import Field
from ducklake_spark.errors import InvalidDefinitionError, RowCountError
from ducklake_spark.scan import ROW_ID, read_table
from ducklake_spark.session import Session
from ducklake_spark.write import Clause, append, change, merge, update
from ducklake_spark.write.arrow_files import write_with_row_ids
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle

CREATE = "CREATE TABLE t (id INTEGER, v INTEGER, tags VARCHAR[], m MAP(VARCHAR, INTEGER), tm TIME)"
ROW = "i, i * 10, ['t' || i], MAP {'k': i}, TIME '01:02:03'"


@pytest.fixture
def lake(tmp_path: Path) -> LakeAddress:
    return file_lake("sqlite", tmp_path)


def duck_rows(duck: Oracle, version: int) -> dict[int, tuple[object, ...]]:
    found = duck.rows(f"SELECT id, v, tags, m, tm::VARCHAR, rowid FROM t AT (VERSION => {version})")
    rows = {row[0]: (row[1], row[2], row[3], row[4], row[5]) for row in found}
    assert len(rows) == len(found)
    return rows


@pytest.mark.parametrize("keys", [(), ("bucket(3, id)",)])
def test_updated_rows_keep_their_ids_and_all_their_values(
    lake: LakeAddress, session: Session, keys: tuple[str, ...]
) -> None:
    with Oracle(lake) as duck:
        duck.run(CREATE)
        if keys:
            duck.run(f"ALTER TABLE t SET PARTITIONED BY ({', '.join(keys)})")
        duck.run(f"INSERT INTO t SELECT {ROW} FROM range(30) r(i)")
        duck.run(f"INSERT INTO t SELECT {ROW} FROM range(30, 33) r(i)")  # inlined
        before = duck_rows(duck, duck.snapshots()[-1])
    with lake.open() as catalog, catalog.transaction() as tx:
        changed = update(session, tx, "t", {"v": "v + 1", "tags": "array('new')"}, "id % 3 = 0")
        assert changed.updated == 11
    with Oracle(lake) as duck:
        newest = duck.snapshots()[-1]
        assert duck.rows(
            f"SELECT change_type, count(*) FROM lake.table_changes('t', {newest}, {newest})"
            " GROUP BY ALL ORDER BY ALL"
        ) == [("update_postimage", 11), ("update_preimage", 11)]
    with lake.open() as catalog, catalog.transaction() as tx:
        append(tx, "t", session.spark.sql("SELECT 500 AS id, 5 AS v"))
        assert update(session, tx, "t", {"v": "6"}, "id = 500 OR id = 3").updated == 2
    with Oracle(lake) as duck:
        newest = duck.snapshots()[-1]
        after = duck_rows(duck, newest)
        assert after.pop(500)[0] == 6
        for key, (v, tags, m, at, row_id) in before.items():
            expected = (6 if key == 3 else v + 1, ["new"], m, at, row_id)
            assert after[key] == (expected if key % 3 == 0 else (v, tags, m, at, row_id)), key
        duck.run("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.0)")
        duck.run("CALL ducklake_merge_adjacent_files('lake')", "UPDATE t SET v = 0 WHERE id = 3")
        assert duck.value("SELECT count(*) FROM t") == 34
    with lake.open() as catalog:
        reader = catalog.at()
        rows = read_table(session, reader, reader.table("t"), extras=(ROW_ID,)).collect()
        ids = {row.id: row[ROW_ID] for row in rows}
        assert {key: ids[key] for key in before} == {k: row[-1] for k, row in before.items()}


@pytest.mark.parametrize(
    ("seed", "by_source", "large"),
    [(0, True, False), (1, True, False), (2, False, False), (3, False, False), (4, False, True)],
)
def test_random_merges_do_what_a_model_does(
    lake: LakeAddress,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    by_source: bool,
    large: bool,
) -> None:
    if large:  # as if the source were
        monkeypatch.setattr(change, "_BROADCAST_UP_TO", 0)
    rng = random.Random(seed)
    with Oracle(lake) as duck:
        duck.run(CREATE, f"INSERT INTO t SELECT {ROW} FROM range(40) r(i)")
    model = {i: i * 10 for i in range(40)}
    for step in range(3):
        keys = rng.sample(range(60), 15)
        bound = rng.randrange(400)
        source = session.spark.createDataFrame(
            [(k, rng.randrange(1000)) for k in keys] + [(None, 1)], "id int, v int"
        )
        values = {row.id: row.v for row in source.collect()}
        clauses = [
            Clause("matched", "delete", "target.v < source.v AND source.v % 2 = 0"),
            Clause("matched", "update", f"source.v > {bound}", {"v": "source.v + target.v"}),
            Clause(
                "not matched",
                "insert",
                "source.id IS NOT NULL",
                {"id": "source.id", "v": "source.v"},
            ),
        ]
        if by_source:
            clauses += [
                Clause("not matched by source", "update", "target.id % 5 = 0", {"v": "-1"}),
                Clause("not matched by source", "delete", "target.id % 7 = 0"),
            ]
        with lake.open() as catalog, catalog.transaction() as tx:
            merge(session, tx, "t", source, "target.id = source.id", clauses)
        model = merged(model, values, bound, by_source)
        with Oracle(lake) as duck:
            found = dict(duck.rows("SELECT id, v FROM t"))
            assert found == model, f"seed {seed}, step {step}"
            assert duck.value("SELECT count(*) FROM t") == len(model)
            duck.run(f"UPDATE t SET v = v + 1 WHERE id % 2 = {step % 2}")
            model = {k: v + (k % 2 == step % 2) for k, v in model.items()}
    with lake.open() as catalog:
        reader = catalog.at()
        rows = read_table(session, reader, reader.table("t")).collect()
        assert {row.id: row.v for row in rows} == model, f"seed {seed}"


def merged(
    model: dict[int, int], source: dict[int | None, int], bound: int, by_source: bool
) -> dict[int, int]:
    result = {}
    for key, v in model.items():
        if key in source:
            new = source[key]
            if v < new and new % 2 == 0:
                continue
            result[key] = new + v if new > bound else v
        elif by_source and key % 5 == 0:
            result[key] = -1
        elif key % 7 or not by_source:
            result[key] = v
    return result | {k: v for k, v in source.items() if k is not None and k not in model}


def test_a_target_row_matched_twice_is_an_error_and_changes_nothing(
    lake: LakeAddress, session: Session
) -> None:
    with Oracle(lake) as duck:
        duck.run("CREATE TABLE t (id INTEGER, v INTEGER)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    source = session.spark.sql("SELECT * FROM VALUES (1, 5), (1, 6) AS s(id, v)")
    clause = Clause("matched", "update", None, {"v": "source.v"})
    with lake.open() as catalog:
        before = catalog.snapshot()
        with (
            pytest.raises(InvalidDefinitionError, match="Several rows of the source match"),
            catalog.transaction() as tx,
        ):
            merge(session, tx, "t", source, "target.id = source.id", [clause])
        assert catalog.snapshot() == before


def test_updated_rows_keep_their_ids_when_duckdb_merges_their_file(
    lake: LakeAddress, session: Session
) -> None:
    with Oracle(lake) as duck:
        duck.run("CALL lake.set_option('data_inlining_row_limit', 0)", CREATE)
        duck.run(f"INSERT INTO t SELECT {ROW} FROM range(3) r(i)")
        duck.run(f"INSERT INTO t SELECT {ROW} FROM range(3, 6) r(i)")
    with lake.open() as catalog, catalog.transaction() as tx:
        update(session, tx, "t", {"v": "v + 1"}, "id = 1")
    with Oracle(lake) as duck:
        before = duck_rows(duck, duck.snapshots()[-1])
        assert duck.rows("CALL ducklake_merge_adjacent_files('lake')") == [("main", "t", 2, 1)]
        assert duck_rows(duck, duck.snapshots()[-1]) == before


@pytest.mark.parametrize(("keys", "lost"), [((), False), (("id",), False), ((), True)])
def test_the_new_rows_are_those_of_the_tasks_that_succeeded_and_all_of_them(
    lake: LakeAddress,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    keys: tuple[str, ...],
    lost: bool,
) -> None:
    def write(*arguments: Any) -> dict[str, tuple[object, ...]]:
        written = write_with_row_ids(*arguments)
        path = next(iter(written))
        shutil.copy(path, path.replace(".parquet", "-failed.parquet"))  # of another attempt
        return {} if lost else written

    monkeypatch.setattr(sys.modules["ducklake_spark.write.stage"], "write_with_row_ids", write)
    with lake.open() as catalog:
        with catalog.transaction() as tx:
            fields = [Field("id", "int64"), Field("v", "int32")]
            tx.create_table("t", fields, partitioned_by=keys)
            append(tx, "t", session.spark.sql("SELECT id, 0 AS v FROM range(3)"))
        before = catalog.snapshot()
        if lost:
            with pytest.raises(RowCountError, match="hold 0 rows"), catalog.transaction() as tx:
                update(session, tx, "t", {"v": "1"})
            assert catalog.snapshot() == before
        else:
            with catalog.transaction() as tx:
                update(session, tx, "t", {"v": "1"})
    with Oracle(lake) as duck:
        assert duck.rows("SELECT id, v FROM t ORDER BY id") == [
            (i, int(not lost)) for i in range(3)
        ]
