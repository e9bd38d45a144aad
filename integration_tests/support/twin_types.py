"""Histories side by side, continued: every type of column, every option."""

from __future__ import annotations

from ducklake_spark.catalog import Field
from support.twin_histories import (
    COLUMNS,
    DEFAULTS,
    ID,
    LAYOUT,
    NESTED,
    ROWS,
    SCHEMAS,
    TABLES,
    VIEWS,
    History,
)
from support.twins import Act

# SQL's type, ours, and two values.
TYPES_AND_VALUES = (
    ("BOOLEAN", "boolean", "true", "false"),
    ("TINYINT", "int8", "-5", "7"),
    ("SMALLINT", "int16", "300", "-300"),
    ("INTEGER", "int32", "70000", "-70000"),
    ("BIGINT", "int64", "5000000000", "-5000000000"),
    ("HUGEINT", "int128", "170141183460469231731687303715884105727", "-5"),
    ("UTINYINT", "uint8", "200", "0"),
    ("USMALLINT", "uint16", "60000", "0"),
    ("UINTEGER", "uint32", "4000000000", "0"),
    ("UBIGINT", "uint64", "18000000000000000000", "0"),
    ("UHUGEINT", "uint128", "340282366920938463463374607431768211455", "0"),
    ("FLOAT", "float32", "1.5", "-0.1"),
    ("DOUBLE", "float64", "1e300", "'-inf'"),
    ("DECIMAL(4,1)", "decimal(4,1)", "-0.5", "99.9"),
    ("DECIMAL(18,3)", "decimal(18,3)", "12345.678", "-12345.678"),
    ("DECIMAL(38,5)", "decimal(38,5)", "123456789.12345", "-123456789.12345"),
    ("TIME", "time", "'12:30:00.123456'", "'00:00:00'"),
    ("TIMETZ", "timetz", "'12:30:00+02'", "'12:30:00-02'"),
    ("DATE", "date", "'2024-01-15'", "'infinity'"),
    ("TIMESTAMP", "timestamp", "'2024-01-02 10:00:00.1234'", "'-infinity'"),
    ("TIMESTAMP_S", "timestamp_s", "'2024-01-02 10:00:01'", "'1969-01-02 10:00:01'"),
    ("TIMESTAMP_MS", "timestamp_ms", "'2024-01-02 10:00:00.12'", "'1969-01-02 10:00:00.123'"),
    ("TIMESTAMP_NS", "timestamp_ns", "'2024-01-02 10:00:00.123456789'", "'1969-01-02 10:00:00'"),
    ("TIMESTAMPTZ", "timestamptz", "'2024-01-02 10:00:00.5+02'", "'infinity'"),
    ("INTERVAL", "interval", "INTERVAL 3 DAY", "INTERVAL 3 MONTH"),
    ("VARCHAR", "varchar", "'häß'", "''"),
    ("BLOB", "blob", "'\\x00\\xFFab'::BLOB", "'ab'::BLOB"),
    ("JSON", "json", """'{"a":1}'""", "'[]'"),
    ("UUID", "uuid", "'f79c3e09-677c-4bbd-a479-3f349cb785e7'", "uuid()"),
)
_COLUMNS = ", ".join(f"c{at} {row[0]}" for at, row in enumerate(TYPES_AND_VALUES))
_FIRST = ", ".join(row[2] for row in TYPES_AND_VALUES)
_SECOND = ", ".join(row[3] for row in TYPES_AND_VALUES)


def _create(name: str, *fields: Field) -> Act:
    return lambda tx, _: tx.create_table(name, fields)


def _take(name: str) -> Act:
    return lambda _, take: take(name)


def _set_option(name: str, value: object) -> tuple[str, Act]:
    sql = f"CALL lake.set_option('{name}', {value!r})".replace("True", "true")
    return sql, lambda tx, _: tx.set_option(name, value)


TYPES: History = (
    (
        f"CREATE TABLE t ({_COLUMNS})",
        _create("t", *(Field(f"c{at}", row[1]) for at, row in enumerate(TYPES_AND_VALUES))),
    ),
    (f"INSERT INTO t VALUES ({_FIRST})", _take("t")),
    (f"INSERT INTO t VALUES ({_SECOND})", _take("t")),
    ("INSERT INTO t (c0) VALUES (NULL)", _take("t")),
    (f"INSERT INTO t VALUES ({_FIRST}), ({_SECOND})", _take("t")),
    (
        "CREATE TABLE f (id INTEGER, f DOUBLE, s VARCHAR)",
        _create("f", ID, Field("f", "float64"), Field("s", "varchar")),
    ),
    ("INSERT INTO f VALUES (1, NULL, NULL)", _take("f")),
    ("INSERT INTO f VALUES (2, 0.0, repeat('x', 2000)), (3, -0.0, 'y')", _take("f")),
    ("INSERT INTO f VALUES (4, 1e15, ''), (5, 1e17, 'z'), (6, 1e-7, 'z')", _take("f")),
    ("INSERT INTO f VALUES (7, 'nan', 'a' || chr(0)), (8, 1.5, 'b')", _take("f")),
)

OPTIONS: History = (
    ("CREATE TABLE t (id INTEGER)", _create("t", ID)),
    _set_option("parquet_compression", "ZSTD"),
    _set_option("parquet_compression_level", 3),
    _set_option("parquet_version", 2),
    _set_option("parquet_row_group_size", 1000),
    _set_option("parquet_row_group_size_bytes", "1MB"),
    _set_option("target_file_size", "10MB"),
    _set_option("rewrite_delete_threshold", 0.5),
    _set_option("expire_older_than", "7 days"),
    _set_option("delete_older_than", "1 week"),
    _set_option("auto_compact", True),
    _set_option("hive_file_pattern", True),
    _set_option("per_thread_output", True),
    _set_option("sort_on_insert", True),
    _set_option("parquet_compression", "gzip"),
    (
        "CALL lake.set_option('target_file_size', '1GiB', schema => 'main')",
        lambda tx, _: tx.set_option("target_file_size", "1GiB", schema="main"),
    ),
    (
        "CALL lake.set_option('target_file_size', '1KB', table_name => 't')",
        lambda tx, _: tx.set_option("target_file_size", "1KB", table="t"),
    ),
    ("DROP TABLE t", lambda tx, _: tx.drop_table("t")),
)

HISTORIES: dict[str, History] = {
    "schemas": SCHEMAS,
    "tables": TABLES,
    "views": VIEWS,
    "columns": COLUMNS,
    "defaults": DEFAULTS,
    "nested columns": NESTED,
    "layout": LAYOUT,
    "rows": ROWS,
    "types": TYPES,
    "options": OPTIONS,
}
