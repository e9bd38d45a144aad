"""Days and times: the units that are counted, zones, and the patterns of their texts."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import UnsupportedError

from ducklake_spark.sql.column_types import kind_of
from ducklake_spark.sql.retelling import found, replace, said

_UNITS = {"MM": "MONTH", "MON": "MONTH", "YY": "YEAR", "YYYY": "YEAR", "DD": "DAY"}
_WEEK_DAYS = ("DOW", "DAYOFWEEK")
_ISO_WEEK_DAYS = ("DOW_ISO", "DAYOFWEEK_ISO")
_DATE_UNITS = {"DAY", "WEEK", "MONTH", "QUARTER", "YEAR"}
_TIMES = {"date", "timestamp", "naive"}
# Units of a length that is always the same, so that whole ones are counted alike.
_LENGTHS = {"MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK"}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_LONGEST = 31 * 24 * 60 * 60 * 1_000_000  # a month, in microseconds
# What sqlglot makes of Spark's letters; the other letters have no form.
_WRITTEN = re.compile(r"%-?[YmdHIMSpBbaAyf](?:strict)?|[^%A-Za-z]")
_READ = re.compile(r"%-?[YmdHIMSpbB](?:strict)?|[^%A-Za-z]")
_SECONDS = re.compile(r"^SECONDS?$", re.IGNORECASE)


def week_days(tree: exp.Expr) -> None:
    """Spark's week has the days 1 to 7 from Sunday, or 0 to 6 from Monday; DuckDB's 0 to 6."""
    for day in found(tree, exp.DayOfWeek):
        replace(day, exp.paren(exp.Add(this=day.copy(), expression=exp.Literal.number(1))))
    for call in found(tree, exp.Anonymous):
        if call.name.lower() == "weekday" and len(call.expressions) == 1:
            replace(call, said("(ISODOW(a) - 1)", a=call.expressions[0]))
    for part in found(tree, exp.Extract):
        if part.this.name.upper() in _WEEK_DAYS:
            replace(part, exp.paren(exp.Add(this=part.copy(), expression=exp.Literal.number(1))))
        elif part.this.name.upper() in _ISO_WEEK_DAYS:
            replace(part, exp.DayOfWeekIso(this=part.expression))
        elif kind_of(part.expression) == "timestamp" and not _SECONDS.match(part.this.name):
            part.set("expression", said("CAST(a AS TIMESTAMP)", a=part.expression))
        elif _SECONDS.match(part.this.name):
            seconds = (
                "CAST(EXTRACT(MICROSECONDS FROM CAST(a AS TIMESTAMP)) / 1000000 AS DECIMAL(8, 6))"
            )
            replace(part, said(seconds, a=part.expression))


def names(tree: exp.Expr) -> None:
    """Of days and months, short in Spark."""
    for kind, form in ((exp.Dayname, "%a"), (exp.Monthname, "%b")):
        for name in found(tree, kind):
            replace(name, said(f"STRFTIME(CAST(a AS TIMESTAMP), '{form}')", a=name.this))


def dates(tree: exp.Expr) -> None:
    """Days added to a date make a date in Spark, and a timestamp in DuckDB."""
    for added in found(tree, exp.TsOrDsAdd, exp.AddMonths, exp.DateTrunc, exp.DateFromUnixDate):
        _cast_to(added, "date")
    for cut in found(tree, exp.DateTrunc, exp.TimestampTrunc):
        unit = cut.args["unit"]
        unit.set("this", _UNITS.get(unit.name.upper(), unit.name))
        if isinstance(cut, exp.TimestampTrunc) and kind_of(cut.this) in ("date", "naive"):
            _cast_to(cut, "timestamptz")
    for made in found(tree, exp.TimestampFromParts):
        _cast_to(made, "timestamptz")
    for moved in found(tree, exp.TimestampAdd):
        if kind_of(moved.this) == "text":  # Spark reads it as a time
            moved.set("this", said("CAST(a AS TIMESTAMPTZ)", a=moved.this))
        elif kind_of(moved.this) not in _TIMES:
            raise UnsupportedError("Nobody knows here whether this is added to a time.")
        if kind_of(moved.this) == "date":
            _cast_to(moved, "timestamptz")
    for term in found(tree, exp.Add, exp.Sub):
        _term(term)


def _term(term: exp.Binary) -> None:
    kinds = [kind_of(side) for side in (term.this, term.expression)]
    if isinstance(term, exp.Sub) and kinds == ["date", "date"]:
        raise UnsupportedError("The days between two dates are a number there; use datediff.")
    spans = [side for side in (term.this, term.expression) if _is_span(side)]
    if not spans or kinds == ["interval", "interval"]:
        return
    others = [kind for side, kind in zip((term.this, term.expression), kinds, strict=True)
              if side is not spans[0]]  # fmt: skip
    if others[0] == "date" and (units := _units(spans[0])):
        _cast_to(term, "date" if units <= _DATE_UNITS else "timestamptz")
    elif others[0] not in ("timestamp", "naive"):
        raise UnsupportedError("Nobody knows here what this interval is added to, or its units.")


def _is_span(value: exp.Expr) -> bool:
    return (
        isinstance(value.unnest(), exp.Interval | exp.MakeInterval) or kind_of(value) == "interval"
    )


def _units(span: exp.Expr) -> set[str]:
    span = span.unnest()
    if not isinstance(span, exp.Interval) or not isinstance(span.args.get("unit"), exp.Var):
        return set()
    return {span.args["unit"].name.upper().removesuffix("S")}


def _cast_to(value: exp.Expr, kind: str) -> None:
    held = exp.Cast(this=value.copy(), to=exp.DataType.build(kind))
    held.meta["ours"] = True
    value.replace(held)
    held.type = exp.DataType.build(kind)


def differences(tree: exp.Expr) -> None:
    """Spark counts whole units between the times on the clock, DuckDB the borders crossed."""
    for between in found(tree, exp.DateDiff, exp.TimestampDiff):
        unit = between.args.get("unit")
        if unit is None:
            continue  # days between two dates
        later, earlier = (_clock(side) for side in (between.this, between.expression))
        name = unit.name.upper()
        if name in _LENGTHS:
            replace(between, said(f"DATE_SUB('{name}', a, b)", a=earlier, b=later))
        elif name in _MONTHS:
            replace(between, _months(earlier, later, _MONTHS[name]))
        else:
            raise UnsupportedError(f"It counts no {name.lower()}, or not so.")
    for months in found(tree, exp.MonthsBetween):
        if {kind_of(months.this), kind_of(months.expression)} - {"date"}:
            raise UnsupportedError("Its months are those between two dates.")
        replace(months, said("ROUND(a, 8)", a=months.copy()))


def _clock(value: exp.Expr) -> exp.Expr:
    value = value.this if isinstance(value, exp.TsOrDsToDate) else value
    kind = kind_of(value)
    if kind in _TIMES:
        return said("CAST(a AS TIMESTAMP)", a=value)
    return said("CAST(CAST(a AS TIMESTAMPTZ) AS TIMESTAMP)", a=value)


def _months(earlier: exp.Expr, later: exp.Expr, of: int) -> exp.Expr:
    """Whole months; of January the 31st to the last of February DuckDB makes one, Spark none."""
    # A day and a time within a month, as a number that grows by less than the one of the month.
    place = (
        f"(YEAR({{0}}) * 12 + MONTH({{0}})) * {_LONGEST} "
        "+ EPOCH_US({0}) - EPOCH_US(DATE_TRUNC('MONTH', {0}))"
    )
    months = f"((({place.format('b')}) - ({place.format('a')})) // {of * _LONGEST})"
    return said(months, a=earlier, b=later)


def zones(tree: exp.Expr) -> None:
    """The clock of a zone shown as if it were that of UTC, and back."""
    for shown in found(tree, exp.AtTimeZone):
        there = "a AT TIME ZONE z AT TIME ZONE 'UTC'"
        replace(shown, said(there, a=_instant(shown.this), z=shown.args["zone"]))
    for meant in found(tree, exp.FromTimeZone):
        here = "a AT TIME ZONE 'UTC' AT TIME ZONE z"
        replace(meant, said(here, a=_instant(meant.this), z=meant.args["zone"]))
    for turned in found(tree, exp.ConvertTimezone):
        is_naive = kind_of(turned.args["timestamp"]) == "naive"
        if turned.args.get("source_tz") is None or not is_naive:
            raise UnsupportedError("Its convert_timezone counts from another zone.")


def _instant(value: exp.Expr) -> exp.Expr:
    inner = value.this if isinstance(value, exp.Cast) else value
    return said("CAST(a AS TIMESTAMPTZ)", a=inner)


def seconds(tree: exp.Expr) -> None:
    """Seconds since 1970: unix_seconds goes down to whole ones, unix_timestamp towards 1970."""
    for count in found(tree, exp.UnixSeconds):
        replace(count, said("CAST(FLOOR(EPOCH_US(a) / 1000000) AS BIGINT)", a=count.this))
    for since in found(tree, exp.StrToUnix):
        kind, value = kind_of(since.this), since.this
        if isinstance(value, exp.CurrentTimestamp) or kind in _TIMES:
            instant = said("CAST(a AS TIMESTAMPTZ)", a=value)
        elif kind == "text":
            instant = _read(value, since.args.get("format"))
        else:
            raise UnsupportedError("Nobody knows here whether unix_timestamp is given a text.")
        replace(since, said("(EPOCH_US(a) // 1000000)", a=instant))


def patterns(tree: exp.Expr) -> None:
    """Spark's patterns have letters that strftime has no form for."""
    for read in found(tree, exp.TsOrDsToDate):
        if isinstance(read.parent, exp.DateDiff | exp.TsOrDsDiff):
            continue
        form = read.args.get("format")
        if form is None:
            replace(read, exp.Cast(this=read.this, to=exp.DataType.build("date")))
        else:
            replace(read, said("CAST(a AS DATE)", a=_read(read.this, form)))
    for text in found(tree, exp.StrToTime, exp.StrToDate):
        instant = _read(text.this, text.args.get("format"))
        is_day = isinstance(text, exp.StrToDate)
        replace(text, said("CAST(a AS DATE)", a=instant) if is_day else instant)
    for written in found(tree, exp.TimeToStr, exp.UnixToStr):
        form = written.args.get("format")
        written.set("format", exp.Literal.string(_pattern(form, _WRITTEN)))


