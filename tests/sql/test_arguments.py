"""Arguments of procedures: times in the session's zone, as Spark spells it."""

from __future__ import annotations

import datetime

import pytest

from ducklake_spark.errors import ConfigError
from ducklake_spark.spec.moments import Moment
from ducklake_spark.sql.arguments import Given, Signature


def expire(*, older_than: Moment) -> list[Given]:
    """A procedure as far as its signature goes."""
    return []


@pytest.mark.parametrize(
    ("zone", "hour"),
    [
        ("UTC", 12),
        ("Z", 12),
        ("Asia/Kolkata", 6),
        ("+02:00", 10),
        ("GMT+2", 10),
        ("UTC+02:00", 10),
        ("UT-1", 13),
        ("-8", 20),
        ("+0230", 9),
    ],
)
def test_a_time_is_read_in_the_zone_of_the_session(zone: str, hour: int) -> None:
    given = Given((), {"older_than": "2024-01-15 12:00:00"})
    found = Signature.of(expire).bound(given, zone)["older_than"]
    assert found.astimezone(datetime.UTC).hour == hour


@pytest.mark.parametrize("zone", ["PST", "GMT+", "Mars/Olympus"])
def test_a_zone_that_nobody_knows_is_named(zone: str) -> None:
    given = Given((), {"older_than": "2024-01-15 12:00:00"})
    with pytest.raises(ConfigError, match=f"time zone, '{zone.replace('+', '.')}'.*offset"):
        Signature.of(expire).bound(given, zone)
