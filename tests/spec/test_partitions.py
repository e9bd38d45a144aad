"""Partition transforms, compared with what DuckDB writes and with its own hash function."""

from __future__ import annotations

import random
import struct
import uuid
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.spec.partitions import (
    EPOCH_PARTS,
    IDENTITY,
    NULL_DIRECTORY,
    Transform,
    bucket,
    bucket_of,
    check_transform,
    key_names,
    parse_partition_expression,
    parse_transform,
    partition_directory,
    partition_value,
)
from ducklake_spark.spec.types import ONLY_READ, PRIMITIVES, parse_type
from ducklake_spark.spec.values import (
    DATE_INFINITY,
    INFINITY,
    format_blob_escaped,
    format_text,
    parse_text,
)

YEAR, MONTH, DAY, HOUR = (Transform(name) for name in ("year", "month", "day", "hour"))


@pytest.mark.parametrize(
    ("type_name", "text", "expected"),
    [
        ("int32", "34", 379),
        ("int64", "34", 379),
        ("varchar", "iceberg", 89),
        ("date", "2017-11-16", 226),
        ("timestamp", "2017-11-16 22:31:08", 207),
        ("time", "22:31:08", 659),
        ("decimal(10,2)", "14.20", 465),
        ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", 783),
        ("blob", r"\x00\x01\x02\x03", 441),
        ("int32", "-1", 712),
        ("varchar", "", 0),
        ("uint8", "5", 660),
        ("decimal(38,2)", "14.20", 302),
        ("timetz", "12:30:00+01", 604),
    ],
)
def test_known_buckets(type_name: str, text: str, expected: int) -> None:
    data_type = parse_type(type_name)
    assert bucket_of(parse_text(text, data_type), data_type, 1000) == expected


def test_null_is_in_no_bucket() -> None:
    assert bucket_of(None, parse_type("int32"), 1000) is None


def _float32(rng: random.Random) -> float:
    single: float = struct.unpack("<f", rng.randbytes(4))[0]
    return single


HASHED: dict[str, tuple[str, Callable[[random.Random], Any]]] = {
    "boolean": ("BOOLEAN", lambda rng: rng.random() < 0.5),
    "int8": ("TINYINT", lambda rng: rng.randint(-128, 127)),
    "int16": ("SMALLINT", lambda rng: rng.randint(-(2**15), 2**15 - 1)),
    "int32": ("INTEGER", lambda rng: rng.randint(-(2**31), 2**31 - 1)),
    "int64": ("BIGINT", lambda rng: rng.randint(-(2**63), 2**63 - 1)),
    "int128": ("HUGEINT", lambda rng: rng.randint(-(2**127), 2**127 - 1)),
    "uint8": ("UTINYINT", lambda rng: rng.getrandbits(8)),
    "uint16": ("USMALLINT", lambda rng: rng.getrandbits(16)),
    "uint32": ("UINTEGER", lambda rng: rng.getrandbits(32)),
    "uint64": ("UBIGINT", lambda rng: rng.getrandbits(64)),
    "uint128": ("UHUGEINT", lambda rng: rng.getrandbits(128)),
    "float32": ("FLOAT", lambda rng: rng.choice((0.0, -0.0, _float32(rng)))),
    "float64": ("DOUBLE", lambda rng: rng.choice((-0.0, float("inf"), rng.uniform(-1e9, 1e9)))),
    "decimal(4,1)": ("DECIMAL(4,1)", lambda rng: Decimal(rng.randint(-999, 999)).scaleb(-1)),
    "decimal(18,6)": ("DECIMAL(18,6)", lambda rng: Decimal(rng.randint(-9, 10**18 - 1)).scaleb(-6)),
    "decimal(19,6)": ("DECIMAL(19,6)", lambda rng: Decimal(rng.randint(-9, 10**19 - 1)).scaleb(-6)),
    "decimal(20,20)": ("DECIMAL(20,20)", lambda rng: Decimal(rng.randint(-9, 10**19)).scaleb(-20)),
    "date": ("DATE", lambda rng: rng.choice((DATE_INFINITY, rng.randint(-(10**6), 10**6)))),
    "time": ("TIME", lambda rng: rng.randrange(86_400_000_001)),
    "time_ns": ("TIME_NS", lambda rng: rng.randrange(86_400 * 10**9)),
    "timetz": ("TIMETZ", lambda rng: (rng.getrandbits(36), 60 * rng.randint(-959, 959))),
    "timestamp_s": ("TIMESTAMP_S", lambda rng: rng.choice((1, -1)) * rng.getrandbits(42)),
    "timestamp_ms": ("TIMESTAMP_MS", lambda rng: rng.choice((1, -1)) * rng.getrandbits(52)),
    "timestamp": ("TIMESTAMP", lambda rng: rng.choice((INFINITY, -rng.getrandbits(62)))),
    "timestamp_ns": ("TIMESTAMP_NS", lambda rng: rng.choice((1, -1)) * rng.getrandbits(62)),
    "timestamptz": ("TIMESTAMPTZ", lambda rng: rng.choice((-INFINITY, rng.getrandbits(62)))),
    "interval": ("INTERVAL", lambda rng: (rng.randint(-40, 40), 5, rng.getrandbits(40))),
    "varchar": ("VARCHAR", lambda rng: "".join(rng.choices("aé漢' \n", k=rng.randrange(9)))),
    "json": ("JSON", lambda rng: f'{{"a": {rng.random()}}}'),
    "blob": ("BLOB", lambda rng: rng.randbytes(rng.randrange(9))),
    "uuid": ("UUID", lambda rng: uuid.UUID(int=rng.getrandbits(128))),
}


