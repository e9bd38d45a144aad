"""Our client reads how DuckDB's files are laid out: partitions, sort orders, files added as is."""

from __future__ import annotations

from pathlib import Path

from ducklake_spark.catalog import SnapshotReader
from ducklake_spark.spec.model import SortKey, Table
from ducklake_spark.spec.partitions import partition_value
from support.lakes import LakeAddress
from support.reader import read_file
from support.shared_duck import SharedDuck
from support.states import assert_read_alike


def _no_inlining(duck: SharedDuck) -> None:
    duck.run("CALL lake.set_option('data_inlining_row_limit', 0)")


def _assert_values_fit_rows(reader: SnapshotReader, table: Table) -> None:
    """Every row of a file written under the current specification has the file's values."""
    fields = table.partition_fields
    columns = {column.id: column for column in table.columns}
    mappings = reader.mappings(table)
    for file in reader.files(table):
        if table.partition is None or file.partition_id != table.partition.id:
            continue
        for _, row in read_file(file, table, reader.snapshot.id, mappings):
            values = tuple(
                partition_value(field.transform, row[column.name], column.type)
                for field in fields
                for column in [columns[field.column_id]]
            )
            assert values == file.partition_values, file.path


def test_partitions_by_every_transform_and_their_changes(lake: LakeAddress) -> None:
    rows = (
        "SELECT 'r ' || (i % 3) AS s, i AS n, i::DECIMAL(9,2) / 4 AS d, "
        "TIMESTAMP '2023-12-31 22:30:00' + i * INTERVAL '20 hours' AS ts, "
        "DATE '0044-03-15 (BC)' + i::INTEGER AS day, i % 2 = 0 AS b, "
        "TIMESTAMPTZ '2024-01-01 00:30:00+02' + i * INTERVAL '1 month' AS tz "
        "FROM range(12) r(i) UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL"
    )
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
        duck.run(
            f"CREATE TABLE t AS {rows} LIMIT 5",
            "ALTER TABLE t SET PARTITIONED BY (s, year(tz))",
            f"INSERT INTO t {rows}",
            "ALTER TABLE t SET PARTITIONED BY (bucket(4, n), month(ts), b)",
            f"INSERT INTO t {rows}",
            "DELETE FROM t WHERE n = 7",
            "ALTER TABLE t RENAME COLUMN n TO renamed",
            "ALTER TABLE t SET PARTITIONED BY (day(day), hour(ts), bucket(3, s), d)",
            f"INSERT INTO t {rows}",
            "ALTER TABLE t RESET PARTITIONED BY",
            f"INSERT INTO t {rows}",
            "UPDATE t SET b = NOT b WHERE renamed = 3",
        )
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        specifications = []
        for commit in catalog.commits()[1:]:
            reader = catalog.at(commit.snapshot)
            table = reader.table("t")
            _assert_values_fit_rows(reader, table)
            specifications.append([str(field.transform) for field in table.partition_fields])
        assert [spec for at, spec in enumerate(specifications) if spec != specifications[at - 1]][
            :5
        ] == [
            ["identity", "year"],
            ["bucket(4)", "month", "identity"],
            ["day", "hour", "bucket(3)", "identity"],
            [],
        ]
        final = catalog.at().table("t")
        assert final.partition is not None
        assert final.partition_fields == ()
        assert catalog.at(1).table("t").partition is None


