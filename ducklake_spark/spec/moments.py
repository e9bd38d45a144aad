"""Points in time as a person names them: a moment, or how long ago (`7 days`, `24h`)."""

from __future__ import annotations

import datetime
import re

from ducklake_spark.errors import ConfigError

Moment = datetime.datetime | datetime.date | datetime.timedelta | str

_UNITS: dict[str, datetime.timedelta] = {
    name: unit
    for names, unit in (
        ("us microsecond microseconds", datetime.timedelta(microseconds=1)),
        ("ms millisecond milliseconds", datetime.timedelta(milliseconds=1)),
        ("s sec secs second seconds", datetime.timedelta(seconds=1)),
        ("m min mins minute minutes", datetime.timedelta(minutes=1)),
        ("h hr hrs hour hours", datetime.timedelta(hours=1)),
        ("d day days", datetime.timedelta(days=1)),
        ("w week weeks", datetime.timedelta(weeks=1)),
    )
    for name in names.split()
}
_MONTHS = {
    name: months
    for names, months in (
        ("mon mons month months", 1),
        ("quarter quarters", 3),
        ("y year years", 12),
        ("decade decades", 120),
        ("century centuries", 1_200),
        ("millennium millennia", 12_000),
    )
    for name in names.split()
}
_PART = re.compile(
    rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(sorted({*_UNITS, *_MONTHS}, key=len, reverse=True))})",
    re.IGNORECASE,
)
# What is less than a day, as DuckDB prints it. Without seconds it would look like a time of day.
_CLOCK = re.compile(r"\s*(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)\s*$")
_DURATION = re.compile(
    rf"(?=.*\S)(?:{_PART.pattern}(?![a-z]))*(?:{_CLOCK.pattern})?\s*", re.IGNORECASE
)
_EARLIEST = datetime.datetime.min.replace(tzinfo=datetime.UTC)


def is_duration(text: str) -> bool:
    """Whether a text is a duration as DuckDB writes one."""
    return _DURATION.fullmatch(text) is not None


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def moment_of(
    value: Moment, *, now: datetime.datetime, zone: datetime.tzinfo = datetime.UTC
) -> datetime.datetime:
    """The point in time that a value names; a duration counts back from now.

    `zone` is that of times that do not say theirs.
    """
    try:
        return _moment(value, now, zone)
    except OverflowError:
        return _EARLIEST
    except ValueError as error:
        raise ConfigError(
            f"{value!r} is neither a duration nor a point in time.",
            hint="Write it like one of these: 7 days, 24h, 1 week, 2026-01-31, "
            "2026-01-31 18:00:00+01:00.",
        ) from error


def _moment(value: Moment, now: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
    match value:
        case datetime.datetime():
            moment = value
        case datetime.date():
            moment = datetime.datetime(value.year, value.month, value.day)
        case datetime.timedelta() if value < datetime.timedelta():
            raise ValueError("a duration that is less than nothing")
        case datetime.timedelta():
            return now - value
        case _ if is_duration(value):
            return _before(now, value)
        case _:
            moment = datetime.datetime.fromisoformat(value.strip())
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)


def _before(now: datetime.datetime, duration: str) -> datetime.datetime:
    """Months first and as the calendar has them, as DuckDB does."""
    months = 0.0
    rest = datetime.timedelta()
    for count, unit in _PART.findall(duration):
        if unit.lower() in _MONTHS:
            months += float(count) * _MONTHS[unit.lower()]
        else:
            rest += float(count) * _UNITS[unit.lower()]
    if clock := _CLOCK.search(duration):
        hours, minutes, seconds = map(float, clock.groups())
        rest += datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    rest += datetime.timedelta(days=30) * (months % 1)
    return _months_before(now, int(months)) - rest


def _months_before(now: datetime.datetime, months: int) -> datetime.datetime:
    year, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    if year < datetime.MINYEAR:
        raise OverflowError
    first_of_next = datetime.date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last_day = (first_of_next - datetime.timedelta(days=1)).day
    return now.replace(year=year, month=month + 1, day=min(now.day, last_day))
