"""How limited trials are drawn: hollow, with a legend that says what limited them."""

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.typing import ColorType

from stevec_report import plot_style
from stevec_report.measures import Point


def unlimited(values: Iterable[float]) -> list[Point]:
    """The points of values that nothing limited, such as the study's."""
    return [(value, None) for value in values]


def label(points: Iterable[Point]) -> str | None:
    """The legend of the hollow points: `limited: generator, queue`; None if there are none."""
    names = sorted({name for _, name in points if name})
    return f"limited: {', '.join(names)}" if names else None


def scatter(axes: Axes, at: Iterable[float], points: Iterable[Point], colour: ColorType, **style: Any) -> None:
    """Draw points at the places `at`, hollow where a trial was limited. `style` is passed to `Axes.scatter`."""
    _scatter(axes, [((x, value), limit) for x, (value, limit) in zip(at, points, strict=True)], colour, style)


def scatter_across(axes: Axes, rows: Iterable[float], points: Iterable[Point], colour: ColorType, **style: Any) -> None:
    """As `scatter`, with the values to the right, at the heights `rows`."""
    _scatter(axes, [((value, row), limit) for row, (value, limit) in zip(rows, points, strict=True)], colour, style)


def _scatter(
    axes: Axes, placed: list[tuple[tuple[float, float], str | None]], colour: ColorType, style: dict[str, Any]
) -> None:
    for is_limited, look in ((False, _filled(colour)), (True, hollow(colour))):
        own = [place for place, limit in placed if (limit is not None) == is_limited]
        if own:
            axes.scatter(*zip(*own, strict=True), zorder=3, **look | style)


def _filled(colour: ColorType) -> dict[str, Any]:
    return {"color": colour, "edgecolor": plot_style.PAPER, "linewidth": 0.6}


def hollow(colour: ColorType = plot_style.MUTED) -> dict[str, Any]:
    """The look of a hollow point of `Axes.scatter`."""
    return {"facecolor": "none", "edgecolor": colour, "linewidth": 0.9}
