"""Casts, texts and numbers: where both have the words, and another meaning for some types."""

from __future__ import annotations

from typing import TypeAlias

from sqlglot import exp
from sqlglot.errors import UnsupportedError

from ducklake_spark.sql.column_types import kind_of
from ducklake_spark.sql.retelling import found, held_together, replace, said

# What reads the same as text; times of a zone do without the zone, and fractions never do.
_SAME_TEXT = {"text", "whole", "decimal", "boolean", "date", "naive", "null"}
_NUMBERS = {"whole", "decimal", "fraction"}
_OF_TEXTS = (exp.Upper, exp.Lower, exp.Initcap, exp.Length, exp.Left, exp.Right, exp.Substring,
             exp.Trim, exp.Pad, exp.MD5, exp.SHA, exp.SHA2, exp.Like, exp.ILike, exp.RegexpLike,
             exp.RegexpExtract, exp.RegexpReplace, exp.Replace, exp.StartsWith)  # fmt: skip
# What another value is not silently made another of.
_LOUD = {"fraction", "decimal", "boolean", "date", "timestamp", "naive"}
# The casts that mean the same, by what is cast; all of them keep NULL.
_SAME_CASTS = {
    "null": set[str](),
    "text": {"text", "whole", "decimal", "fraction", "boolean", "date", "timestamp", "naive"},
    "whole": {"whole", "decimal", "fraction", "boolean"},
    "decimal": {"decimal", "fraction", "boolean"},
    "fraction": {"decimal", "fraction", "boolean"},
    "boolean": {"boolean", "whole", "decimal", "fraction"},
    "date": {"date", "timestamp", "naive"},
    "timestamp": {"date", "timestamp", "naive"},
    "naive": {"date", "timestamp", "naive"},
    "binary": {"binary"},
}
Size: TypeAlias = tuple[int, int]
_MOST_DIGITS, _LEAST_SCALE = 38, 6
_COUNTED: Size = (20, 0)
_PRECISION = {exp.DType.TINYINT: 3, exp.DType.SMALLINT: 5, exp.DType.INT: 10, exp.DType.BIGINT: 20}


def casts(tree: exp.Expr) -> None:
    """An error of Spark's is none of TRY_CAST's NULLs."""
    for cast in found(tree, exp.Cast, exp.TryCast):
        if cast.to.this == exp.DType.TIMESTAMP:  # sqlglot's own, for a time of a zone
            cast.set("to", exp.DataType.build("timestamptz"))
        tries = bool(cast.args.get("safe"))
        said_anew = _cast(cast, kind_of(cast.this), kind_of(cast), tries)
        if said_anew is not None:
            replace(cast, said_anew)
        elif not tries:
            replace(cast, exp.Cast(this=cast.this, to=cast.to))


def _cast(cast: exp.Cast, of: str | None, to: str | None, tries: bool) -> exp.Expr | None:
    """What DuckDB says for a cast that is not the same in both, else None."""
    value = cast.this
    if of is None and not tries and to in _LOUD:
        return None
    if of is None and not tries and to == "whole" and isinstance(value.unnest(), exp.Dot):
        # What a function of the lake gives: DuckDB cuts all numbers off so, and takes no others.
        return exp.Cast(this=exp.Trunc(this=value), to=cast.to)
    if of is None:
        raise UnsupportedError(f"Nobody knows here of what type {_shown(value)} is, which is cast.")
    if of == "null" or _is_nothing(value) or (of == to and value.type == cast.to):
        return None
    if of == "text" and to == "binary":
        return said("ENCODE(a)", a=value)
    if tries and of == "text" and to not in ("decimal", "fraction", "boolean", "text"):
        return _tried(cast, str(to))
    if to == "text" and of in ("timestamp", *_SAME_TEXT):
        return exp.Cast(this=as_text(value), to=cast.to)
    if to in _SAME_CASTS.get(of, ()):
        return None
    return _number(cast, of, to)