def _literal(value: Any, type_name: str) -> str:
    sql_type, _ = HASHED[type_name]
    data_type = parse_type(type_name)
    text = format_blob_escaped(value) if type_name == "blob" else format_text(value, data_type)
    return f"'{text.replace(chr(39), chr(39) * 2)}'::{sql_type}"


@pytest.mark.parametrize("type_name", HASHED)
def test_buckets_are_those_of_duckdbs_hash(type_name: str, file_lake: Any) -> None:
    rng = random.Random(type_name)
    values = [HASHED[type_name][1](rng) for _ in range(120)]
    literals = ", ".join(_literal(value, type_name) for value in values)
    query = f"SELECT [(murmur3_32(x) & 2147483647) % 1000 FOR x IN [{literals}]]"
    [(expected,)] = file_lake.sql(query)
    data_type = parse_type(type_name)
    assert [bucket_of(value, data_type, 1000) for value in values] == expected


def _written(lake: Any, table: str) -> tuple[list[str | None], str]:
    """The partition values and the directory of a table's newest file."""
    table_id = lake.table_id(table)
    [(file_id, path)] = lake.catalog(
        """SELECT data_file_id, path FROM ducklake_data_file WHERE table_id = ?
           ORDER BY data_file_id DESC LIMIT 1""",
        table_id,
    )
    values = lake.catalog(
        """SELECT partition_value FROM ducklake_file_partition_value WHERE data_file_id = ?
           ORDER BY partition_key_index""",
        file_id,
    )
    return [value for (value,) in values], path[: path.rindex("/") + 1]


PARTITIONED: dict[str, tuple[str, list[str]]] = {
    "boolean": ("BOOLEAN", ["true", "false"]),
    "int32": ("INTEGER", ["-5"]),
    "uint64": ("UBIGINT", ["18446744073709551615"]),
    "int128": ("HUGEINT", ["-170141183460469231731687303715884105728"]),
    "float32": ("FLOAT", ["0.1", "nan", "-nan", "-inf", "1915074.75"]),
    "float64": ("DOUBLE", ["-0.0", "1e+300", "nan", "0.1"]),
    "decimal(10,2)": ("DECIMAL(10,2)", ["-0.50", "12.00"]),
    "decimal(3,3)": ("DECIMAL(3,3)", ["-.500", ".000"]),
    "date": (
        "DATE",
        ["2024-01-15", "0001-12-31 (BC)", "0044-03-15 (BC)", "12024-12-01", "infinity"],
    ),
    "time": ("TIME", ["00:00:00", "23:59:59.999999", "24:00:00"]),
    "timetz": ("TIMETZ", ["12:30:00+05:30", "00:00:01-08"]),
    "timestamp": (
        "TIMESTAMP",
        [
            "1969-12-31 23:59:59.999999",
            "2024-02-29 10:00:00.5",
            "0044-03-15 (BC) 10:00:00",
            "infinity",
            "-infinity",
        ],
    ),
    "timestamp_s": ("TIMESTAMP_S", ["1969-12-31 23:59:59"]),
    "timestamp_ms": ("TIMESTAMP_MS", ["1969-12-31 23:59:59.12"]),
    "timestamp_ns": ("TIMESTAMP_NS", ["1969-12-31 23:59:59.123456789"]),
    "timestamptz": (
        "TIMESTAMPTZ",
        ["2024-01-01 00:30:00+02", "0044-03-15 (BC) 10:00:00+00", "infinity"],
    ),
    "interval": ("INTERVAL", ["2 years 6 months 45 days 100:00:00", "00:00:00"]),
    "varchar": (
        "VARCHAR",
        ["a b/c=d%é", "", "NULL", "..", "'\"\\", "~-._+&?#", " ", NULL_DIRECTORY, "a\nb"],
    ),
    "json": ("JSON", ['{"a": 1}']),
    "blob": ("BLOB", ["abc", r"a\x00b", ""]),
    "uuid": ("UUID", ["f79c3e09-677c-4bbd-a479-3f349cb785e7"]),
}


