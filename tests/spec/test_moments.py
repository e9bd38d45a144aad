"""Durations and points in time as people write them."""

from __future__ import annotations

import datetime

import pytest

from ducklake_spark.errors import ConfigError
from ducklake_spark.spec.moments import Moment, is_duration, moment_of

_NOW = datetime.datetime(2026, 3, 31, 12, tzinfo=datetime.UTC)
_BERLIN = datetime.timezone(datetime.timedelta(hours=1))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7 days", "2026-03-24T12:00:00+00:00"),
        ("24h", "2026-03-30T12:00:00+00:00"),
        ("1 week", "2026-03-24T12:00:00+00:00"),
        ("1h30m", "2026-03-31T10:30:00+00:00"),
        ("90 MINUTES", "2026-03-31T10:30:00+00:00"),
        ("1.5 days", "2026-03-30T00:00:00+00:00"),
        ("1 month", "2026-02-28T12:00:00+00:00"),
        ("1 month 2 days", "2026-02-26T12:00:00+00:00"),
        ("13 months", "2025-02-28T12:00:00+00:00"),
        ("1 year", "2025-03-31T12:00:00+00:00"),
        ("24:00:00", "2026-03-30T12:00:00+00:00"),
        ("1 day 02:00:01.5", "2026-03-30T09:59:58.500000+00:00"),
        ("2 decades", "2006-03-31T12:00:00+00:00"),
        ("0 seconds", "2026-03-31T12:00:00+00:00"),
        ("999999 years", "0001-01-01T00:00:00+00:00"),
        ("99999999999 weeks", "0001-01-01T00:00:00+00:00"),
        ("2026-01-31", "2026-01-31T00:00:00+01:00"),
        ("2026-01-31 18:00:00", "2026-01-31T18:00:00+01:00"),
        ("2026-01-31 18:00:00+00", "2026-01-31T18:00:00+00:00"),
        ("2026-01-31T18:00:00Z", "2026-01-31T18:00:00+00:00"),
        (datetime.timedelta(days=1), "2026-03-30T12:00:00+00:00"),
        (datetime.date(2026, 1, 31), "2026-01-31T00:00:00+01:00"),
        (datetime.datetime(2026, 1, 31), "2026-01-31T00:00:00+01:00"),
        (_NOW, "2026-03-31T12:00:00+00:00"),
    ],
)
def test_moments(value: Moment, expected: str) -> None:
    assert moment_of(value, now=_NOW, zone=_BERLIN).isoformat() == expected


@pytest.mark.parametrize(
    "text",
    ["", "soon", "7", "7 dayz", "-7 days", "1 mo", "last week", "2026-13-01", "12:00", "days"],
)
def test_nonsense_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ConfigError, match=r"7 days, 24h, 1 week, 2026-01-31"):
        moment_of(text, now=_NOW)
    assert not is_duration(text)


def test_a_negative_duration_is_none() -> None:
    with pytest.raises(ConfigError, match=r"7 days, 24h"):  # it would lie in the future
        moment_of(datetime.timedelta(days=-7), now=_NOW)
