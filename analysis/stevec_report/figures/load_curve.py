"""Figures 1.4 (source), 1.5 (cached) and 1.6 (both on one axis) of E3: the probe's response time against the load.

The study's values are above and this run's below; the panels have scales of their own, because the hardware differs.
"""

from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from stevec_report import plot_style
from stevec_report.figures import limited
from stevec_report.intervals import geometric_mean
from stevec_report.measures import Point
from stevec_report.tolerance import TOLERATED_MS

HEIGHT_IN = 5.4
ByLevel = dict[float, list[Point]]  # {requesters: trial means in ms}
TOLERATED_SHOWN_FROM = 0.4  # share of the limit; for lower curves its line would only compress the curve


def draw(study: dict[str, dict[int, float]], ours: dict[str, ByLevel], ours_label: str) -> Figure:
    """Draw both panels; limited trials are hollow, and the line joins the means of the others.

    Args:
        study: {door: {parallel requests: ms}} of tables 1.4 and 1.5.
        ours: {door: {parallel requests: points of the trial means, ms}}, the same doors.
    """
    figure, (top, bottom) = plot_style.new_figure(HEIGHT_IN, rows=2, sharex=True)
    for door, by_level in study.items():
        _draw_line(top, list(by_level), list(by_level.values()), door)
    top.set_title("The study: Banana Pi, Cloudflare, 2016")
    _finish(top, max(ms for by_level in study.values() for ms in by_level.values()))
    for door, points_at in ours.items():
        _draw_ours(bottom, points_at, door)
    bottom.set_title(ours_label)
    shown = [point for by_level in ours.values() for points in by_level.values() for point in points]
    _add_legend(figure, bottom, list(ours), limited.label(shown))
    _finish(bottom, max((ms for ms, _ in shown), default=0.0))
    bottom.set_xlabel("parallel background requesters")
    return figure


def _draw_ours(axes: Axes, by_level: ByLevel, door: str) -> None:
    levels = sorted(by_level)
    good = [(n, [ms for ms, limit in by_level[n] if limit is None]) for n in levels]
    lined = [(n, geometric_mean(means).centre) for n, means in good if means]
    _draw_line(axes, [n for n, _ in lined], [centre for _, centre in lined], door)
    for n in levels:
        limited.scatter(axes, [n] * len(by_level[n]), by_level[n], plot_style.door_colour(door), s=15)


def _add_legend(figure: Figure, axes: Axes, doors: Sequence[str], limits: str | None) -> None:
    """Add a legend below the panels that names the doors, if there are several, and what limited the hollow dots."""
    handles: list[Artist] = [line for line in axes.lines if line.get_label() in doors] if len(doors) > 1 else []
    if limits:
        colour = plot_style.door_colour(doors[0]) if len(doors) == 1 else plot_style.MUTED
        handles.append(axes.scatter([], [], s=15, label=limits, **limited.hollow(colour)))
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=8.5)


def _draw_line(axes: Axes, levels: Sequence[float], values: Sequence[float], door: str) -> None:
    colour, marker = plot_style.door_colour(door), plot_style.door_marker(door)
    axes.plot(levels, values, color=colour, linewidth=1.8, marker=marker, markersize=4.5, label=door)


def _finish(axes: Axes, highest: float) -> None:
    top = 1.12 * highest or 1
    if highest > TOLERATED_SHOWN_FROM * TOLERATED_MS:
        top = max(top, 1.12 * TOLERATED_MS)
        plot_style.mark_tolerated(axes, "4 s: what a user tolerates", 0.99, xytext=(0, 3), ha="right")
    axes.set_ylim(0, top)
    axes.set_ylabel("mean response time, ms")
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    plot_style.label_numbers(axes.yaxis)
    plot_style.frame(axes)
