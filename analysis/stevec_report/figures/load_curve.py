"""Response time against the number of parallel requesters, the study's above and this run's below."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from stevec_report import plot_style
from stevec_report.intervals import geometric_mean
from stevec_report.tolerance import TOLERATED_MS

HEIGHT_IN = 5.4
ByLevel = dict[float, tuple[list[float], bool]]  # {requesters: (trial means in ms, limited)}
TOLERATED_SHOWN_FROM = 0.4  # share of the limit; for lower curves its line would only compress the curve


def draw(study: dict[int, float], ours: ByLevel, door: str, ours_label: str) -> Figure:
    """Draw both panels; points where the load generator was the limit are hollow and not joined by the line."""
    figure, (top, bottom) = plot_style.new_figure(HEIGHT_IN, rows=2, sharex=True)
    _draw_line(top, list(study), list(study.values()), door)
    top.set_title("The study: Banana Pi, Cloudflare, 2016")
    _finish(top, max(study.values()))
    levels = sorted(ours)
    known = [(n, *ours[n]) for n in levels if ours[n][0]]
    good = [(n, geometric_mean(means)) for n, means, limited in known if not limited]
    _draw_line(bottom, [n for n, _ in good], [interval.centre for _, interval in good], door)
    highest = 0.0
    for n, means, limited in known:
        highest = max([highest, *means])
        bottom.scatter(
            [n] * len(means),
            means,
            s=15,
            facecolor="none" if limited else plot_style.door_colour(door),
            edgecolor=plot_style.MUTED if limited else "white",
            linewidth=0.8 if limited else 0.5,
            zorder=3,
        )
    bottom.set_title(ours_label)
    if any(limited for _, _, limited in known):
        bottom.scatter([], [], s=15, facecolor="none", edgecolor=plot_style.MUTED, label="generator-limited")
        bottom.legend(loc="upper left", frameon=False, fontsize=8.5)
    _finish(bottom, highest)
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
