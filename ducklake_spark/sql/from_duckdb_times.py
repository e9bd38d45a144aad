"""Translates dates, times and intervals of a query that DuckDB wrote.

A TIMESTAMP of DuckDB has no time zone, so nothing here may depend on the time zone of the session.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from ducklake_spark.sql.column_types import kind_of
from ducklake_spark.sql.from_duckdb_values import in_spark, no_form, put, unknown_type
from ducklake_spark.sql.retelling import found

# Calls that DuckDB makes of intervals -> Spark's function, the place of the number among its
# arguments, and what the number is multiplied by.
_INTERVALS = {
    "to_years": ("make_ym_interval", 0, 1),
    "to_quarters": ("make_ym_interval", 1, 3),
    "to_months": ("make_ym_interval", 1, 1),
    "to_weeks": ("make_dt_interval", 0, 7),
    "to_days": ("make_dt_interval", 0, 1),
    "to_hours": ("make_dt_interval", 1, 1),
    "to_minutes": ("make_dt_interval", 2, 1),
    "to_seconds": ("make_dt_interval", 3, 1),
}
# One number and its unit, such as '7 days' of INTERVAL '7 days'.
_INTERVAL_TEXT = re.compile(
    r"\s*([+-]?\d{1,9})\s+(year|quarter|month|week|day|hour|minute|second)s?\s*", re.IGNORECASE
)
_WEEK_DAYS = ("dow", "dayofweek", "weekday")
_PARTS = ("year", "month", "day", "quarter", "week", "doy", "dayofyear", "hour", "minute")
_DAYS_OF = {"year": "YEAR", "quarter": "QUARTER", "month": "MM", "week": "WEEK"}
_TRUNCATED = {
    "day": "CAST(CAST(x AS DATE) AS TIMESTAMP_NTZ)",
    "hour": "x - make_dt_interval(0, 0, minute(x), extract(SECOND FROM x))",
    "minute": "x - make_dt_interval(0, 0, 0, extract(SECOND FROM x))",
    "second": "x - make_dt_interval(0, 0, 0, extract(SECOND FROM x) - second(x))",
} | {
    unit: f"CAST(trunc(CAST(x AS DATE), '{name}') AS TIMESTAMP_NTZ)"
    for unit, name in _DAYS_OF.items()
}
_HOURS = "datediff(CAST(y AS DATE), CAST(x AS DATE)) * 24L + hour(y) - hour(x)"
_MINUTES = f"({_HOURS}) * 60 + minute(y) - minute(x)"
# How many times a unit begins between x and y.
_BETWEEN = {
    "year": "CAST(year(y) - year(x) AS BIGINT)",
    "quarter": "(year(y) - year(x)) * 4L + quarter(y) - quarter(x)",
    "month": "(year(y) - year(x)) * 12L + month(y) - month(x)",
    "week": "datediff(y, x) DIV 7",  # of dates: DuckDB counts the days
    "day": "CAST(datediff(CAST(y AS DATE), CAST(x AS DATE)) AS BIGINT)",
    "hour": _HOURS,
    "minute": _MINUTES,
    "second": f"({_MINUTES}) * 60 + second(y) - second(x)",
}
_SHOWN = {
    "Y": "yyyy", "m": "MM", "d": "dd", "H": "HH", "M": "mm", "S": "ss", "f": "SSSSSS", "b": "MMM",
    "B": "MMMM", "a": "EEE", "A": "EEEE", "p": "a", "I": "hh", "y": "yy", "j": "DDD", "-d": "d",
    "-m": "M", "-H": "H", "-M": "m", "-S": "s", "-I": "h", "%": "%",
}  # fmt: skip
_READ = {"Y": "yyyy", "m": "M", "d": "d", "H": "H", "M": "m", "S": "s", "f": "SSSSSS", "%": "%"}
_HOUR_DIRECTIVES = {"H", "M", "S", "f", "p", "I", "-H", "-M", "-S", "-I"}
_DIRECTIVE = re.compile(r"%(-.|.)", re.DOTALL)
_LETTERS = re.compile(r"[^0-9 .:/,_+-]+")
_ZONE = re.compile(r"UTC|[A-Z][A-Za-z_]+(/[A-Z][A-Za-z_]+)+")


def translate_intervals(tree: exp.Expr) -> None:
    for call in found(tree, exp.Anonymous, exp.ToDays):
        name = "to_days" if isinstance(call, exp.ToDays) else call.name.lower()
        if name in _INTERVALS:
            (number,) = call.expressions or [call.this]
            put(call, _interval(name, number), "interval")
    for cast in found(tree, exp.Cast):
        text = _INTERVAL_TEXT.fullmatch(cast.this.name) if cast.this.is_string else None
        if cast.to.this == exp.DType.INTERVAL and text is not None:
            name, number = f"to_{text[2].lower()}s", exp.Literal.string(text[1])
            put(cast, _interval(name, number), "interval")


def _interval(name: str, number: exp.Expr) -> exp.Expr:
    function, place, times = _INTERVALS[name]
    kind = "DECIMAL(18, 6)" if name == "to_seconds" else "INT"
    zeros = "0, " * place
    template = f"{function}({zeros}CAST(x AS {kind}){f' * {times}' if times > 1 else ''})"
    # DuckDB writes the number as CAST(trunc(CAST(1 AS DOUBLE)) AS INTEGER).
    for trunc in list(number.find_all(exp.Trunc, exp.Anonymous)):
        inner = trunc.expressions[0] if isinstance(trunc, exp.Anonymous) else trunc.this
        if trunc.name.lower() == "trunc" or isinstance(trunc, exp.Trunc):
            trunc.replace(in_spark("CAST(x AS BIGINT)", x=inner))
    return in_spark(template, x=number)


def translate_sums(tree: exp.Expr) -> None:
    """A date and an interval make a time in DuckDB; two dates make a number of days."""
    for node in found(tree, exp.Add, exp.Sub, exp.DateAdd):
        left, right = node.this, node.expression
        kinds = {"left": kind_of(left), "right": kind_of(right)}
        if isinstance(node, exp.DateAdd) and kinds["right"] != "interval":
            raise no_form(f"{node.sql(dialect='duckdb')} of other than an interval")
        if "interval" in kinds.values():
            _add_interval(node, left, right, kinds)
        elif isinstance(node, exp.Sub):
            _subtract(node, left, right, kinds)


def _add_interval(
    node: exp.Expr, left: exp.Expr, right: exp.Expr, kinds: dict[str, str | None]
) -> None:
    sign = "-" if isinstance(node, exp.Sub) else "+"
    if kinds["left"] == "interval" and sign == "+":
        moment, interval, kind = right, left, kinds["right"]
    else:
        moment, interval, kind = left, right, kinds["left"]
    if kind in ("date", "naive"):
        template = f"CAST(x AS TIMESTAMP_NTZ) {sign} i"
        put(node, in_spark(template, x=moment, i=interval), "naive")
    elif kind == "timestamp":
        put(node, in_spark(f"x {sign} i", x=moment, i=_exact(interval, node)), kind)
    elif kind == "interval":
        put(node, in_spark(f"x {sign} i", x=moment, i=interval), kind)
    else:
        raise unknown_type(moment, node)


def _exact(interval: exp.Expr, where: exp.Expr) -> exp.Expr:
    """Return an interval that keeps 24 hours apart from a day, which can be of 23 or 25 hours.

    Only where it is added to a time with a time zone: such intervals cannot be compared.
    """
    call = interval.unnest()
    if isinstance(call, exp.Anonymous) and call.name == "make_dt_interval":
        zeros = [exp.Literal.number(0) for _ in range(3)]
        parts = [part.copy() for part in call.expressions]
        return exp.Anonymous(this="make_interval", expressions=[*zeros, *parts])
    if isinstance(call, exp.Anonymous) and call.name == "make_ym_interval":
        return interval
    raise no_form(f"{where.sql(dialect='duckdb')}, of other than one plain interval,")


def _subtract(
    node: exp.Expr, left: exp.Expr, right: exp.Expr, kinds: dict[str, str | None]
) -> None:
    of = set(kinds.values())
    if of == {"date"}:
        template = "CAST(datediff(x, y) AS BIGINT)"
        put(node, in_spark(template, x=left, y=right), "whole")
    elif of == {None} or of == {None, "date"}:
        raise unknown_type(left if kinds["left"] is None else right, node)
    elif of & {"naive", "timestamp"} and of != {"naive"}:
        raise no_form(f"{node.sql(dialect='duckdb')}, an interval of days and hours,")


def translate_truncated(tree: exp.Expr) -> None:
    for node in found(tree, exp.TimestampTrunc, exp.DateTrunc):
        kind, unit = kind_of(node.this), node.text("unit").lower()
        if kind == "timestamp":
            if unit != "day" and unit not in _DAYS_OF:  # hours are not unique when clocks go back
                raise no_form(f"{node.sql(dialect='duckdb')}, which truncates to {unit},")
            put(node, in_spark(f"date_trunc('{unit}', x)", x=node.this), kind)
        elif kind not in ("date", "naive"):
            raise unknown_type(node.this, node)
        elif unit not in _TRUNCATED:
            raise no_form(f"{node.sql(dialect='duckdb')}, which truncates to {unit},")
        else:
            template = _TRUNCATED[unit]
            value = exp.cast(node.this.copy(), "timestamp_ntz", dialect="spark")
            put(node, in_spark(template, x=value), "naive")


def translate_differences(tree: exp.Expr) -> None:
    for node in found(tree, exp.DateDiff):
        unit = node.text("unit").lower() or "day"
        end, start = node.this, node.expression
        for side in (start, end):
            if kind_of(side) not in ("date", "naive"):
                raise unknown_type(side, node)
        is_time = "naive" in (kind_of(start), kind_of(end))
        if unit not in _BETWEEN or (unit == "week" and is_time):
            raise no_form(f"{node.sql(dialect='duckdb')}, a number of {unit}s,")
        put(node, in_spark(_BETWEEN[unit], x=start, y=end), "whole")


def translate_parts(tree: exp.Expr) -> None:
    """Sunday is 0 in DuckDB and 1 in Spark; Spark's seconds have a fraction."""
    for node in found(tree, exp.DayOfWeek, exp.DayOfWeekIso, exp.Week):
        match node:
            case exp.DayOfWeek():
                put(node, in_spark("dayofweek(x) - 1", x=node.this), "whole")
            case exp.DayOfWeekIso():
                put(node, in_spark("extract(DOW_ISO FROM x)", x=node.this), "whole")
            case exp.Week():
                put(node, in_spark("weekofyear(x)", x=node.this), "whole")
    for call in found(tree, exp.Anonymous, exp.Extract):
        part, moment = _part_of(call)
        if not part:
            continue
        put(call, _part(call, part, moment), "whole")


