"""Dates, times and intervals as whole numbers, and DuckDB's text of them.

Python's datetime ends at the year 9999 and knows neither infinity, 24:00:00 nor BC; DuckDB does.
"""

from __future__ import annotations

import re

SECONDS_PER_DAY = 86_400
MICROS = 1_000_000
DATE_INFINITY = 2**31 - 1
INFINITY = 2**63 - 1  # of every timestamp type, in its own unit

_CLOCK = r"(\d{1,3}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?"
_ZONE = r"(Z|UTC|[+-]\d{2}(?::?\d{2}(?::?\d{2})?)?)"
_DATE_TEXT = re.compile(r"(-?\d{1,7})-(\d{1,2})-(\d{1,2})( \(BC\))?", re.ASCII)
_TIME_TEXT = re.compile(_CLOCK, re.ASCII)
_TIMETZ_TEXT = re.compile(rf"({_CLOCK}) ?{_ZONE}?", re.ASCII)
_TIMESTAMP_TEXT = re.compile(rf"([^ T]+(?: \(BC\))?)(?:[ T]({_CLOCK})(?: ?{_ZONE})?)?", re.ASCII)
_INTERVAL_WORD = re.compile(
    r"([+-]?\d+) (year|month|mon|day|microsecond)s?|([+-]?)(\d+:\d{2}:\d{2}(?:\.\d{1,6})?)",
    re.ASCII,
)
_INFINITIES = {"infinity": 1, "inf": 1, "-infinity": -1, "-inf": -1}
_MONTHS_PER = {"year": 12, "mon": 1, "month": 1}


