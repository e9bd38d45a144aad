"""The text of primitive values, compared with DuckDB's own CAST and statistics."""

from __future__ import annotations

import datetime
import math
import random
import struct
import uuid
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from ducklake_spark.spec.types import parse_type
from ducklake_spark.spec.values import (
    DATE_INFINITY,
    INFINITY,
    format_blob_escaped,
    format_text,
    parse_blob_escaped,
    parse_blob_hex,
    parse_text,
    to_physical,
)

UTC = datetime.UTC


def _float32s(rng: random.Random) -> list[float]:
    bits = [rng.getrandbits(32) for _ in range(3_000)]
    bits += [exponent << 23 for exponent in range(255)]
    bits += [0x4B000000 + rng.getrandbits(26) for _ in range(2_000)]  # whole numbers
    floats: list[float] = [struct.unpack("<f", struct.pack("<I", b))[0] for b in bits]
    quotients = [rng.randrange(10**9) / 10 ** rng.randrange(6) for _ in range(2_000)]
    return floats + [struct.unpack("<f", struct.pack("<f", q))[0] for q in quotients]


def _float64s(rng: random.Random) -> list[float]:
    bits = [rng.getrandbits(64) for _ in range(3_000)]
    floats: list[float] = [struct.unpack("<d", struct.pack("<Q", b))[0] for b in bits]
    return floats + [rng.uniform(-1e6, 1e6) for _ in range(1_000)] + [1e15, 1e16, 5e-324, -0.0]


def _ints(rng: random.Random, bits: int, *special: int) -> list[int]:
    return [*special, *(rng.getrandbits(rng.randrange(1, bits)) for _ in range(1_500))] + [
        -rng.getrandbits(rng.randrange(1, bits)) for _ in range(1_500)
    ]


def _dates(rng: random.Random) -> list[int]:
    far = [rng.randrange(-DATE_INFINITY + 1, DATE_INFINITY) for _ in range(1_000)]
    return [*range(-719_600, -719_100), *_ints(rng, 22), *far, DATE_INFINITY, -DATE_INFINITY]


ARROW_CASES = {
    "float32": (pa.float32(), _float32s),
    "float64": (pa.float64(), _float64s),
    "int8": (pa.int8(), lambda _: [*range(-128, 128)]),
    "int64": (pa.int64(), lambda rng: _ints(rng, 64, 2**63 - 1, -(2**63))),
    "uint64": (pa.uint64(), lambda rng: [abs(n) for n in _ints(rng, 65)] + [2**64 - 1]),
    "date": (pa.date32(), _dates),
    "time": (pa.time64("us"), lambda rng: [rng.randrange(86_400_000_001) for _ in range(2_000)]),
    "time_ns": (pa.time64("ns"), lambda rng: [rng.randrange(86_400 * 10**9) for _ in range(2_000)]),
    "timestamp_s": (pa.timestamp("s"), lambda rng: _ints(rng, 43, INFINITY, -INFINITY)),
    "timestamp_ms": (pa.timestamp("ms"), lambda rng: _ints(rng, 53, INFINITY, -INFINITY)),
    "timestamp": (pa.timestamp("us"), lambda rng: _ints(rng, 63, INFINITY, -INFINITY)),
    "timestamp_ns": (pa.timestamp("ns"), lambda rng: _ints(rng, 63, INFINITY, -INFINITY)),
    "timestamptz": (pa.timestamp("us", "UTC"), lambda rng: _ints(rng, 63, INFINITY, -INFINITY)),
}


def _same(left: Any, right: Any) -> bool:
    return bool(left == right or (left != left and right != right))


def _check_texts(values: list[Any], texts: list[str], type_name: str) -> None:
    data_type = parse_type(type_name)
    for value, text in zip(values, texts, strict=True):
        assert format_text(value, data_type) == text
        assert _same(parse_text(text, data_type), value), text


@pytest.mark.parametrize("type_name", ARROW_CASES)
def test_a_text_is_duckdbs(type_name: str, duck: duckdb.DuckDBPyConnection) -> None:
    arrow_type, generate = ARROW_CASES[type_name]
    values = generate(random.Random(type_name))
    if pa.types.is_temporal(arrow_type):
        integer = pa.int32() if type_name == "date" else pa.int64()
        column = pa.array(values, integer).view(arrow_type)
    else:
        column = pa.array(values, arrow_type)
    duck.register("given", pa.table({"x": column}))
    texts = [text for (text,) in duck.execute("SELECT x::VARCHAR FROM given").fetchall()]
    _check_texts(values, texts, type_name)


