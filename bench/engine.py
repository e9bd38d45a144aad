"""Measures scans, writes and row-level changes on TPC-H's lineitem, as ratios within one run.

    python bench/engine.py [--scale 1.0] [--files 10000] [--master local[*]]

Every figure of ours stands beside what plain Spark does with the same rows, and beside DuckDB's
time for the same statement on the same lake.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from timing import clocked, machine

from ducklake_spark.catalog import Catalog, Transaction
from ducklake_spark.scan import read_table
from ducklake_spark.session import Session, SparkSettings
from ducklake_spark.spec.paths import StoredPath
from ducklake_spark.spec.predicates import Comparison
from ducklake_spark.storage.footers import describe_file
from ducklake_spark.write import Clause, append, delete, kept, merge, update

sys.path.insert(0, str(Path(__file__).parents[1] / "integration_tests"))
from support.lakes import LakeAddress, file_lake
from support.oracle import Oracle

AGGREGATE = (
    "l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice * (1 - l_discount)), count(*)"
)

_WARM_UP, _TIMES = 3, 4

_Work = Callable[[Transaction], object]


@dataclass(frozen=True)
class Line:
    """Our time beside another's, and how large their ratio may be."""

    name: str
    ours: float
    beside: str
    other: float
    bar: float | None
    duck: float | None

    @property
    def missed(self) -> bool:
        return self.bar is not None and self.ours / self.other > self.bar

    def __str__(self) -> str:
        bar = f"bar {self.bar:.2f}" if self.bar is not None else ""
        duck = f"DuckDB {self.duck / 1000:.2f} s" if self.duck is not None else ""
        verdict = "MISSED" if self.missed else ""
        return (
            f"| {self.name} | {self.ours / 1000:.2f} s | {self.beside} {self.other / 1000:.2f} s "
            f"| {self.ours / self.other:.2f} | {bar} | {duck} | {verdict} |"
        )