def _transforms_of(type_name: str) -> list[Transform]:
    transforms = []
    for transform in (IDENTITY, YEAR, MONTH, DAY, HOUR, bucket(7)):
        try:
            check_transform(transform, parse_type(type_name))
        except InvalidDefinitionError:
            continue
        transforms.append(transform)
    return transforms


def _sql_key(transform: Transform) -> str:
    if transform == IDENTITY:
        return "x"
    return f"bucket({transform.buckets}, x)" if transform.buckets else f"{transform}(x)"


@pytest.mark.parametrize("type_name", PARTITIONED)
def test_partition_values_and_directories_are_duckdbs(type_name: str, file_lake: Any) -> None:
    sql_type, texts = PARTITIONED[type_name]
    data_type, transforms = parse_type(type_name), _transforms_of(type_name)
    table = f"p_{type_name.partition('(')[0]}_{len(type_name)}"
    keys = ", ".join(_sql_key(transform) for transform in transforms)
    file_lake.sql(
        f"CREATE TABLE {table}(x {sql_type})", f"ALTER TABLE {table} SET PARTITIONED BY ({keys})"
    )
    for text in (None, *texts):
        literal = "NULL" if text is None else "'" + text.replace("'", "''") + "'"
        file_lake.sql(f"INSERT INTO {table} VALUES ({literal}::{sql_type})")
        value = None if text is None else parse_text(text, data_type)
        ours = [partition_value(transform, value, data_type) for transform in transforms]
        directory = partition_directory([(transform, "x") for transform in transforms], ours)
        assert (ours, directory) == _written(file_lake, table), text


@pytest.mark.parametrize(
    ("columns", "keys", "values"),
    [
        ('"a b" INT, "é=/%" INT', '"a b", "é=/%"', "1, 2"),
        ("year INT, ts DATE", "year, year(ts)", "1, '2024-01-02'"),
        ("ts DATE, year INT", "year(ts), year", "'2024-01-02', 1"),
        ('ts DATE, "YEAR" INT', 'year(ts), "YEAR"', "'2024-01-02', 1"),
        ('"Year" INT, ts DATE', '"Year", year(ts)', "1, '2024-01-02'"),
        (
            "ts DATE, t2 DATE",
            "year(ts), year(t2), month(ts), month(t2), day(ts), hour(ts)",
            "'2024-01-02', '2023-03-04'",
        ),
        ("ts DATE", "year(ts), year(ts)", "'2024-01-02'"),
        ("a INT, b INT", "bucket(4, a), bucket(8, b)", "1, 2"),
    ],
)
def test_the_names_of_keys_are_duckdbs(
    columns: str, keys: str, values: str, file_lake: Any
) -> None:
    file_lake.sql(
        f"CREATE OR REPLACE TABLE named({columns})",
        f"ALTER TABLE named SET PARTITIONED BY ({keys})",
        f"INSERT INTO named VALUES ({values})",
    )
    stored, directory = _written(file_lake, "named")
    separate = (
        keys.replace("bucket(4, ", "bucket(4,").replace("bucket(8, ", "bucket(8,").split(", ")
    )
    ours = [parse_partition_expression(key) for key in separate]
    assert partition_directory(ours, stored) == directory


def test_equal_names_of_keys_are_not_hidden() -> None:
    assert key_names([(IDENTITY, "a"), (IDENTITY, "a"), (YEAR, "a")]) == ["a", "a_a", "year"]
    assert partition_directory([], []) == ""


@pytest.mark.parametrize("transform", [IDENTITY, YEAR, MONTH, DAY, HOUR, bucket(3)])
def test_a_transform_is_accepted_where_duckdb_has_it(transform: Transform, file_lake: Any) -> None:
    function = {"identity": "typeof", "bucket": "murmur3_32"}.get(transform.name, transform.name)
    for name in sorted(PRIMITIVES - {"decimal", "variant", "geometry", "unknown", *ONLY_READ}):
        with suppress(duckdb.BinderException):
            file_lake.sql(f"SELECT {function}(NULL::{HASHED[name][0]})")
            check_transform(transform, parse_type(name))
            continue
        with pytest.raises(InvalidDefinitionError, match=f"no {transform} of a {name}"):
            check_transform(transform, parse_type(name))


