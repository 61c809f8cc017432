"""Several measures against the number of watchers: one panel per measure, one line per way, all axes logarithmic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from stevec_report import plot_style
from stevec_report.figures import limited
from stevec_report.intervals import Interval
from stevec_report.measures import Point

PANEL_IN = 1.9
SIDE = 1.07  # the factor between lines, so that their marks do not cover each other


@dataclass(frozen=True)
class Place:
    """The trials with so many watchers, and their mean."""

    watchers: int
    points: Sequence[Point]
    mean: Interval | None


@dataclass(frozen=True)
class Panel:
    """A measure: {way: its places by rising number of watchers}."""

    label: str
    lines: Mapping[str, Sequence[Place]]


def draw(panels: Sequence[Panel]) -> Figure:
    """Draw the panels, one below the other."""
    figure, all_axes = plot_style.new_panels(len(panels), PANEL_IN, 0.9)
    ways = list(dict.fromkeys(way for panel in panels for way in panel.lines))
    for axes, panel in zip(all_axes, panels, strict=True):
        for way, places in panel.lines.items():
            at = ways.index(way)
            colour = plot_style.OKABE_ITO[plot_style.LINE_COLOURS[at]]
            shift = SIDE ** (at - (len(ways) - 1) / 2)
            for one in places:
                limited.scatter(axes, [one.watchers * shift] * len(one.points), one.points, colour, s=14)
                if one.mean and one.mean.bounds:
                    axes.plot([one.watchers * shift] * 2, one.mean.bounds, color=colour, linewidth=1.2, zorder=2)
            known = [(one.watchers * shift, one.mean.centre) for one in places if one.mean]
            if known:
                axes.plot(*zip(*known, strict=True), color=colour, linewidth=1.6, label=way, zorder=2)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(panel.label)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        plot_style.frame(axes)
        plot_style.label_numbers(axes.yaxis)
    numbers = sorted({one.watchers for panel in panels for line in panel.lines.values() for one in line})
    all_axes[-1].set_xticks(numbers or [1], [f"{number}" for number in numbers or [1]])
    all_axes[-1].set_xlabel("watchers")
    shown = [point for panel in panels for line in panel.lines.values() for one in line for point in one.points]
    if text := limited.label(shown):
        all_axes[0].scatter([], [], s=14, label=text, **limited.hollow())
    plot_style.legend_above(figure, all_axes[0], len(ways))
    return figure