def test_doubles_that_duckdb_itself_misprints_are_printed_right(
    duck: duckdb.DuckDBPyConnection,
) -> None:
    [(text,)] = duck.execute("SELECT pow(2::DOUBLE, 81)::VARCHAR").fetchall()
    assert float(text) == 2.0**82  # a fault of DuckDB 1.5.5
    assert format_text(2.0**81, parse_type("float64")) == "2.4178516392292583e+24"


@pytest.mark.parametrize(
    "type_name",
    ["decimal(4,2)", "decimal(4,4)", "decimal(18,0)", "decimal(38,38)", "decimal(38,0)"],
)
def test_a_decimals_text_is_duckdbs(type_name: str, duck: duckdb.DuckDBPyConnection) -> None:
    data_type = parse_type(type_name)
    precision, scale = data_type.precision, data_type.scale  # type: ignore[attr-defined]
    rng = random.Random(type_name)
    unscaled = [rng.randrange(-(10**precision) + 1, 10**precision) for _ in range(500)]
    values = [Decimal(n).scaleb(-scale) for n in (0, 1, -1)]
    values += [Decimal(f"{n}e-{scale}") for n in unscaled]
    column = pa.array(values, pa.decimal128(precision, scale))
    duck.register("given", pa.table({"x": column}))
    texts = [text for (text,) in duck.execute("SELECT x::VARCHAR FROM given").fetchall()]
    _check_texts(values, texts, type_name)
    assert {-parse_text(text, data_type).as_tuple().exponent for text in texts} == {scale}


