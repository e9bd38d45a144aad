"""Translates values of a query that DuckDB wrote: literals, casts and numbers.

The types of the parts of the query are known (`column_types.note_types`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp
from sqlglot.errors import UnsupportedError

from ducklake_spark.sql.column_types import KIND, kind_of
from ducklake_spark.sql.retelling import found, held_together, said

_BINARY = (exp.DType.VARBINARY, exp.DType.BINARY)
_BLOB_PART = re.compile(r"\\x([0-9A-Fa-f]{2})|([^\\\x80-\U0010ffff])", re.DOTALL)
_ESCAPED_BYTE = re.compile(r"\\x[0-9A-Fa-f]{2}")
_WHOLE = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)
_FRACTIONS = (exp.DType.FLOAT, exp.DType.DOUBLE)
# These take a text and never a BLOB.
_OF_TEXT = (
    exp.Alias, exp.Cast, exp.Concat, exp.DPipe, exp.Split, exp.Replace, exp.RegexpReplace,
    exp.RegexpLike, exp.RegexpExtract, exp.RegexpExtractAll, exp.RegexpFullMatch, exp.Like,
    exp.ILike, exp.Escape, exp.TimeToStr, exp.StrToTime,
)  # fmt: skip
_TIMES = (exp.DType.DATE, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ)
_WITH_PLAIN_TEXT = ("text", "whole", "boolean", "date", "decimal", "naive", "null")
_DAY = r"\d{4}-\d{1,2}-\d{1,2}"
_TIME_TEXT = re.compile(
    rf"{_DAY}([ T]\d{{1,2}}:\d{{2}}(:\d{{2}}(\.\d{{1,6}})?)?( ?[+-]\d\d(:\d\d)?|Z)?)?"
)
_DAY_TEXT = re.compile(_DAY)
# DuckDB also reads '1.5', '1e3', '0x1F' and '1_000' as whole numbers.
_TRY_WHOLE = """
CASE WHEN v RLIKE '^ *[+-]?[0-9]+ *$' THEN w
WHEN v RLIKE '^[^!-~]*[+-]?([0-9][0-9_]*[.]?[0-9_]*|[.][0-9_]+)([eE][+-]?[0-9_]+)?[^!-~]*$'
OR v RLIKE '^[^!-~]*[+-]?0[xXbBoO]'
THEN raise_error('TRY_CAST of a text with a number that is not written in digits alone') END
"""


def no_form(what: str) -> UnsupportedError:
    """Return the error for a construct that cannot be translated with certainty."""
    return UnsupportedError(f"{what} has no form in Spark that returns the same")


def unknown_type(value: exp.Expr, where: exp.Expr) -> UnsupportedError:
    """Return the error for a value whose type decides what an expression returns."""
    return UnsupportedError(
        f"the type of {text_of(value)} is unknown, and {text_of(where)} depends on it"
    )


def put(old: exp.Expr, new: exp.Expr, kind: str | None) -> None:
    """Replace a part of the tree, and note the kind of its type for the parts around it."""
    new.meta[KIND] = kind
    old.replace(new)


def in_spark(template: str, **parts: exp.Expr) -> exp.Expr:
    """Return an expression of Spark with parts of the tree in place of the names."""
    return held_together(said(template, dialect="spark", **parts))


def text_of(value: exp.Expr) -> str:
    return value.sql(dialect="duckdb")


# --- literals and casts ---


def translate_blobs(tree: exp.Expr) -> None:
    r"""Replace `CAST('\xAB' AS BLOB)` with `X'AB'`: only DuckDB reads the escapes."""
    for cast in found(tree, exp.Cast):
        if cast.to.this not in _BINARY:
            continue
        if not cast.this.is_string:
            raise no_form(f"{text_of(cast)}, a cast to BLOB of another value than text,")
        put(cast, _blob(cast.this), "binary")


def _blob(literal: exp.Expr) -> exp.Expr:
    r"""Return the bytes that DuckDB reads in a text: `\x` and two digits, or ASCII."""
    bytes_, text, at = bytearray(), literal.name, 0
    while at < len(text):
        part = _BLOB_PART.match(text, at)
        if part is None:
            raise UnsupportedError(f"{text!r} is not a BLOB: DuckDB writes \\xAB for the byte AB")
        bytes_ += bytes.fromhex(part[1]) if part[1] else part[2].encode()
        at = part.end()
    return exp.HexString(this=bytes(bytes_).hex().upper())


def name_types(tree: exp.Expr) -> None:
    """Replace TIMESTAMP with TIMESTAMP_NTZ: DuckDB's type has no time zone."""
    for kind in tree.find_all(exp.DataType):
        if kind.this == exp.DType.TIMESTAMP:
            kind.set("this", exp.DType.TIMESTAMPNTZ)