def civil_from_days(days: int) -> tuple[int, int, int]:
    """The proleptic Gregorian year, month and day; the year before 1 is 0 (1 BC)."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    # Years counted from March, so that the leap day is the last of its year.
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    return era * 400 + year_of_era + (month <= 2), month, day


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01. Raises ValueError if there is no such day."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        raise ValueError(f"no such day: {year}-{month}-{day}")
    era, year_of_era = divmod(year - (month <= 2), 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days = era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100
    days += day_of_year - 719_468
    if civil_from_days(days) != (year, month, day):
        raise ValueError(f"no such day: {year}-{month}-{day}")
    return days


def format_date(days: int) -> str:
    if abs(days) >= DATE_INFINITY:
        return "infinity" if days > 0 else "-infinity"
    year, month, day = civil_from_days(days)
    if year <= 0:
        return f"{1 - year:04d}-{month:02d}-{day:02d} (BC)"
    return f"{year:04d}-{month:02d}-{day:02d}"


def parse_date(text: str) -> int:
    sign = _INFINITIES.get(text.lower())
    if sign is not None:
        return sign * DATE_INFINITY
    match = _DATE_TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"not a date: {text!r}")
    year, month, day = (int(part) for part in match.groups()[:3])
    if match[4]:
        year = 1 - year
    days = days_from_civil(year, month, day)
    if abs(days) >= DATE_INFINITY:
        raise ValueError(f"date out of range: {text!r}")
    return days


def format_time(ticks: int, per_second: int) -> str:
    """``HH:MM:SS[.fraction]`` of a number of ticks; trailing zeros of the fraction are dropped."""
    seconds, fraction = divmod(ticks, per_second)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    text = f"{hour:02d}:{minute:02d}:{second:02d}"
    if fraction:
        digits = len(str(per_second)) - 1
        text += "." + f"{fraction:0{digits}d}".rstrip("0")
    return text


def parse_time(text: str, per_second: int) -> int:
    """Ticks since midnight; at most 24:00:00."""
    ticks = _parse_clock(text, per_second)
    if ticks > SECONDS_PER_DAY * per_second:
        raise ValueError(f"time out of range: {text!r}")
    return ticks


def _parse_clock(text: str, per_second: int) -> int:
    match = _TIME_TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"not a time: {text!r}")
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if minute > 59 or second > 59:
        raise ValueError(f"not a time: {text!r}")
    ticks, rest = divmod(int((match[4] or "").ljust(9, "0")) * per_second, 10**9)
    if rest:
        raise ValueError(f"more digits than the type holds: {text!r}")
    return (hour * 3_600 + minute * 60 + second) * per_second + ticks


def _parse_offset(text: str | None) -> int:
    """Seconds east of UTC of ``+05:30``, ``-03``, ``Z`` or nothing."""
    if text is None or text in ("Z", "UTC"):
        return 0
    digits = text[1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3_600 + int(digits[2:4]) * 60 + int(digits[4:])
    return -seconds if text[0] == "-" else seconds


def format_timetz(micros: int, offset: int) -> str:
    minutes, second = divmod(abs(offset), 60)
    hour, minute = divmod(minutes, 60)
    text = f"{format_time(micros, MICROS)}{'-' if offset < 0 else '+'}{hour:02d}"
    if minute or second:
        text += f":{minute:02d}"
    return f"{text}:{second:02d}" if second else text


def parse_timetz(text: str) -> tuple[int, int]:
    """Microseconds of the local time, and seconds east of UTC."""
    match = _TIMETZ_TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"not a time with time zone: {text!r}")
    return parse_time(match[1], MICROS), _parse_offset(match[6])


def format_timestamp(ticks: int, per_second: int) -> str:
    if abs(ticks) >= INFINITY:
        return "infinity" if ticks > 0 else "-infinity"
    days, rest = divmod(ticks, SECONDS_PER_DAY * per_second)
    return f"{format_date(days)} {format_time(rest, per_second)}"


def parse_timestamp(text: str, per_second: int, *, zoned: bool = False) -> int:
    """Ticks since 1970-01-01, in UTC if `zoned`; a text without zone is UTC then."""
    sign = _INFINITIES.get(text.lower())
    if sign is not None:
        return sign * INFINITY
    match = _TIMESTAMP_TEXT.fullmatch(text)
    if match is None or (match[7] and not zoned) or match[1].lower() in _INFINITIES:
        raise ValueError(f"not a timestamp: {text!r}")
    seconds = parse_date(match[1]) * SECONDS_PER_DAY - _parse_offset(match[7])
    ticks = seconds * per_second + (parse_time(match[2], per_second) if match[2] else 0)
    if abs(ticks) >= INFINITY:
        raise ValueError(f"timestamp out of range: {text!r}")
    return ticks


def lacks_zone(text: str) -> bool:
    """Check for a finite timestamp that does not say its time zone."""
    match = _TIMESTAMP_TEXT.fullmatch(text)
    return match is not None and not match[7] and match[1].lower() not in _INFINITIES


def format_interval(months: int, days: int, micros: int) -> str:
    sign = -1 if months < 0 else 1
    years, rest = divmod(abs(months), 12)
    counts = ((sign * years, "year"), (sign * rest, "month"), (days, "day"))
    words = [f"{n} {unit}{'' if abs(n) == 1 else 's'}" for n, unit in counts if n]
    if micros or not words:
        words.append(("-" if micros < 0 else "") + format_time(abs(micros), MICROS))
    return " ".join(words)


def parse_interval(text: str) -> tuple[int, int, int]:
    """Months, days and microseconds, from DuckDB's or PostgreSQL's text."""
    months = days = micros = 0
    for word in _interval_words(text):
        if word[4]:
            clock = _parse_long_clock(word[4])
            micros += -clock if word[3] == "-" else clock
        elif word[2] == "day":
            days += int(word[1])
        elif word[2] == "microsecond":
            micros += int(word[1])
        else:
            months += int(word[1]) * _MONTHS_PER[word[2]]
    return months, days, micros


def _interval_words(text: str) -> list[re.Match[str]]:
    words, at = [], 0
    while True:
        word = _INTERVAL_WORD.match(text, at)
        if word is None:
            raise ValueError(f"not an interval: {text!r}")
        words.append(word)
        at = word.end() + 1
        if at > len(text):
            return words
        if text[at - 1] != " ":
            raise ValueError(f"not an interval: {text!r}")


def _parse_long_clock(text: str) -> int:
    # An interval's hours know no limit.
    hours, _, rest = text.partition(":")
    return int(hours) * 3_600 * MICROS + _parse_clock(f"00:{rest}", MICROS)
