"""Renders the facts of a lake as one HTML page."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ducklake_spark.catalog import Catalog
from ducklake_spark.catalog.usage import SIZE_CLASSES
from ducklake_spark.errors import ConfigError
from ducklake_spark.report import charts
from ducklake_spark.report.facts import LakeFacts, gather, small_files
from ducklake_spark.spec.sizes import size_text

# What the page shows at most; it says how many more there are.
_CAPS = {"tables": 100, "histograms": 6, "skews": 6, "partitions": 10, "history": 100}
_MOST_COLUMNS = 120


def write_report(catalog: Catalog, path: str | Path) -> Path:
    """Write the page; an existing file is replaced."""
    target = Path(path)
    page = render(gather(catalog))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"The report cannot be written to {target}: {error.strerror}.",
            hint="Name a file in a folder that can be written to.",
        ) from error
    return target


def render(facts: LakeFacts) -> str:
    """The page of a lake. Whatever names the lake has are text in it, never markup."""
    environment = Environment(
        loader=PackageLoader("ducklake_spark.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "size": size_text,
        "count": "{:,}".format,
        "amount": _amount,
        "moment": _moment,
    }
    return environment.get_template("page.html").render(
        lake=facts,
        caps=_CAPS,
        charts=charts,
        small_files=small_files,
        size_labels=_size_labels(),
        titles=_size_titles,
        activity=_activity(facts),
        growth=_growth(facts),
    )


def _amount(count: int) -> str:
    """A count for where there is little room."""
    if count < 10_000_000:
        return f"{count:,}"
    return f"{count / 1e6:,.1f} M" if count < 10**10 else f"{count / 1e9:,.1f} bn"


def _moment(time: datetime.datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"


def _size_labels() -> list[str]:
    ends = [size_text(end) for end in SIZE_CLASSES]
    return [*(f"< {end}" for end in ends), f"≥ {ends[-1]}"]


def _size_titles(counts: Sequence[int]) -> list[str]:
    return [f"{label}: {count:,}" for label, count in zip(_size_labels(), counts, strict=True)]


@dataclass(frozen=True, slots=True)
class _Activity:
    """Snapshots by day, or by as many days at once as it takes to see something."""

    chart: Markup
    highest: int
    span: str


def _activity(facts: LakeFacts) -> _Activity:
    span = max(-(-len(facts.days) // _MOST_COLUMNS), 1)
    chunks = [facts.days[at : at + span] for at in range(0, len(facts.days), span)]
    values = [sum(count for _, count in chunk) for chunk in chunks]
    titles = [
        f"{chunk[0][0]}{f' to {chunk[-1][0]}' if span > 1 else ''}: {value:,}"
        for chunk, value in zip(chunks, values, strict=True)
    ]
    chart = charts.columns(values, titles, f"Snapshots over time, {facts.snapshots:,} in all")
    return _Activity(chart, max(values), "a day" if span == 1 else f"{span} days")


def _growth(facts: LakeFacts) -> Markup:
    # Clocks differ: a newer snapshot may have an earlier time, and the line never goes back.
    times = accumulate((time for time, _ in facts.usage.growth), max)
    growth = [(time, size) for time, (_, size) in zip(times, facts.usage.growth, strict=True)]
    first, last = growth[0][0], growth[-1][0]
    length = (last - first).total_seconds() or 1.0
    points = [((time - first).total_seconds() / length, float(size)) for time, size in growth]
    return charts.area(points, f"Size of the data over time, now {size_text(growth[-1][1])}")
