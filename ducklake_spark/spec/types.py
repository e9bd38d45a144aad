"""The column types of DuckLake: their text, their trees and which change is a lossless widening."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ducklake_spark.errors import InvalidDefinitionError

# Type names as `ducklake_column.column_type` holds them (FORMAT 1.12).
PRIMITIVES = frozenset(
    """boolean int8 int16 int32 int64 int128 uint8 uint16 uint32 uint64 uint128 float32 float64
    decimal time time_ns timetz date timestamp timestamp_s timestamp_ms timestamp_ns timestamptz
    interval varchar blob json uuid variant geometry unknown timestamptz_ns null""".split()
)
# Types that only lakes of version 1.1 have, and that tables created here cannot have.
ONLY_READ = ("timestamptz_ns", "null")
ZONED = ("timestamptz", "timestamptz_ns")

# Other spellings, of DuckDB's and Spark's SQL, that name the same type.
_ALIASES = {
    "bool": "boolean",
    "logical": "boolean",
    "tinyint": "int8",
    "byte": "int8",
    "smallint": "int16",
    "short": "int16",
    "int": "int32",
    "integer": "int32",
    "bigint": "int64",
    "long": "int64",
    "hugeint": "int128",
    "utinyint": "uint8",
    "usmallint": "uint16",
    "uinteger": "uint32",
    "ubigint": "uint64",
    "uhugeint": "uint128",
    "float": "float32",
    "real": "float32",
    "double": "float64",
    "double precision": "float64",
    "numeric": "decimal",
    "dec": "decimal",
    "timestamp_us": "timestamp",
    "datetime": "timestamp",
    "timestamp_ntz": "timestamp",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
    "time with time zone": "timetz",
    "time without time zone": "time",
    "text": "varchar",
    "string": "varchar",
    "char": "varchar",
    "bpchar": "varchar",
    "bytea": "blob",
    "binary": "blob",
    "varbinary": "blob",
}

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
INTEGERS = (*SIGNED, *UNSIGNED, "int128", "uint128")
MAX_DECIMAL_PRECISION = 38


@dataclass(frozen=True, slots=True)
class DataType:
    """A type. `name` is what the catalog's column_type holds, without the decimal's arguments."""

    name: str

    @property
    def is_nested(self) -> bool:
        return False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Primitive(DataType):
    """A leaf type; `precision` and `scale` only for decimals."""

    precision: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        return self.name


@dataclass(frozen=True, slots=True)
class ListType(DataType):
    """A list; its one child column is named ``element``."""

    element: DataType

    @property
    def is_nested(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"{self.element}[]"


@dataclass(frozen=True, slots=True)
class MapType(DataType):
    """A map; its two child columns are named ``key`` and ``value``."""

    key: DataType
    value: DataType

    @property
    def is_nested(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"map({self.key}, {self.value})"


@dataclass(frozen=True, slots=True)
class StructType(DataType):
    """A struct of named fields, in order."""

    fields: tuple[tuple[str, DataType], ...]

    @property
    def is_nested(self) -> bool:
        return True

    def __str__(self) -> str:
        inner = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}" {t}' for name, t in self.fields)
        return f"struct({inner})"


def list_of(element: DataType) -> ListType:
    return ListType("list", element)


def map_of(key: DataType, value: DataType) -> MapType:
    return MapType("map", key, value)


def struct_of(*fields: tuple[str, DataType]) -> StructType:
    return StructType("struct", tuple(fields))


def decimal(precision: int, scale: int) -> Primitive:
    if not (1 <= precision <= MAX_DECIMAL_PRECISION and 0 <= scale <= precision):
        raise InvalidDefinitionError(
            f"decimal({precision},{scale}) is not a type.",
            hint=f"Precision is 1 to {MAX_DECIMAL_PRECISION}, scale 0 to the precision.",
        )
    return Primitive("decimal", precision, scale)


def children_of(data_type: DataType) -> tuple[tuple[str, DataType], ...]:
    """The named child columns that DuckLake stores for a nested type (FORMAT 1.12)."""
    match data_type:
        case StructType(fields=fields):
            return fields
        case ListType(element=element):
            return (("element", element),)
        case MapType(key=key, value=value):
            return (("key", key), ("value", value))
        case _:
            return ()


def parse_type(text: str) -> DataType:
    """Parse a type as the catalog, DuckDB or Spark's SQL writes it: ``decimal(10,2)``,
    ``struct(a int, b varchar[])``, ``map(varchar, int)``, ``array<int>``, ``struct<a: int>``."""
    return _TypeParser(text).parse()


def widens_to(old: DataType, new: DataType) -> bool:
    """Whether ALTER TYPE from old to new loses nothing, for every value (FORMAT 1.12).

    Nested types change through their fields, never as a whole.
    """
    if not (isinstance(old, Primitive) and isinstance(new, Primitive)):
        return False
    if old.precision is not None and new.precision is not None:
        return old != new and _whole_digits(new) >= _whole_digits(old) and _grows(old, new)
    return new.name in _WIDENINGS.get(old.name, ())


def _whole_digits(data_type: Primitive) -> int:
    return (data_type.precision or 0) - (data_type.scale or 0)


def _grows(old: Primitive, new: Primitive) -> bool:
    return (new.scale or 0) >= (old.scale or 0)


def _integer_widenings() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for at, (signed, unsigned) in enumerate(zip(SIGNED, UNSIGNED, strict=True)):
        double = ("float64",) if at < SIGNED.index("int64") else ()
        table[signed] = SIGNED[at + 1 :] + double
        table[unsigned] = UNSIGNED[at + 1 :] + SIGNED[at + 1 :] + double
    return table


# What DuckDB 1.5.5 accepts of ALTER TYPE, less what loses: 64-bit integers to double round,
# int128 is stored as a double (FORMAT 1.11), nanoseconds end in the year 2262, and a date becomes
# a timestamptz by the time zone of whoever reads.
_WIDENINGS: dict[str, tuple[str, ...]] = _integer_widenings() | {
    "float32": ("float64",),
    "date": ("timestamp",),
    "timestamp_s": ("timestamp_ms", "timestamp"),
    "timestamp_ms": ("timestamp",),
    "timestamp": ("timestamptz",),
}


class _TypeParser:
    """Recursive descent over the little grammar of type names."""

    _TOKEN = re.compile(r'\s*("(?:[^"]|"")*"|`(?:[^`]|``)*`|\w+|[(),:<>\[\]])')

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokens())
        self.at = 0

    def _tokens(self) -> Iterator[str]:
        at, end = 0, len(self.text.rstrip())
        while at < end:
            match = self._TOKEN.match(self.text, at)
            if match is None:
                raise self._error()
            at = match.end()
            yield match.group(1)

    def parse(self) -> DataType:
        result = self._type()
        if self.at != len(self.tokens):
            raise self._error()
        return result

    def _error(self) -> InvalidDefinitionError:
        return InvalidDefinitionError(
            f"{self.text!r} is not a type DuckLake can hold.",
            hint="Types look like int64, decimal(10,2), varchar[], struct(a int32), "
            "map(varchar, int32).",
        )

    def _peek(self) -> str:
        return self.tokens[self.at].lower() if self.at < len(self.tokens) else ""

    def _take(self, wanted: str | None = None) -> str:
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        if not token or (wanted is not None and token != wanted):
            raise self._error()
        self.at += 1
        return token

    def _type(self) -> DataType:
        result = self._base()
        while self._peek() == "[":
            self._take("[")
            self._take("]")
            result = list_of(result)
        return result

    def _base(self) -> DataType:
        name = self._name()
        close = {"(": ")", "<": ">"}.get(self._peek())
        if name in ("struct", "row") and close:
            return self._struct(close)
        if name == "map" and close:
            self._take()
            key = self._type()
            self._take(",")
            value = self._type()
            self._take(close)
            return map_of(key, value)
        if name in ("array", "list") and close:
            self._take()
            element = self._type()
            self._take(close)
            return list_of(element)
        if name == "decimal":
            return self._decimal()
        if name not in PRIMITIVES:
            raise self._error()
        if name == "varchar" and self._peek() == "(":
            self._arguments()  # varchar(20): DuckDB and Spark keep no length either
        return Primitive(name)

    def _name(self) -> str:
        words = [self._take().lower()]
        while self._peek() in ("precision", "with", "without", "time", "zone"):
            words.append(self._take().lower())
        name = " ".join(words)
        return _ALIASES.get(name, name)

    def _struct(self, close: str) -> StructType:
        self._take()
        fields: list[tuple[str, DataType]] = []
        while True:
            name = _unquote(self._take())
            if self._peek() == ":":
                self._take()
            fields.append((name, self._type()))
            if self._peek() != ",":
                break
            self._take(",")
        self._take(close)
        return struct_of(*fields)

    def _decimal(self) -> Primitive:
        if self._peek() != "(":
            return decimal(18, 3)  # DuckDB's default
        arguments = self._arguments()
        return decimal(arguments[0], arguments[1] if len(arguments) > 1 else 0)

    def _arguments(self) -> list[int]:
        self._take("(")
        numbers = [self._number()]
        while self._peek() == ",":
            self._take(",")
            numbers.append(self._number())
        self._take(")")
        return numbers

    def _number(self) -> int:
        token = self._take()
        if not token.isdecimal():
            raise self._error()
        return int(token)


def _unquote(token: str) -> str:
    quote = token[0]
    if quote in '"`':
        return token[1:-1].replace(quote * 2, quote)
    return token