def translate_escapes(tree: exp.Expr) -> None:
    r"""Read `'\xAB'` as a byte where DuckDB makes a BLOB of it to fit another value."""
    for text in list(tree.find_all(exp.Literal)):
        around = text.parent
        while isinstance(around, (exp.Paren, exp.If, exp.Tuple)):
            around = around.parent
        if not text.is_string or "\\" not in text.name or isinstance(around, _OF_TEXT):
            continue
        others = list(around.iter_expressions()) if around is not None else []
        kinds = {kind_of(other) for other in _values_in(others) if other is not text}
        if "binary" in kinds:
            put(text, _blob(text), "binary")
        elif None in kinds and around is not None and _ESCAPED_BYTE.search(text.name):
            raise unknown_type(text, around)


def _values_in(values: list[exp.Expr]) -> list[exp.Expr]:
    """List what stands beside a value, such as the results of a CASE."""
    found_: list[exp.Expr] = []
    for value in values:
        inside = isinstance(value, (exp.If, exp.Tuple))
        found_ += _values_in(list(value.iter_expressions())) if inside else [value]
    return [value for value in found_ if not (isinstance(value, exp.Literal) and value.is_string)]


def reject_orders(tree: exp.Expr) -> None:
    """NULL is the smallest field of a struct in Spark, and the largest in DuckDB."""
    for test in found(tree, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between):
        if kind_of(test.this) in ("struct", "list", "map"):
            raise no_form(f"{text_of(test)}, the order of lists and structs with NULL,")


def translate_casts(tree: exp.Expr) -> None:
    for cast in found(tree, exp.Cast):
        target = cast.to.this
        if target in _WHOLE:
            _cast_to_whole(cast)
        elif target in exp.DataType.TEXT_TYPES:
            reject_other_text(cast.this, cast)
        elif target in _TIMES:
            _check_time(cast)
        elif target in _FRACTIONS or target == exp.DType.DECIMAL:
            _cast_to_number(cast)
        elif not _is_truth(cast):
            raise no_form(f"{text_of(cast)}, a cast to {cast.to.sql(dialect='duckdb')},")


def _is_truth(cast: exp.Cast) -> bool:
    if cast.to.this != exp.DType.BOOLEAN:
        return False
    if cast.this.is_string:
        return cast.this.name.lower() in ("t", "f", "true", "false")
    return kind_of(cast.this) in ("whole", "boolean", "null")


def _cast_to_whole(cast: exp.Cast) -> None:
    """Round as DuckDB does; Spark's cast cuts the fraction off."""
    kind, value = kind_of(cast.this), cast.this
    if kind == "fraction":  # DuckDB rounds 2.5 to 2 and 3.5 to 4
        cast.set("this", exp.func("rint", value.copy()))
    elif kind == "decimal":
        cast.set("this", in_spark("round(v)", v=value))
    elif kind == "text" and isinstance(cast, exp.TryCast):
        put(cast, in_spark(_TRY_WHOLE, v=value, w=cast.copy()), "whole")
    elif kind not in ("whole", "boolean", "null", "text"):
        raise unknown_type(value, cast)


def _cast_to_number(cast: exp.Cast) -> None:
    kind = kind_of(cast.this)
    is_fraction = cast.to.this in _FRACTIONS
    if kind == "text" and isinstance(cast, exp.TryCast):
        _try_number(cast)
    elif kind == "fraction" and not is_fraction:
        raise no_form(f"{text_of(cast)}, which rounds a binary fraction,")
    elif kind not in ("whole", "boolean", "decimal", "fraction", "null", "text"):
        raise unknown_type(cast.this, cast)


def _try_number(cast: exp.Cast) -> None:
    """Spark reads '1d' as a number, and DuckDB '1_000'."""
    template = (
        "CASE WHEN v RLIKE '[0-9.][dDfF][^!-~]*$' THEN NULL WHEN v RLIKE '[0-9]_[0-9]' "
        "THEN raise_error('A number with _ has no form in Spark') ELSE w END"
    )
    plain = cast.copy()
    put(cast, in_spark(template, v=cast.this, w=plain), kind_of(cast))


def _check_time(cast: exp.Cast) -> None:
    is_day = cast.to.this == exp.DType.DATE
    known = _DAY_TEXT if is_day else _TIME_TEXT
    if cast.this.is_string:
        if not known.fullmatch(cast.this.name.strip()):
            raise no_form(f"{text_of(cast)}, a date or time of such a text,")
    elif isinstance(cast, exp.TryCast) and kind_of(cast.this) not in ("date", "naive", "timestamp"):
        raise no_form(f"{text_of(cast)}, which reads fewer texts as a time than Spark's,")


def reject_other_text(value: exp.Expr, where: exp.Expr) -> None:
    """Raise unless both engines write a value in the same way."""
    kind = kind_of(value)
    if kind is None:
        raise unknown_type(value, where)
    if kind not in _WITH_PLAIN_TEXT:
        raise no_form(f"{text_of(where)}, the text of a value of the type {kind},")


# --- numbers ---