def test_an_intervals_text_is_duckdbs(duck: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(5)
    values = [(0, 0, 0), (12, 1, -1), (-1, -1, 0), (13, 2, 3_600_000_000 * 100)]
    values += [
        (rng.randint(-30, 30), rng.randint(-40, 40), rng.choice((0, 1, -1)) * rng.getrandbits(45))
        for _ in range(2_000)
    ]
    names = ("months", "days", "micros")
    columns = {name: [v[at] for v in values] for at, name in enumerate(names)}
    duck.register("given", pa.table(columns))
    query = """SELECT (to_months(months::INT) + to_days(days::INT) + to_microseconds(micros))
               ::VARCHAR FROM given"""
    _check_texts(values, [text for (text,) in duck.execute(query).fetchall()], "interval")


def test_a_timetzs_text_is_duckdbs(duck: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(6)
    # Not offsets like -04:00:19, of which DuckDB 1.5.5 prints -04:19.
    values = [(0, 0), (86_400_000_000, -57_599), (1, 57_599)]
    values += [(rng.randrange(86_400_000_000), 60 * rng.randint(-959, 959)) for _ in range(1_000)]
    data_type = parse_type("timetz")
    ours = [format_text(value, data_type) for value in values]
    duck.register("given", pa.table({"x": ours}))
    texts = [text for (text,) in duck.execute("SELECT x::TIMETZ::VARCHAR FROM given").fetchall()]
    _check_texts(values, texts, "timetz")


def test_an_escaped_blob_is_duckdbs(duck: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(7)
    values = [b"", bytes(range(256)), *(rng.randbytes(9) for _ in range(500))]
    duck.register("given", pa.table({"x": pa.array(values, pa.binary())}))
    texts = [text for (text,) in duck.execute("SELECT x::VARCHAR FROM given").fetchall()]
    assert [format_blob_escaped(value) for value in values] == texts
    assert [parse_blob_escaped(text) for text in texts] == values
    assert [parse_blob_hex(value.hex().upper()) for value in values] == values


def test_a_uuids_text_is_duckdbs(duck: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(8)
    values = [uuid.UUID(int=rng.getrandbits(128)) for _ in range(200)]
    duck.register("given", pa.table({"x": [str(value) for value in values]}))
    texts = [text for (text,) in duck.execute("SELECT x::UUID::VARCHAR FROM given").fetchall()]
    _check_texts(values, texts, "uuid")


@pytest.mark.parametrize(
    ("type_name", "text", "value"),
    [
        ("boolean", "0", False),
        ("boolean", "1", True),
        ("boolean", "true", True),
        ("boolean", "f", False),
        ("int128", "-170141183460469231731687303715884105728", -(2**127)),
        ("uint128", "340282366920938463463374607431768211455", 2**128 - 1),
        ("float64", "Infinity", math.inf),
        ("float64", "-inf", -math.inf),
        ("float64", "NaN", math.nan),
        ("float64", "5", 5.0),
        ("float32", "0.1", 0.10000000149011612),
        ("decimal(10,2)", "5", Decimal("5.00")),
        ("decimal(10,2)", "1e3", Decimal("1000.00")),
        ("date", "0044-03-15 (BC)", -735_160),
        ("date", "-0043-03-15", -735_160),
        ("date", "12024-01-01", 3_672_148),
        ("date", "-infinity", -DATE_INFINITY),
        ("date", "5881580-07-10", DATE_INFINITY - 1),
        ("time", "24:00:00", 86_400_000_000),
        ("time", "12:30", 45_000_000_000),
        ("timetz", "12:00:00.5-05:30", (43_200_500_000, -19_800)),
        ("timetz", "12:00:00", (43_200_000_000, 0)),
        ("timestamp", "2024-01-02", 1_704_153_600_000_000),
        ("timestamp", "2024-01-02T00:00:00.100000000", 1_704_153_600_100_000),
        ("timestamp", "infinity", INFINITY),
        ("timestamp_ns", "1970-01-01 00:00:00.123456789", 123_456_789),
        ("timestamptz", "1970-01-01 05:30:00+05:30", 0),
        ("timestamptz", "1970-01-01 00:00:00-03", 10_800_000_000),
        ("timestamptz", "1970-01-01T00:00:00Z", 0),
        ("timestamptz", "1970-01-01 00:00:00", 0),
        ("timestamptz", "0001-01-01 (BC) 00:00:00+00", -62_167_219_200_000_000),
        ("interval", "1 year 2 mons -3 days +04:05:06.5", (14, -3, 14_706_500_000)),
        ("interval", "12 months 2 days 14400000000 microseconds", (12, 2, 14_400_000_000)),
        ("interval", "-100:00:00", (0, 0, -360_000_000_000)),
        ("blob", "\\x00\\xFFab", b"\x00\xffab"),
        ("varchar", " as is ", " as is "),
    ],
)
def test_every_form_that_catalogs_hold_is_read(type_name: str, text: str, value: Any) -> None:
    assert _same(parse_text(text, parse_type(type_name)), value)


@pytest.mark.parametrize(
    ("type_name", "text"),
    [
        ("boolean", "2"),
        ("boolean", ""),
        ("int8", "128"),
        ("int64", "1_000"),
        ("int64", "1.0"),
        ("int64", "٣"),
        ("uint8", "-1"),
        ("float64", "1e999"),
        ("float64", "0x10"),
        ("float64", "1_0.0"),
        ("float32", "1e39"),
        ("decimal(4,2)", "100.00"),
        ("decimal(4,2)", "1.005"),
        ("decimal(4,2)", "NaN"),
        ("decimal(38,0)", "1e999"),
        ("date", "2023-02-29"),
        ("date", "2023-13-01"),
        ("date", "2023-01-01 "),
        ("date", "9999999-01-01"),
        ("time", "24:00:01"),
        ("time", "10:60:00"),
        ("time", "10:00:00.1234567"),
        ("timestamp", "2024-01-01 10:00:00+02"),
        ("timestamp", "2024-01-01 25:00:00"),
        ("timestamp", "infinity 10:00:00"),
        ("timestamp", "300000-01-01 00:00:00"),
        ("timestamp_s", "2024-01-01 10:00:00.5"),
        ("timestamptz", "2024-01-01 10:00:00 Europe/Berlin"),
        ("interval", ""),
        ("interval", "1 fortnight"),
        ("interval", "1 day 1"),
        ("blob", "\\x0"),
        ("blob", "é"),
        ("uuid", "{f79c3e09-677c-4bbd-a479-3f349cb785e7}"),
        ("variant", "1"),
    ],
)
def test_garbage_is_refused(type_name: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_text(text, parse_type(type_name))


def test_hexadecimal_garbage_is_refused() -> None:
    for text in ("A", "0G", "\\x00", "00 11"):
        with pytest.raises(ValueError, match="not hexadecimal"):
            parse_blob_hex(text)


@pytest.mark.parametrize(
    ("type_name", "value", "physical"),
    [
        ("int8", None, None),
        ("boolean", True, True),
        ("int8", -128, -128),
        ("uint128", 2**128 - 1, 2**128 - 1),
        ("float32", 0.5, 0.5),
        ("float32", math.inf, math.inf),
        ("float64", 5, 5.0),
        ("float64", math.nan, math.nan),
        ("decimal(10,2)", 5, Decimal("5.00")),
        ("decimal(38,0)", Decimal("9" * 38), Decimal("9" * 38)),
        ("date", datetime.date(1969, 12, 31), -1),
        ("time", datetime.time(0, 0, 1, 5), 1_000_005),
        ("time_ns", datetime.time(0, 0, 1, 5), 1_000_005_000),
        (
            "timetz",
            datetime.time(1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            (3_600_000_000, 7_200),
        ),
        ("timestamp", datetime.datetime(1970, 1, 1, 0, 0, 1), 1_000_000),
        ("timestamp", datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999), -1),
        ("timestamp_s", datetime.datetime(1970, 1, 2), 86_400),
        ("timestamp_ms", datetime.datetime(1970, 1, 1, 0, 0, 0, 5_000), 5),
        ("timestamp_ns", datetime.datetime(1970, 1, 1, 0, 0, 0, 5), 5_000),
        ("timestamptz", datetime.datetime(1970, 1, 2), 86_400_000_000),
        (
            "timestamptz",
            datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
            -3_600_000_000,
        ),
        ("interval", datetime.timedelta(days=2, seconds=1), (0, 2, 1_000_000)),
        ("interval", datetime.timedelta(seconds=-1), (0, 0, -1_000_000)),
        ("varchar", "a", "a"),
        ("json", "{}", "{}"),
        ("blob", bytearray(b"\0"), b"\0"),
        (
            "uuid",
            "F79C3E09-677C-4BBD-A479-3F349CB785E7",
            uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        ),
    ],
)
def test_python_objects_become_values(type_name: str, value: object, physical: Any) -> None:
    converted = to_physical(value, parse_type(type_name))
    assert _same(converted, physical)
    assert type(converted) is type(physical)


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("boolean", 1),
        ("int32", True),
        ("int32", 1.0),
        ("int32", "1"),
        ("float64", Decimal(1)),
        ("float64", False),
        ("decimal(10,2)", 1.5),
        ("date", datetime.datetime(2024, 1, 1)),
        ("date", "2024-01-01"),
        ("timestamp", datetime.date(2024, 1, 1)),
        ("timestamp", datetime.datetime(2024, 1, 1, tzinfo=UTC)),
        ("time", datetime.time(1, tzinfo=UTC)),
        ("varchar", b"a"),
        ("blob", "a"),
        ("uuid", 5),
        ("interval", 5),
        ("variant", 5),
        ("int32[]", [5]),
    ],
)
def test_an_object_of_another_kind_is_refused(type_name: str, value: object) -> None:
    with pytest.raises(TypeError, match=type_name.split("(")[0].replace("[", r"\[")):
        to_physical(value, parse_type(type_name))


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("int8", 128),
        ("uint64", -1),
        ("float32", 0.1),
        ("float32", 1e300),
        ("float64", 2**53 + 1),
        ("float64", 10**400),
        ("decimal(4,2)", 100),
        ("decimal(4,2)", Decimal("0.001")),
        ("decimal(4,2)", Decimal("Infinity")),
        ("timestamp_s", datetime.datetime(2024, 1, 1, 0, 0, 0, 1)),
        ("timestamp_ms", datetime.datetime(2024, 1, 1, 0, 0, 0, 1)),
        ("timestamp_ns", datetime.datetime(2300, 1, 1)),
        ("uuid", "garbage"),
    ],
)
def test_a_value_the_type_cannot_hold_is_refused(type_name: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"not a uuid|not? fit"):
        to_physical(value, parse_type(type_name))