def _number(cast: exp.Cast, of: str, to: str | None) -> exp.Expr:
    """Times as numbers, numbers as times, and numbers without their fractions."""
    value = cast.this
    match of, to:
        case "timestamp", "whole":
            seconds = said("FLOOR(EPOCH_US(a) / 1000000)", a=value)
            return exp.Cast(this=seconds, to=cast.to)
        case "timestamp", "fraction":
            return exp.Cast(this=said("EPOCH_US(a) / 1000000", a=value), to=cast.to)
        case "whole", "timestamp":
            return said("TO_TIMESTAMP(a)", a=value)
        case (("decimal" | "fraction"), "whole"):
            kind = exp.TryCast if cast.args.get("safe") else exp.Cast
            return kind(this=exp.Trunc(this=value), to=cast.to)
    raise UnsupportedError(f"A cast of {of} to {to or cast.to.sql()} is not the same there.")


def _is_nothing(value: exp.Expr) -> bool:
    value = value.unnest()
    return isinstance(value, exp.Array | exp.Map) and not value.expressions


def _tried(cast: exp.Cast, to: str) -> exp.Expr:
    if to != "whole":
        raise UnsupportedError(f"It takes other texts for a {to} than Spark, where it tries.")
    # DuckDB would round the text of a fraction.
    digits = said(r"REGEXP_EXTRACT(a, '^\s*[+-]?\d+\s*$')", a=cast.this)
    return exp.TryCast(this=digits, to=cast.to)


def _shown(value: exp.Expr) -> str:
    text = value.sql(dialect="spark")
    return text if len(text) < 60 else f"{text[:60]}…"


def texts(tree: exp.Expr) -> None:
    """What becomes text by being put together with others."""
    for joined in found(tree, exp.Concat, exp.DPipe, exp.ConcatWs):
        parts = list(joined.iter_expressions())
        kinds = {kind_of(part) for part in parts}
        if kinds <= {"binary", "null"} or (kinds <= {"list", "null"} and "list" in kinds):
            if isinstance(joined, exp.ConcatWs):
                raise UnsupportedError("Its concat_ws takes no lists.")
            continue
        for part in parts:
            replace(part, as_text(part))


def given_as_texts(tree: exp.Expr) -> None:
    """Functions of texts take anything in Spark."""
    for call in found(tree, *_OF_TEXTS):
        if kind_of(call.this) not in (None, "text", "binary", "null", "list"):
            value = as_text(call.this)
            replace(call.this, exp.Cast(this=value, to=exp.DataType.build("text")))
        elif kind_of(call.this) == "binary" and isinstance(call, exp.Pad | exp.Substring):
            raise UnsupportedError("Its parts of bytes are others.")


def aggregated_texts(tree: exp.Expr) -> None:
    for joined in found(tree, exp.GroupConcat):
        value = joined.this
        while isinstance(value, exp.Distinct | exp.Order):
            value = value.expressions[0] if isinstance(value, exp.Distinct) else value.this
        if kind_of(value) != "text":
            raise UnsupportedError("Other values than texts it puts together in its own way.")
        if joined.args.get("separator") is None:
            joined.set("separator", exp.Literal.string(""))


def as_text(value: exp.Expr) -> exp.Expr:
    """A value as Spark writes it when it needs a text."""
    kind = kind_of(value)
    if kind == "timestamp":
        return said("CAST(CAST(a AS TIMESTAMP) AS TEXT)", a=value)
    if kind in _SAME_TEXT:
        return held_together(value.copy())
    if kind is None:
        raise UnsupportedError(f"Nobody knows here of what type {_shown(value)} is, to be a text.")
    raise UnsupportedError(f"The text of a {kind} is another there, as of {_shown(value)}.")


def whole_divisions(tree: exp.Expr) -> None:
    for quotient in found(tree, exp.IntDiv):
        if {kind_of(quotient.this), kind_of(quotient.expression)} - {"whole", "null"}:
            raise UnsupportedError("Its whole division is one of whole numbers only.")


def decimals(tree: exp.Expr) -> None:
    """DuckDB divides them as doubles."""
    for division in found(tree, exp.Div):
        kinds = kind_of(division.this), kind_of(division.expression)
        if "interval" in kinds:
            raise UnsupportedError("Parts of intervals are others there.")
        if "decimal" in kinds and set(kinds) <= {"decimal", "whole"}:
            _as_decimal(division, _of_quotient(division))
    for average in found(tree, exp.Avg):
        if kind_of(average.this) == "decimal":
            _as_decimal(average, _of_average(average.this))