def test_partitioned_files_can_be_laid_out_flat(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
        duck.run(
            "CALL lake.set_option('hive_file_pattern', false)",
            "CREATE TABLE t (a INTEGER, b VARCHAR)",
            "ALTER TABLE t SET PARTITIONED BY (b)",
            "INSERT INTO t SELECT range, 'b/' || range % 2 FROM range(6)",
        )
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        files = reader.files(reader.table("t"))
        assert sorted(file.partition_values for file in files) == [("b/0",), ("b/1",)]
        assert {str(Path(file.path).parent) for file in files} == {f"{lake.data_path}main/t"}


def test_sort_orders_change_and_follow_renames(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE TABLE t (id INTEGER, s VARCHAR)",
            "ALTER TABLE t SET SORTED BY (id DESC NULLS FIRST, lower(s))",
            "ALTER TABLE t RENAME id TO nr",
            "INSERT INTO t SELECT range, 'x' FROM range(20)",
            "ALTER TABLE t SET SORTED BY (s)",
            "ALTER TABLE t RESET SORTED BY",
        )
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        keys = [catalog.at(version).table("t").sort_keys for version in range(1, 7)]
    lowered = SortKey("lower(s)", descending=False, nulls_first=False)
    assert keys == [
        (),
        (SortKey("id", descending=True, nulls_first=True), lowered),
        (SortKey("nr", descending=True, nulls_first=True), lowered),
        (SortKey("nr", descending=True, nulls_first=True), lowered),
        (SortKey("s"),),
        (),
    ]


def test_options_of_every_scope_are_those_duckdb_lists(lake: LakeAddress) -> None:
    with SharedDuck(lake) as duck:
        duck.run(
            "CREATE SCHEMA s",
            "CREATE TABLE s.t (a INTEGER)",
            "CREATE TABLE main.t (a INTEGER)",
            "CALL lake.set_option('target_file_size', '10MB')",
            "CALL lake.set_option('parquet_version', 2)",
            "CALL lake.set_option('parquet_compression', 'zstd', schema => 's')",
            "CALL lake.set_option('target_file_size', '20MB', schema => 's')",
            "CALL lake.set_option('target_file_size', '1KB', table_name => 't', schema => 's')",
            "CALL lake.set_option('rewrite_delete_threshold', 0.5, table_name => 't')",
            "CALL lake.set_option('parquet_version', 1)",
        )
        listed = duck.rows("SELECT scope, scope_entry, option_name, value FROM lake.options()")
    facts = {"created_by", "data_path", "encrypted", "version"}
    options = {(scope, entry, key): value for scope, entry, key, value in listed}
    everywhere = {k[2]: v for k, v in options.items() if k[0] == "GLOBAL" and k[2] not in facts}
    of_schema = {k[2]: v for k, v in options.items() if k[:2] == ("SCHEMA", "s")}
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        assert (
            reader.options()
            == everywhere
            == {
                "target_file_size": "10000000",
                "parquet_version": "V1",
            }
        )
        for name, own in (("s.t", of_schema), ("main.t", {})):
            of_table = {k[2]: v for k, v in options.items() if k[:2] == ("TABLE", name)}
            assert reader.options(reader.table(name)) == everywhere | own | of_table


def test_files_added_as_they_are_are_read_by_name(lake: LakeAddress, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with SharedDuck(lake) as duck:
        _no_inlining(duck)
        duck.run(
            f"COPY (SELECT i AS \"ID\", 'v' || i AS v, [i, NULL] AS l, "
            f"{{'b': i, 'a': {{'x': i::VARCHAR}}}} AS s, MAP {{'k': {{'w': i}}}} AS m, "
            f"i % 2 AS part, 'x ' || i % 2 AS p2 FROM range(6) r(i)) TO '{outside}/hive' "
            "(FORMAT parquet, PARTITION_BY (part, p2))",
            f"COPY (SELECT 'other' AS v, 10 AS id) TO '{outside}/missing.parquet' (FORMAT parquet)",
            f"COPY (SELECT 11 AS id, 1.5 AS more, 'w' AS v) TO '{outside}/extra.parquet'",
            "CREATE TABLE t (id BIGINT, v VARCHAR, l BIGINT[], "
            "s STRUCT(a STRUCT(x VARCHAR), b BIGINT), m MAP(VARCHAR, STRUCT(w BIGINT)), "
            "part BIGINT, p2 VARCHAR)",
            "ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 5",
            f"CALL ducklake_add_data_files('lake', 't', '{outside}/hive/**/*.parquet', "
            "hive_partitioning => true, allow_missing => true)",
            "INSERT INTO t (id, v) VALUES (100, 'own')",
            f"CALL ducklake_add_data_files('lake', 't', '{outside}/missing.parquet', "
            "allow_missing => true)",
            f"CALL ducklake_add_data_files('lake', 't', '{outside}/extra.parquet', "
            "allow_missing => true, ignore_extra_columns => true)",
            "ALTER TABLE t RENAME v TO name",
            "DELETE FROM t WHERE id IN (3, 10)",
            "ALTER TABLE t DROP COLUMN p2",
            "ALTER TABLE t ADD COLUMN s.c VARCHAR",
            "UPDATE t SET name = 'new' WHERE id = 4",
        )
    assert_read_alike(lake)
    with lake.open(read_only=True) as catalog:
        reader = catalog.at()
        files = reader.files(reader.table("t"))
        mapped = [file for file in files if file.mapping_id is not None]
        assert len(mapped) == len(files) - 2
        assert all(file.path.startswith(str(outside)) for file in mapped)
        assert {file.mapping_id for file in mapped} <= set(reader.mappings(reader.table("t")))