def _part(call: exp.Expr, part: str, moment: exp.Expr) -> exp.Expr:
    if part in _WEEK_DAYS:
        return in_spark("dayofweek(x) - 1", x=moment)
    if part == "isodow":
        return in_spark("extract(DOW_ISO FROM x)", x=moment)
    if part in ("second", "seconds"):
        return in_spark("second(x)", x=moment)
    if part in _PARTS:
        return in_spark(f"extract({part} FROM x)", x=moment)
    raise no_form(f"{call.sql(dialect='duckdb')}, a part of a time called {part},")


def _part_of(call: exp.Expr) -> tuple[str, exp.Expr]:
    """`dow` and `d` of `extract(dow FROM d)`, `date_part('dow', d)` and `weekday(d)`."""
    if isinstance(call, exp.Extract):
        return call.name.lower(), call.expression
    arguments = call.expressions
    if call.name.lower() == "weekday" and arguments:
        return "weekday", arguments[0]
    if call.name.lower() in ("date_part", "datepart") and len(arguments) == 2:
        return arguments[0].name.lower() or "computed", arguments[1]
    return "", call


def translate_epochs(tree: exp.Expr) -> None:
    for call in found(tree, exp.Anonymous):
        if call.name.lower() == "epoch_us":
            (moment,) = call.expressions
            if kind_of(moment) != "timestamp":
                raise no_form(call.sql(dialect="duckdb"))
            put(call, in_spark("unix_micros(x)", x=moment), "whole")