def numbers(tree: exp.Expr) -> None:
    """Those that are whole, or are not, in Spark only."""
    for cut in found(tree, exp.Ceil, exp.Floor):
        if kind_of(cut) == "whole":
            replace(cut, exp.Cast(this=cut.copy(), to=exp.DataType.build("bigint")))
    for sign in found(tree, exp.Sign):
        replace(sign, said("CAST(SIGN(a) AS DOUBLE)", a=sign.this))
    for value in found(tree, exp.IsNan):
        replace(value, said("COALESCE(ISNAN(a), FALSE)", a=value.this))
    for character in found(tree, exp.Chr):
        code = character.expressions[0]
        if not code.is_int or not 0 <= int(code.name) < 256:
            raise UnsupportedError("Its characters go beyond number 255, and Spark's start anew.")


def _as_decimal(value: exp.Expr, size: Size | None) -> None:
    """DuckDB divides decimals as doubles, Spark to so many digits: the first 15 are the same."""
    if size is None:
        text = _shown(value)
        raise UnsupportedError(f"Nobody knows here to how many digits Spark computes {text}.")
    holder = value.parent
    whole = (
        holder if isinstance(holder, exp.Window | exp.Filter) and holder.this is value else value
    )
    if isinstance(whole.parent, exp.Window) and whole.parent.this is whole:
        whole = whole.parent
    kind = exp.DataType.build(f"decimal({size[0]}, {size[1]})")
    held = exp.Cast(this=whole.copy(), to=kind)
    held.meta["ours"] = True
    held.type = kind
    whole.replace(held)


def _of_quotient(division: exp.Div) -> Size | None:
    one, other = _size(division.this), _size(division.expression)
    if one is None or other is None:
        return None
    scale = max(_LEAST_SCALE, one[1] + other[0] + 1)
    return _adjusted(one[0] - one[1] + other[1] + scale, scale)


def _of_average(value: exp.Expr) -> Size | None:
    size = _size(value)
    return _bounded(size[0] + 4, size[1] + 4) if size is not None else None


def _size(value: exp.Expr) -> Size | None:
    """The digits that a number has in Spark, and those after its point."""
    value = value.unnest()
    while isinstance(value, exp.Window | exp.Filter | exp.Neg):
        value = value.this.unnest()
    match value:
        case exp.Count():
            return _COUNTED
        case exp.Sum() if kind_of(value.this) == "whole":
            return _COUNTED
        case exp.Sum():
            size = _size(value.this)
            return _bounded(size[0] + 10, size[1]) if size is not None else None
        case exp.Add() | exp.Sub() | exp.Mul():
            return _of_terms(value)
        case exp.Literal() if not value.is_string and "e" not in value.name.lower():
            whole, _, part = value.name.partition(".")
            return len(whole.lstrip("0")) + len(part) or 1, len(part)
        case exp.Column() | exp.Cast() | exp.TryCast() if value.type is not None:
            return _of_type(value.type)
    return None


def _of_terms(term: exp.Binary) -> Size | None:
    one, other = _size(term.this), _size(term.expression)
    if one is None or other is None:
        return None
    if isinstance(term, exp.Mul):
        return _adjusted(one[0] + other[0] + 1, one[1] + other[1])
    scale = max(one[1], other[1])
    return _adjusted(max(one[0] - one[1], other[0] - other[1]) + scale + 1, scale)


def _of_type(kind: exp.DataType) -> Size | None:
    if kind.this == exp.DType.DECIMAL:
        sizes = [int(size.name) for size in kind.expressions] or [10]
        return sizes[0], sizes[1] if len(sizes) > 1 else 0
    precision = _PRECISION.get(kind.this)
    return (precision, 0) if precision is not None else None


def _bounded(digits: int, scale: int) -> Size:
    return min(digits, _MOST_DIGITS), min(scale, _MOST_DIGITS)


def _adjusted(digits: int, scale: int) -> Size:
    """Where there are too many digits, Spark gives up those after the point, but for six."""
    if digits <= _MOST_DIGITS:
        return digits, scale
    return _MOST_DIGITS, max(_MOST_DIGITS - (digits - scale), min(scale, _LEAST_SCALE))


