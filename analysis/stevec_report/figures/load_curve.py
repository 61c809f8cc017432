"""Response time against the number of parallel requesters, the study's above and this run's below."""

from collections.abc import Sequence

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


def draw(study: dict[int, float], ours: ByLevel, door: str, ours_label: str) -> Figure:
    """Draw both panels; limited trials are hollow, and the line joins the means of the others."""
    figure, (top, bottom) = plot_style.new_figure(HEIGHT_IN, rows=2, sharex=True)
    _draw_line(top, list(study), list(study.values()), door)
    top.set_title("The study: Banana Pi, Cloudflare, 2016")
    _finish(top, max(study.values()))
    levels = sorted(ours)
    good = [(n, [ms for ms, limit in ours[n] if limit is None]) for n in levels]
    lined = [(n, geometric_mean(means).centre) for n, means in good if means]
    _draw_line(bottom, [n for n, _ in lined], [centre for _, centre in lined], door)
    for n in levels:
        limited.scatter(bottom, [n] * len(ours[n]), ours[n], plot_style.door_colour(door), s=15)
    bottom.set_title(ours_label)
    if limits := limited.label(point for points in ours.values() for point in points):
        mark = bottom.scatter([], [], s=15, label=limits, **limited.hollow(plot_style.door_colour(door)))
        figure.legend(handles=[mark], loc="outside lower center", frameon=False, fontsize=8.5)
    _finish(bottom, max((ms for points in ours.values() for ms, _ in points), default=0.0))
    bottom.set_xlabel("parallel background requesters")
    return figure


def _draw_line(axes: Axes, levels: Sequence[float], values: Sequence[float], door: str) -> None:
    colour = plot_style.door_colour(door)
    axes.plot(levels, values, color=colour, linewidth=1.8, marker=plot_style.door_marker(door), markersize=4.5)


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
