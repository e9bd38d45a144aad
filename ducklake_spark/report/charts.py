"""Charts as SVG: shapes only, stretched to whatever room there is; words are the page's.

Colours come from the page's style sheet. What a shape stands for is its title, which browsers
show and screen readers read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

_HEIGHT = 100
# More shapes than that no screen can show.
_MOST = 400


def columns(values: Sequence[int], titles: Sequence[str], label: str) -> Markup:
    """Upright bars, one for each value."""
    highest = max(values, default=0) or 1
    gap = 0.18
    bars = [
        _rect(
            at + gap / 2,
            _HEIGHT - _seen(value, highest),
            1 - gap,
            _seen(value, highest),
            f"{title}",
        )
        for at, (value, title) in enumerate(zip(values, titles, strict=True))
        if value
    ]
    return _svg(len(values) or 1, _HEIGHT, label, bars)


def _seen(value: int, highest: int) -> float:
    """The height of a bar; what is there at all can be seen."""
    return max(round(_HEIGHT * value / highest, 2), 1.5)


def area(points: Sequence[tuple[float, float]], label: str) -> Markup:
    """A line in steps with what is below it filled: x goes from 0 to 1, y is what it is."""
    shown = _thinned(points)
    highest = max((y for _, y in shown), default=0) or 1
    path: list[str] = []
    before = 0.0
    x = 0.0
    for place, y in shown:
        x = min(max(x, place), 1.0)  # clocks may have run backwards
        height = round(_HEIGHT * (1 - y / highest), 2)
        if path:
            path.append(f"L{x * 1000:.1f} {before}")
        path.append(f"{'L' if path else 'M'}{x * 1000:.1f} {height}")
        before = height
    if not path:
        return _svg(1000, _HEIGHT, label, [])
    line = " ".join([*path, f"L1000 {before}"])
    start = shown[0][0] * 1000
    return _svg(
        1000,
        _HEIGHT,
        label,
        [
            Markup('<path class="fill" d="{} L1000 {} L{:.1f} {} Z"/>').format(
                line, _HEIGHT, start, _HEIGHT
            ),
            Markup('<path class="line" d="{}"/>').format(line),
        ],
    )


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """At most so many points, evenly chosen, with the last one among them."""
    if len(points) <= _MOST:
        return points
    step = (len(points) - 1) / (_MOST - 1)
    return [points[round(at * step)] for at in range(_MOST)]


def share(part: float, label: str, kind: str = "") -> Markup:
    """A bar that is filled by a part of it, from 0 to 1."""
    width = min(max(round(100 * part, 2), 0.0), 100.0)
    shapes = [Markup('<rect class="track" width="100" height="10" rx="0"/>')]
    if part > 0:
        shapes.append(Markup('<rect width="{}" height="10"/>').format(max(width, 1.0)))
    return _svg(100, 10, label, shapes, f"share {kind}".strip())


def _rect(x: float, y: float, width: float, height: float, title: str) -> Markup:
    return Markup(
        '<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"><title>{}</title></rect>'
    ).format(x, y, width, height, title)


def _svg(
    width: float, height: float, label: str, shapes: Iterable[Markup], kind: str = ""
) -> Markup:
    return Markup(
        '<svg class="{}" role="img" aria-label="{}" viewBox="0 0 {} {}" '
        'preserveAspectRatio="none">{}</svg>'
    ).format(kind or "chart", escape(label), width, height, Markup("").join(shapes))