def cuts(tree: exp.Expr) -> None:
    """Parts of texts: where they start, and how long they are."""
    for cut in found(tree, exp.Left, exp.Right):
        if not _is_positive(cut.expression):
            cut.set("expression", said("CASE WHEN a < 0 THEN 0 ELSE a END", a=cut.expression))
    for cut in found(tree, exp.Substring):
        start, length = cut.args.get("start"), cut.args.get("length")
        if start is not None and start.is_int and start.name == "0":
            cut.set("start", exp.Literal.number(1))
        elif start is not None and not start.is_number:
            cut.set("start", said("CASE WHEN a = 0 THEN 1 ELSE a END", a=start))
        if length is not None and not _is_positive(length):
            cut.set("length", said("CASE WHEN a < 0 THEN 0 ELSE a END", a=length))


def places(tree: exp.Expr) -> None:
    """What is looked for in texts, and what they are cut at."""
    for place in found(tree, exp.StrPosition):
        start = place.args.get("position")
        if start is not None and not (_is_positive(start) and start.name != "0"):
            raise UnsupportedError("It looks for a text from another place.")
    for replaced in found(tree, exp.Replace):
        if replaced.args.get("replacement") is None:
            replaced.set("replacement", exp.Literal.string(""))
    for parts in found(tree, exp.RegexpSplit, exp.Split):
        limit = parts.args.get("limit")
        if limit is not None and not (isinstance(limit, exp.Neg) or limit.name == "0"):
            raise UnsupportedError("Its split has no limit.")
        parts.set("limit", None)
    for part in found(tree, exp.SplitPart):
        if part.args["delimiter"].is_string and not part.args["delimiter"].name:
            raise UnsupportedError("It splits a text by an empty one in another way.")


def _is_positive(value: exp.Expr) -> bool:
    return bool(value.is_int) and not isinstance(value, exp.Neg) and int(value.name) >= 0


def patterns(tree: exp.Expr) -> None:
    """A backslash takes its meaning from the next character in Spark's patterns."""
    for like in found(tree, exp.Like, exp.ILike):
        pattern = like.expression
        is_plain = pattern.is_string and "\\" not in pattern.name
        if not is_plain and not isinstance(like.parent, exp.Escape):
            escaped = exp.Escape(this=like.copy(), expression=exp.Literal.string("\\"))
            like.replace(escaped)


def lengths(tree: exp.Expr) -> None:
    """Words for texts, lists, maps and bytes, of which DuckDB has one each."""
    for length in found(tree, exp.Length):
        if kind_of(length.this) == "binary":
            replace(length, said("OCTET_LENGTH(a)", a=length.this))
    for coded in found(tree, exp.ToBase64):
        if kind_of(coded.this) == "text":
            replace(coded, said("TO_BASE64(ENCODE(a))", a=coded.this))
    for size in found(tree, exp.ArraySize):
        kind = kind_of(size.this)
        if kind == "map":
            replace(size, said("CARDINALITY(a)", a=size.this))
    for turned in found(tree, exp.Reverse):
        kind = kind_of(turned.this)
        if kind == "list":
            replace(turned, said("LIST_REVERSE(a)", a=turned.this))
        elif kind not in ("text", "null"):
            raise UnsupportedError(f"Nobody knows here whether {_shown(turned.this)} is a text.")


def formats(tree: exp.Expr) -> None:
    """`printf` writes no NULL, and takes no number for %s."""
    for call in found(tree, exp.Format):
        form = call.this
        if not form.is_string:
            raise UnsupportedError("A format that is not written out means another thing there.")
        text, values = form.name, call.expressions
        if text.replace("%s", "").replace("%d", "").count("%"):
            raise UnsupportedError("Its formats are others, but for %s and %d.")
        taken = {"text", "whole"}
        if {kind_of(value) for value in values} - taken:
            raise UnsupportedError("Its formats write texts and whole numbers alike, nothing else.")
        shown = [said("COALESCE(CAST(a AS TEXT), 'null')", a=value) for value in values]
        plain = exp.Literal.string(text.replace("%d", "%s"))
        replace(call, exp.func("printf", plain, *shown))