def translate_moments(tree: exp.Expr) -> None:
    for name in found(tree, exp.Monthname, exp.Dayname):
        form = "MMMM" if isinstance(name, exp.Monthname) else "EEEE"
        put(name, in_spark(f"date_format(CAST(x AS DATE), '{form}')", x=name.this), "text")
    for seconds in found(tree, exp.UnixToTime):
        if seconds.args.get("scale") is not None:
            raise no_form("epoch_ms")
        put(seconds, in_spark("timestamp_seconds(x)", x=seconds.this), "timestamp")
    for made in found(tree, exp.TimestampFromParts):
        parts = [made.args.get(key) for key in ("year", "month", "day", "hour", "min", "sec")]
        texts = [
            exp.cast(p.copy(), "int") if at < 5 else p.copy() for at, p in enumerate(parts) if p
        ]
        if len(texts) != 6:
            raise no_form(made.sql(dialect="duckdb"))
        put(made, exp.func("make_timestamp_ntz", *texts, copy=False), "naive")
    for shown in found(tree, exp.TimeToStr):
        _show(shown)
    for read in found(tree, exp.StrToTime):
        pattern = "".join(piece for piece, _ in _java_patterns(read, _READ))
        text = exp.Literal.string(pattern)
        put(read, exp.func("to_timestamp_ntz", read.this.copy(), text), "naive")