def _read(text: exp.Expr, form: exp.Expr | None) -> exp.Expr:
    pattern = _pattern(form, _READ)
    if "%Y" not in pattern:
        raise UnsupportedError("A time without a year starts in another year there.")
    form = exp.Literal.string(pattern)
    return said("CAST(STRPTIME(a, f) AS TIMESTAMPTZ)", a=text, f=form)


def _pattern(form: exp.Expr | None, known: re.Pattern[str]) -> str:
    """A pattern with its quoted texts written out; SSS and SSSSSS have forms when written."""
    if form is None or not form.is_string:
        raise UnsupportedError("A pattern that is not written out has no form there.")
    parts = form.name.split("'")
    if len(parts) % 2 == 0 or "" in parts[1:-1] or any("%" in part for part in parts[1::2]):
        raise UnsupportedError(f"The pattern {form.name!r} has no form there.")
    for at in range(0, len(parts), 2):
        plain = parts[at]
        if known is _WRITTEN:
            plain = re.sub(r"(?<!S)SSS(?!S)", "", re.sub(r"(?<!S)S{6}(?!S)", "", plain))
        if known.sub("", plain) or re.search(r"%-?[yY]%-?[yY]", plain):
            raise UnsupportedError(f"The pattern {form.name!r} has a letter without a form there.")
        parts[at] = re.sub(r"SSS", "%g", re.sub(r"S{6}", "%f", parts[at].replace("strict", "")))
    return "".join(parts)