def divide_as_double(tree: exp.Expr) -> None:
    """`/` and avg compute with DOUBLE in DuckDB, of DECIMAL as well; division by 0 is infinite."""
    for quotient in found(tree, exp.Div):
        is_plain = _is_not_zero(quotient.expression)
        ieee = "IF(y = 0, x * CAST('Infinity' AS DOUBLE), x / y)"
        sides = {
            name: exp.cast(side.copy(), "double")
            for name, side in (("x", quotient.this), ("y", quotient.expression))
        }
        quotient.replace(in_spark("x / y" if is_plain else ieee, **sides))
    for mean in found(tree, exp.Avg):
        value = mean.this
        target = value.expressions[0] if isinstance(value, exp.Distinct) else value
        target.replace(exp.cast(target.copy(), "double"))


def _is_not_zero(value: exp.Expr) -> bool:
    number = value.unnest()
    return isinstance(number, exp.Literal) and not number.is_string and float(number.name) != 0


def translate_numbers(tree: exp.Expr) -> None:
    for node in found(tree, *_NUMBERS):
        _NUMBERS[type(node)](node)


def _whole_quotient(node: exp.Expr) -> None:
    kinds = {kind_of(node.this), kind_of(node.expression)}
    if kinds != {"whole"}:
        raise no_form(f"{text_of(node)}, a quotient // of other than whole numbers,")
    put(node, in_spark("x DIV NULLIF(y, 0)", x=node.this, y=node.expression), "whole")


def _rest(node: exp.Expr) -> None:
    kinds = {kind_of(node.this), kind_of(node.expression)}
    if kinds == {"whole"} and not _is_not_zero(node.expression):
        put(node, in_spark("x % NULLIF(y, 0)", x=node.this, y=node.expression), "whole")


def _logarithm(node: exp.Expr) -> None:
    base, number = node.this, node.args.get("expression")
    if isinstance(node, exp.Ln):
        template, number = "ln(x)", base
    elif number is None:
        template, number = "log10(x)", base
    elif base.name in ("10", "2"):  # a quotient of logarithms is a little off
        template = f"log{base.name}(x)"
    else:
        template = "log(b, x)"
    guard = "IF(x <= 0, CAST(raise_error('The logarithm of 0 or less') AS DOUBLE), {})"
    put(node, in_spark(guard.format(template), x=number, b=base), "fraction")


def _root(node: exp.Expr) -> None:
    guard = "IF(x < 0, CAST(raise_error('The square root of less than 0') AS DOUBLE), sqrt(x))"
    put(node, in_spark(guard, x=node.this), "fraction")


def _next_whole(node: exp.Expr) -> None:
    """Keep a DOUBLE: Spark makes a BIGINT of it, in which 1e20 does not fit."""
    kind, name = kind_of(node.this), "ceil" if isinstance(node, exp.Ceil) else "floor"
    if kind == "fraction":
        template = f"IF(abs(x) < 1e15, CAST({name}(x) AS DOUBLE), x)"
        put(node, in_spark(template, x=node.this), kind)
    elif kind not in ("whole", "decimal"):
        raise unknown_type(node.this, node)


def _rounded(node: exp.Expr) -> None:
    kind, digits = kind_of(node.this), node.args.get("decimals")
    if kind is None:
        raise unknown_type(node.this, node)
    if kind != "fraction" or digits is None:
        return
    if not (isinstance(digits, exp.Literal) and 0 <= int(digits.name) <= 15):
        raise no_form(f"{text_of(node)}, which rounds a binary fraction to such digits,")
    power = f"1e{digits.name}"
    put(node, in_spark(f"IF(abs(x) < 1e15, round(x * {power}) / {power}, x)", x=node.this), kind)


def _signed(node: exp.Expr) -> None:
    template = "CASE WHEN isnan(x) THEN 0Y ELSE CAST(sign(x) AS TINYINT) END"
    is_fraction = kind_of(node.this) not in ("whole", "decimal")
    template = template if is_fraction else "CAST(sign(x) AS TINYINT)"
    put(node, in_spark(template, x=node.this), "whole")


def _cut(node: exp.Expr) -> None:
    """Keep a DOUBLE without its fraction: Spark makes a BIGINT of it."""
    kind = kind_of(node.this)
    template = {
        "fraction": "IF(abs(x) < 1e15, CAST(CAST(x AS BIGINT) AS DOUBLE), x)",
        "decimal": "IF(x < 0, ceil(x), floor(x))",
    }.get(kind or "")
    if template is None or node.args.get("decimals") is not None:
        raise no_form(f"{text_of(node)}, trunc of other than a number with a fraction,")
    put(node, in_spark(template, x=node.this), kind)


def _not_a_number(node: exp.Expr) -> None:
    put(node, in_spark("IF(x IS NULL, NULL, isnan(x))", x=node.this), "boolean")


_NUMBERS: dict[type[exp.Expr], Callable[[exp.Expr], None]] = {
    exp.Ceil: _next_whole,
    exp.Floor: _next_whole,
    exp.IntDiv: _whole_quotient,
    exp.IsNan: _not_a_number,
    exp.Ln: _logarithm,
    exp.Log: _logarithm,
    exp.Mod: _rest,
    exp.Round: _rounded,
    exp.Sign: _signed,
    exp.Sqrt: _root,
    exp.Trunc: _cut,
}
