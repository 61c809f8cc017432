"""Figures 1.4 (source), 1.5 (cached) and 1.6 (both on one axis) of E3: the probe's response time against the load.

The study's values are above and this run's below; the panels have scales of their own, because the hardware differs.
"""

from collections.abc import Mapping, Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from stevec_report import plot_style
from stevec_report.figures import limited
from stevec_report.intervals import Interval, geometric_mean
from stevec_report.measures import Point

PANEL_IN = 2.5
RATIO_IN = 2.2
REST_IN = 0.5
ByLevel = dict[float, list[Point]]  # {requesters: trial means in ms}
TOLERATED_WITHIN = 1.3  # the line is drawn if the highest value times this reaches it
RATIO_SPAN = 4.0  # largest ÷ smallest ratio of the axis, at least


def draw(
    study: dict[str, dict[int, float]],
    ours: dict[str, ByLevel],
    ours_label: str,
    ratios: Mapping[float, Interval] | None = None,
) -> Figure:
    """Draw both panels; limited trials are hollow. The line joins the means of the others, neighbours only.

    Args:
        study: {door: {parallel requests: ms}} of tables 1.4 and 1.5.
        ours: {door: {parallel requests: points of the trial means, ms}}, the same doors.
        ratios: {parallel requests: time of the first door ÷ that of the second}, for a third panel; None without.
    """
    heights = [PANEL_IN, PANEL_IN, *([RATIO_IN] if ratios is not None else [])]
    figure, axes = plot_style.new_figure(sum(heights) + REST_IN, rows=len(heights), sharex=True, height_ratios=heights)
    for door, by_level in study.items():
        _draw_line(axes[0], list(by_level), list(by_level.values()), door)
    axes[0].set_title("The study: Banana Pi, Cloudflare, 2016")
    _finish(axes[0], max(ms for by_level in study.values() for ms in by_level.values()))
    for door, points_at in ours.items():
        _draw_ours(axes[1], points_at, door)
    axes[1].set_title(ours_label)
    shown = [point for by_level in ours.values() for points in by_level.values() for point in points]
    _finish(axes[1], max((ms for ms, _ in shown), default=0.0))
    if ratios is not None:
        _draw_ratios(axes[2], study, ratios, sorted({n for by_level in ours.values() for n in by_level}))
    axes[-1].set_xlabel("parallel background requesters")
    _add_legend(figure, list(axes), list(ours), limited.label(shown))
    return figure


def _draw_ours(axes: Axes, by_level: ByLevel, door: str) -> None:
    levels = sorted(by_level)
    good = [[ms for ms, limit in by_level[n] if limit is None] for n in levels]
    # A level without such a trial interrupts the line.
    centres = [geometric_mean(means).centre if means else float("nan") for means in good]
    _draw_line(axes, levels, centres, door)
    for n in levels:
        limited.scatter(axes, [n] * len(by_level[n]), by_level[n], plot_style.door_colour(door), s=15)


def _draw_ratios(
    axes: Axes, study: dict[str, dict[int, float]], ratios: Mapping[float, Interval], levels: Sequence[float]
) -> None:
    one, other = study
    theirs = {n: study[one][n] / study[other][n] for n in study[one].keys() & study[other].keys()}
    axes.axhline(1, color=plot_style.INK, linewidth=1, zorder=1)
    axes.plot(
        sorted(theirs),
        [theirs[n] for n in sorted(theirs)],
        color=plot_style.MUTED,
        linewidth=1,
        linestyle="dashed",
        marker="D",
        markersize=4,
        markerfacecolor="none",
        label="the study's ratio",
    )
    centres = [ratios[n].centre if n in ratios else float("nan") for n in levels]
    axes.plot(levels, centres, color=plot_style.INK, linewidth=1.6, marker="o", markersize=4.5, label="ours")
    for n, ratio in ratios.items():
        if ratio.bounds:
            axes.plot([n, n], ratio.bounds, color=plot_style.INK, linewidth=1.3)
    shown = [1.0, *theirs.values(), *(ratio.centre for ratio in ratios.values())]
    wider = max(1.0, RATIO_SPAN / (max(shown) / min(shown))) ** 0.5
    axes.set_yscale("log")
    axes.set_ylim(min(shown) / wider / 1.15, max(shown) * wider * 1.15)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    plot_style.label_numbers(axes.yaxis)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title(f"Ratio {one} ÷ {other}, with 95 % intervals")
    axes.set_ylabel("ratio (logarithmic)")
    plot_style.frame(axes)


def _add_legend(figure: Figure, axes: Sequence[Axes], doors: Sequence[str], limits: str | None) -> None:
    """Add a legend below the panels that names the lines, if there are several, and what limited the hollow dots."""
    handles: list[Artist] = [line for line in axes[1].lines if line.get_label() in doors] if len(doors) > 1 else []
    handles += [line for panel in axes[2:] for line in panel.lines if line.get_label() in ("the study's ratio", "ours")]
    if limits:
        colour = plot_style.door_colour(doors[0]) if len(doors) == 1 else plot_style.MUTED
        handles.append(axes[1].scatter([], [], s=15, label=limits, **limited.hollow(colour)))
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=8.5)


def _draw_line(axes: Axes, levels: Sequence[float], values: Sequence[float], door: str) -> None:
    colour, marker = plot_style.door_colour(door), plot_style.door_marker(door)
    axes.plot(levels, values, color=colour, linewidth=1.8, marker=marker, markersize=4.5, label=door)


def _finish(axes: Axes, highest: float) -> None:
    axes.set_ylim(bottom=0)
    plot_style.mark_tolerated(axes, highest, TOLERATED_WITHIN)
    axes.set_ylabel("mean response time, ms")
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    plot_style.label_numbers(axes.yaxis)
    plot_style.frame(axes)