def _show(shown: exp.TimeToStr) -> None:
    """Show the day and the hours apart: Spark moves hours that the session's time zone lacks."""
    kind = kind_of(shown.this)
    if kind not in ("date", "naive", "timestamp"):
        raise unknown_type(shown.this, shown)
    pieces = _java_patterns(shown, _SHOWN)
    if kind == "timestamp":
        pattern = exp.Literal.string("".join(pattern for pattern, _ in pieces))
        put(shown, in_spark("date_format(x, p)", x=shown.this, p=pattern), "text")
        return
    moment = exp.cast(shown.this.copy(), "timestamp_ntz", dialect="spark")
    texts = [
        in_spark(_HOURS_OF if is_hours else _DAY_OF, x=moment, p=exp.Literal.string(pattern))
        for pattern, is_hours in pieces
    ]
    parts = {f"part_{at}": text for at, text in enumerate(texts)}
    put(shown, in_spark(f"concat({', '.join(parts)})", **parts), "text")


_DAY_OF = "date_format(CAST(x AS DATE), p)"
_HOURS_OF = (
    "date_format(TIMESTAMP_NTZ'2000-01-15 00:00:00' + "
    "make_dt_interval(0, hour(x), minute(x), extract(SECOND FROM x)), p)"
)


def _java_patterns(node: exp.Expr, known: Mapping[str, str]) -> list[tuple[str, bool]]:
    """Return the patterns of Java for one such as `%Y-%m-%d %H`, and whether each has hours."""
    form, patterns, at = node.args["format"], [("", False)], 0
    if not form.is_string:
        raise no_form(f"{node.sql(dialect='duckdb')}, a computed pattern of a time,")
    for directive in _DIRECTIVE.finditer(form.name):
        if directive[1] not in known:
            raise no_form(f"{directive[0]} in a pattern of a time")
        is_hours = directive[1] in _HOUR_DIRECTIVES
        between = _LETTERS.sub(_quote, form.name[at : directive.start()])
        if is_hours == patterns[-1][1]:
            patterns[-1] = (patterns[-1][0] + between + known[directive[1]], is_hours)
        else:
            patterns.append((between + known[directive[1]], is_hours))
        at = directive.end()
    last, is_hours = patterns[-1]
    patterns[-1] = (last + _LETTERS.sub(_quote, form.name[at:]), is_hours)
    return [piece for piece in patterns if piece[0]] or [("", False)]


def _quote(letters: re.Match[str]) -> str:
    return "'" + letters[0].replace("'", "''") + "'"


def translate_zones(tree: exp.Expr) -> None:
    """`ts AT TIME ZONE 'Asia/Tokyo'`, which DuckDB stores as `timezone('Asia/Tokyo', ts)`."""
    for call in found(tree, exp.Anonymous):
        if call.name.lower() != "timezone":
            continue
        zone, moment = (*call.expressions, None, None)[:2]
        kind = kind_of(moment) if moment is not None else None
        if zone is None or moment is None or not (zone.is_string and _ZONE.fullmatch(zone.name)):
            raise no_form(f"{call.sql(dialect='duckdb')}, a computed time zone,")
        if kind is None:
            raise unknown_type(moment, call)
        if kind != "timestamp":
            raise no_form(
                f"AT TIME ZONE {zone.name} of a time without a time zone, which is not unique when "
                "clocks go back,"
            )
        template = (
            "TIMESTAMP_NTZ'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, "
            "CAST(unix_micros(from_utc_timestamp(x, z)) AS DECIMAL(24, 6)) / 1000000)"
        )
        put(call, in_spark(template, x=moment, z=zone), "naive")
