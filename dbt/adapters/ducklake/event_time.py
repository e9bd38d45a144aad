"""The rows of a span of time, whatever type the column has that says when they happened."""

from __future__ import annotations

import datetime

# The farthest that a session's time zone is from UTC, and what is left of the last day.
_SLACK = datetime.timedelta(days=1)


def within(
    column: str, start: datetime.datetime | None, end: datetime.datetime | None
) -> list[str]:
    """Conditions for the rows from `start` on and before `end`, which dbt counts in UTC.

    Dates and timestamps without a zone are taken to be in UTC as well. To compare them with a
    moment, Spark would take them to be in the session's zone, and rows of the first and last hours
    would go to another batch, or be lost.
    """
    moments = [(op, moment) for op, moment in ((">=", start), ("<", end)) if moment is not None]
    if not moments:
        return []
    zoned = [f"{column} {op} timestamp'{moment}'" for op, moment in moments]
    plain = [f"{column} {op} timestamp_ntz'{_in_utc(moment)}'" for op, moment in moments]
    return [
        # Wider by a day, and constants of a type that files are left out by in every zone.
        *(f"{column} {op} date'{_day_beyond(op, moment)}'" for op, moment in moments),
        f"(typeof({column}) = 'timestamp' and {' and '.join(zoned)}"
        f" or typeof({column}) <> 'timestamp' and {' and '.join(plain)})",
    ]


def _in_utc(moment: datetime.datetime) -> datetime.datetime:
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(datetime.UTC).replace(tzinfo=None)


def _day_beyond(operator: str, moment: datetime.datetime) -> datetime.date:
    day = _in_utc(moment).date()
    return day - _SLACK if operator == ">=" else day + 2 * _SLACK
