"""Charts as inline SVG. Colours come from the page's style sheet, so that they follow light and dark.

Series differ in dashes and markers too, not in colour alone; every chart says in words what it shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from scipy.special import betaincinv

__all__ = ["Series", "line_chart", "reliability_chart"]

_WIDTH, _HEIGHT = 400.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 14.0, 12.0, 44.0
_MOST_TICKS = 6

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """Points to join, under a name; ``style`` is a class of the style sheet, ``marked`` draws a dot at each point."""

    name: str
    style: str
    points: Sequence[Point]
    marked: bool = False
    joined: bool = True


def line_chart(series: Sequence[Series], x_label: str, y_label: str, description: str, log: bool = True) -> str:
    """Lines over a linear x axis and a logarithmic (or linear) y axis.

    Points that are not finite, or not positive on a logarithmic axis, are left out. The result is empty where no point
    is left.
    """
    drawn = [Series(s.name, s.style, [p for p in s.points if _visible(p, log)], s.marked, s.joined) for s in series]
    points = [point for s in drawn for point in s.points]
    if not points:
        return ""
    x_low, x_high = 0.0, max(max(x for x, _ in points), 1e-9)
    y_low, y_high = _padded([y for _, y in points], log)
    frame = _Frame(x_low, x_high, y_low, y_high, log)
    y_ticks = _log_ticks(y_low, y_high) if log else _ticks(y_low, y_high)
    parts = _axes(frame, _ticks(x_low, x_high), y_ticks, x_label, y_label, powers=log and y_high / y_low > 1e3)
    for s in drawn:
        places = [frame.place(point) for point in s.points]
        if s.joined and len(places) > 1:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(f'<polyline class="line {s.style}" points="{path}"/>')
        if s.marked or len(places) == 1:
            parts += [f'<circle class="dot {s.style}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in places]
    return _svg(parts, description)


def reliability_chart(rows: Sequence[tuple[float, float, int]], description: str) -> str:
    """Share of right answers (y) at a mean confidence (x), beside the diagonal where both agree.

    ``rows`` are (mean confidence, share right, answers). The area of a dot grows with the answers, and a bar through it
    is the 95 % confidence interval of the share (Clopper and Pearson's): a dot of four answers says little.
    """
    if not rows:
        return ""
    frame = _Frame(0.0, 1.0, 0.0, 1.0, False)
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
    parts = _axes(frame, ticks, ticks, "confidence", "share right")
    (x0, y0), (x1, y1) = frame.place((0.0, 0.0)), frame.place((1.0, 1.0))
    parts.append(f'<line class="diagonal" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>')
    most = max(count for _, _, count in rows)
    for mean, share, count in rows:
        right = round(share * count)
        low = float(betaincinv(right, count - right + 1, 0.025)) if right else 0.0
        high = float(betaincinv(right + 1, count - right, 0.975)) if right < count else 1.0
        x, y = frame.place((mean, share))
        bottom, top = frame.place((mean, low))[1], frame.place((mean, high))[1]
        parts.append(f'<line class="interval" x1="{x:.1f}" y1="{bottom:.1f}" x2="{x:.1f}" y2="{top:.1f}"/>')
        parts.append(f'<circle class="dot first" cx="{x:.1f}" cy="{y:.1f}" r="{3 + 5 * math.sqrt(count / most):.1f}"/>')
    return _svg(parts, description)


@dataclass(frozen=True)
class _Frame:
    x_low: float
    x_high: float
    y_low: float
    y_high: float
    log: bool

    def place(self, point: Point) -> Point:
        x, y = point
        bend = math.log10 if self.log else float
        across = (x - self.x_low) / (self.x_high - self.x_low)
        up = (bend(y) - bend(self.y_low)) / (bend(self.y_high) - bend(self.y_low))
        return _LEFT + across * (_WIDTH - _LEFT - _RIGHT), _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM)


def _visible(point: Point, log: bool) -> bool:
    return math.isfinite(point[0]) and math.isfinite(point[1]) and (not log or point[1] > 0)


def _padded(values: list[float], log: bool) -> tuple[float, float]:
    """The range of the values with a little air, never empty."""
    low, high = min(values), max(values)
    if log:
        air = 10 ** max(0.06 * (math.log10(high) - math.log10(low)), 0.01)
        return low / air, high * air
    air = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
    return low - air, high + air


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers, three to six of them."""
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    for factor in (1, 2, 5, 10, 20):
        first, last = math.ceil(low / (step * factor)), math.floor(high / (step * factor))
        if last - first < _MOST_TICKS:
            return [k * step * factor for k in range(first, last + 1)]
    return [low, high]


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, or where there are fewer than two of them, round numbers."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    if last - first < 1:
        return _ticks(low, high)
    every = math.ceil((last - first + 1) / _MOST_TICKS)
    return [10.0**k for k in range(first, last + 1, every)]


def _axes(
    frame: _Frame, x_ticks: list[float], y_ticks: list[float], x_label: str, y_label: str, powers: bool = False
) -> list[str]:
    parts = []
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for value in y_ticks:
        y = frame.place((frame.x_low, value))[1]
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="tick" text-anchor="end" x="{_LEFT - 7}" y="{y + 4:.1f}">{_shown(value, powers)}</text>'
        )
    for value in x_ticks:
        x = frame.place((value, frame.y_low))[0]
        parts.append(f'<line class="axis" x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 4}"/>')
        parts.append(f'<text class="tick" text-anchor="middle" x="{x:.1f}" y="{bottom + 18}">{_shown(value)}</text>')
    parts.append(f'<line class="axis" x1="{_LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>')
    middle = (_LEFT + right) / 2
    parts.append(f'<text class="name" text-anchor="middle" x="{middle}" y="{_HEIGHT - 6}">{escape(x_label)}</text>')
    across = (_TOP + bottom) / 2
    parts.append(
        f'<text class="name" text-anchor="middle" transform="rotate(-90)" x="{-across}" y="13">{escape(y_label)}</text>'
    )
    return parts


def _shown(value: float, powers: bool = False) -> str:
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e5 or size < 1e-2 or (powers and size != 1):
        power = math.floor(math.log10(size) + 1e-9)
        factor = value / 10.0**power
        lead = "" if abs(factor - 1) < 1e-9 else f"{factor:.3g}·"
        return f'{lead}10<tspan class="power" dy="-5">{str(power).replace("-", "−")}</tspan>'
    return f"{value:,.6g}" if size >= 1000 else f"{value:.4g}"


def _svg(parts: list[str], description: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(description)}">'
        f"<title>{escape(description)}</title>{''.join(parts)}</svg>"
    )