@pytest.mark.parametrize("type_name", ["int32[]", "struct(a date)", "map(date,date)", "variant"])
@pytest.mark.parametrize("transform", [IDENTITY, YEAR, HOUR, bucket(3)])
def test_only_plain_types_are_partitioned_by(transform: Transform, type_name: str) -> None:
    with pytest.raises(InvalidDefinitionError) as raised:
        check_transform(transform, parse_type(type_name))
    assert raised.value.hint


@pytest.mark.parametrize(
    "text", ["identity", "year", "month", "day", "hour", "bucket(1)", "bucket(2147483647)"]
)
def test_a_transform_is_its_text(text: str) -> None:
    assert str(parse_transform(text)) == text
    assert parse_transform(text.upper()) == parse_transform(text)


@pytest.mark.parametrize(
    "text",
    ["", "truncate(4)", "bucket", "bucket()", "bucket(0)", "bucket(-1)", "bucket(2147483648)",
     "bucket(x)", "bucket(٣)", "years", "year(ts)"],
)  # fmt: skip
def test_an_unknown_transform_is_refused(text: str) -> None:
    with pytest.raises(InvalidDefinitionError) as raised:
        parse_transform(text)
    assert raised.value.hint


@pytest.mark.parametrize(
    ("text", "transform", "column"),
    [
        ("region", IDENTITY, "region"),
        (" Region ", IDENTITY, "Region"),
        ("größe", IDENTITY, "größe"),
        ('"a, (b"', IDENTITY, "a, (b"),
        ('"say ""hi"""', IDENTITY, 'say "hi"'),
        ("`a``b`", IDENTITY, "a`b"),
        ("year", IDENTITY, "year"),
        ("month(ts)", MONTH, "ts"),
        ('MONTH ( "t s" )', MONTH, "t s"),
        ("identity(a)", IDENTITY, "a"),
        ("bucket(8, user_id)", bucket(8), "user_id"),
        ("Bucket( 8 ,`user id`)", bucket(8), "user id"),
    ],
)
def test_partition_keys_are_read(text: str, transform: Transform, column: str) -> None:
    assert parse_partition_expression(text) == (transform, column)


@pytest.mark.parametrize(
    "text",
    ["", "a b", "a, b", "a.b", "1a", '"a', '""', "month(ts", "month ts)", "month()", "days(ts)",
     "truncate(4, a)", "month(3, ts)", "bucket(a)", "bucket(a, 8)", "bucket(0, a)", "bucket(-1, a)",
     "lower(a)", "month(lower(ts))", "a)"],
)  # fmt: skip
def test_what_is_no_partition_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidDefinitionError) as raised:
        parse_partition_expression(text)
    assert raised.value.hint


# --- epoch transforms, of version 1.1 ---

_EPOCHS = [
    # value, year, month, day, hour
    ("date", "2020-01-01", 50, 600, 18262, 438288),
    ("date", "1970-01-01", 0, 0, 0, 0),
    ("date", "1969-12-31", -1, -1, -1, -24),
    ("timestamp", "1969-12-31 23:59:59.999999", -1, -1, -1, -1),
    ("timestamp", "1968-02-29 00:00:00", -2, -23, -672, -16128),
    ("timestamp_s", "1970-02-01 01:00:00", 0, 1, 31, 745),
    ("timestamp_ms", "1971-01-01 00:00:00.001", 1, 12, 365, 8760),
    ("timestamp_ns", "1969-12-31 23:59:59.999999999", -1, -1, -1, -1),
    ("timestamptz", "2024-01-01 00:30:00+02", 53, 647, 19722, 473350),
    ("timestamptz_ns", "2024-01-01 00:30:00.000000001+02", 53, 647, 19722, 473350),
    ("date", "infinity", None, None, None, None),
    ("timestamptz", "-infinity", None, None, None, None),
]


@pytest.mark.parametrize(("type_name", "text", "year", "month", "day", "hour"), _EPOCHS)
def test_an_epoch_transform_counts_from_1970(
    type_name: str, text: str, year: int, month: int, day: int, hour: int
) -> None:
    data_type = parse_type(type_name)
    value = parse_text(text, data_type)
    found = [
        partition_value(parse_transform(name, epochs=True), value, data_type)
        for name in EPOCH_PARTS
    ]
    assert found == [None if n is None else str(n) for n in (year, month, day, hour)]
    assert partition_value(parse_transform("epoch_day", epochs=True), None, data_type) is None


@pytest.mark.parametrize("name", EPOCH_PARTS)
def test_an_epoch_transform_is_of_version_1_1_only(name: str) -> None:
    assert str(parse_transform(name.upper(), epochs=True)) == name
    with pytest.raises(InvalidDefinitionError):
        parse_transform(name)
    with pytest.raises(InvalidDefinitionError):
        parse_partition_expression(f"{name}(ts)")