class Bench:
    """One lake with the table t of lineitem's rows."""

    def __init__(self, folder: Path, session: Session, scale: float) -> None:
        self.folder = folder
        self.session = session
        self.lake = file_lake("sqlite", folder)
        self.lines: list[Line] = []
        with Oracle(self.lake) as duck:
            duck.connection.execute(f"LOAD '{_tpch()}'")
            duck.run("USE memory", f"CALL dbgen(sf = {scale})", "USE lake")
            duck.run("CREATE TABLE t AS FROM memory.lineitem LIMIT 0")
            duck.run(f"COPY memory.lineitem TO '{folder}/source.parquet'")
            self.rows = duck.value("SELECT count(*) FROM memory.lineitem")

    # --- clocks ---

    def duck(self, statement: str) -> float:
        with Oracle(self.lake) as duck:
            duck.value("SELECT count(*) FROM t")
            try:
                duck.run("BEGIN")
                return clocked(lambda: duck.rows(statement))
            finally:
                duck.run("ROLLBACK")

    def best(self, *actions: Callable[[], object]) -> list[float]:
        """The best time of each action, which take turns, once the JVM has compiled them."""
        times = [[clocked(action) for action in actions] for _ in range(_WARM_UP + _TIMES)]
        return [min(column) for column in zip(*times[_WARM_UP:], strict=True)]

    def note(
        self, name: str, ours: float, beside: str, other: float, bar: float, statement: str
    ) -> None:
        self.lines.append(Line(name, ours, beside, other, bar, self.duck(statement)))
        print(self.lines[-1], flush=True)

    # --- what is measured ---

    def append(self, catalog: Catalog) -> None:
        source = self.session.spark.read.parquet(f"{self.folder}/source.parquet")
        target = f"{self.folder}/plain"

        def plain() -> None:
            source.write.mode("overwrite").parquet(target)

        def ours() -> None:
            with catalog.transaction() as tx:
                append(tx, "t", source)

        def again() -> None:
            with catalog.transaction() as tx:
                tx.truncate("t")

        time, self.rewrite, _ = self.best(ours, plain, again)
        ours()
        statement = f"INSERT INTO t FROM '{self.folder}/source.parquet'"
        self.note("append with commit", time, "df.write.parquet", self.rewrite, 1.10, statement)

    def aggregate(self, catalog: Catalog, name: str, bar: float) -> None:
        reader = catalog.at()
        table = reader.table("t")
        paths = [file.path for file in reader.files(table)]

        def query(frame) -> None:  # type: ignore[no-untyped-def]
            frame.createOrReplaceTempView("lineitem")
            text = f"SELECT {AGGREGATE} FROM lineitem GROUP BY 1, 2"
            self.session.spark.sql(text).collect()

        plain, ours = self.best(
            lambda: query(self.session.spark.read.parquet(*paths)),
            lambda: query(read_table(self.session, catalog.at(), table)),
        )
        duck = f"SELECT {AGGREGATE} FROM t GROUP BY 1, 2"
        self.note(name, ours, "spark.read.parquet", plain, bar, duck)

    def changes(self, catalog: Catalog) -> None:
        def rolled_back(action: _Work) -> Callable[[], None]:
            def run() -> None:
                tx = catalog.transaction()
                action(tx)
                tx.rollback()

            return run

        s = self.session
        one = "l_orderkey % 100 = 7"
        update_one = rolled_back(lambda tx: update(s, tx, "t", {"l_comment": "'new'"}, one))
        self.note(
            "UPDATE of 1 %", *self.best(update_one), "rewriting", self.rewrite, 0.25,
            f"UPDATE t SET l_comment = 'new' WHERE {one}",
        )  # fmt: skip
        delete_one = rolled_back(lambda tx: delete(s, tx, "t", one))
        self.note(
            "DELETE of 1 %", *self.best(delete_one), "rewriting", self.rewrite, 0.25,
            f"DELETE FROM t WHERE {one}",
        )  # fmt: skip
        self.merges(rolled_back)

    def merges(self, rolled_back: Callable[[_Work], Callable[[], None]]) -> None:
        """The rows to merge are in a file of their own, as an increment is."""
        changes = f"{self.folder}/changes.parquet"
        with Oracle(self.lake) as duck:
            duck.run(
                f"COPY (FROM '{self.folder}/source.parquet' WHERE l_orderkey % 50 = 3) "
                f"TO '{changes}'"
            )
        s, source = self.session, self.session.spark.read.parquet(changes)
        keys = "target.l_orderkey = source.l_orderkey AND target.l_linenumber = source.l_linenumber"
        into = (
            f"MERGE INTO t USING (FROM '{changes}') s "
            "ON t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber WHEN MATCHED THEN "
        )

        def measure(name: str, clauses: list[Clause], statement: str) -> None:
            def merge_kept(tx: Transaction) -> None:  # as the SQL statement does
                with kept(source) as rows:
                    merge(s, tx, "t", rows, keys, clauses)

            (time,) = self.best(rolled_back(merge_kept))
            self.note(name, time, "rewriting", self.rewrite, 0.35, into + statement)

        every = {column: f"source.{column}" for column in source.columns}
        star = [
            Clause("matched", "update", None, every),
            Clause("not matched", "insert", None, every),
        ]
        measure("MERGE of 2 %, whole rows", star, "UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
        comment = {"l_comment": "source.l_comment"}
        one = [Clause("matched", "update", None, comment)]
        measure("MERGE of 2 %, one column", one, "UPDATE SET l_comment = s.l_comment")

    def lookup(self, count: int) -> None:
        """A table of many files, each its own copy of two rows under its own key."""
        many = many_files(self.folder / "many", count)
        with many.open() as catalog:
            wanted = Comparison(catalog.at().table("f").column("k").id, "=", count // 2)

            def ours() -> None:
                reader = catalog.at()
                table = reader.table("f")
                frame = read_table(self.session, reader, table, predicate=wanted)
                assert frame.where(f"k = {count // 2}").count() == 1

            (time,) = self.best(ours)
        with Oracle(many) as duck:
            other = clocked(lambda: duck.rows(f"SELECT * FROM f WHERE k = {count // 2}"))
        name = f"point lookup among {count:,} files"
        self.lines.append(Line(name, time, "a limit of", 1500, 1.0, other))
        print(self.lines[-1], flush=True)


def many_files(folder: Path, count: int) -> LakeAddress:
    folder.mkdir()
    lake = file_lake("sqlite", folder)
    with Oracle(lake) as duck:
        duck.run("CALL lake.set_option('data_inlining_row_limit', 0)", "CREATE TABLE f (k BIGINT)")
        duck.run("INSERT INTO f VALUES (0)")
    with lake.open() as catalog, catalog.transaction() as tx:
        table = tx.table("f")
        (template,) = Path(table.location).glob("*.parquet")
        new = describe_file(table.location, StoredPath(template.name), table.columns)
        files = []
        for key in range(1, count):
            name = f"copy-{key}.parquet"
            if key == count // 2:
                write_key(Path(table.location) / name, template, key)
            else:
                (Path(table.location) / name).hardlink_to(template)
            stats = (replace(new.stats[0], min_value=str(key), max_value=str(key)),)
            files.append(replace(new, path=StoredPath(name), stats=stats))
            if key == count // 2:
                files[-1] = describe_file(table.location, StoredPath(name), table.columns)
        tx.add_files("f", files)
    return lake


def write_key(path: Path, template: Path, key: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(template)
    pq.write_table(pa.Table.from_arrays([pa.array([key], pa.int64())], schema=schema), path)


def _tpch() -> Path:
    from support.oracle import extension_file

    return extension_file("tpch")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--master", default="local[*]")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="engine-"))
    config = {"spark.driver.memory": "4g", "spark.ui.showConsoleProgress": "false"}
    try:
        with Session.open(SparkSettings(master=chosen.master, config=config)) as session:
            bench = Bench(folder, session, chosen.scale)
            print(f"{bench.rows:,} rows")
            with bench.lake.open() as catalog:
                bench.append(catalog)
                bench.aggregate(catalog, "aggregate", 1.05)
                bench.changes(catalog)
                with catalog.transaction() as tx:
                    delete(session, tx, "t", "l_orderkey % 100 = 1")
                bench.aggregate(catalog, "aggregate, 1 % deleted", 1.25)
            bench.lookup(chosen.files)
        print("\n".join(machine(folder)))
    finally:
        shutil.rmtree(folder)
    return int(any(line.missed for line in bench.lines))


if __name__ == "__main__":
    sys.exit(main())
