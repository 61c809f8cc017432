"""A system under growing load: throughput, response time, and failures. All doors are drawn alike."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from stevec_report import plot_style
from stevec_report.figures import limited

HEIGHT_IN = 6.6
SIDE_STEP = 0.008  # of the greatest load, between doors, so that their marks do not cover each other
SPAN_DENSE = 200  # highest ÷ lowest time up to which there are three labels a decade
TOLERATED_WITHIN = 3.0  # the line is drawn if the highest value times this reaches it
LAW: dict[str, Any] = {"linewidth": 1, "linestyle": (0, (1, 1))}
P99: dict[str, Any] = {"linewidth": 1, "linestyle": (0, (4, 2)), "markersize": 3, "markerfacecolor": "none"}
Points = Sequence[dict[str, Any]]


def draw(doors: dict[str, dict[str, Any]], load_label: str, offered: bool = False) -> Figure:
    """Draw three panels over the load: completed requests per second, response time, failed share.

    Args:
        doors: {door: {"points": [{"load", "per_s", "per_s_trials", "per_s_interval", "mean_ms", "mean_ms_trials",
            "mean_ms_interval", "p99_ms", "failed", "limited_by"}], "law", "knee", "knee_interval"}}, points by rising
            load; values may be None. `law` is a `ScalabilityLaw` or None, `knee` a load or None, `knee_interval` (low,
            high) or None. A point of trials that were `limited_by` something is hollow. A level that has no other point
            interrupts the line.
        load_label: label of the load axis.
        offered: whether the load is itself a rate, so that a line of equality makes sense.
    """
    figure, (rate, time, failed) = plot_style.new_figure(HEIGHT_IN, rows=3, sharex=True, height_ratios=(3, 3, 1.3))
    most = max((point["load"] for door in doors.values() for point in door["points"]), default=1)
    if offered:
        rate.plot([0, most], [0, most], color=plot_style.MUTED, linewidth=1)
    for at, (name, door) in enumerate(doors.items()):
        shift = (at - (len(doors) - 1) / 2) * SIDE_STEP * most
        _draw_door((rate, time, failed), name, door, shift)
    _finish(rate, time, failed, load_label, doors)
    _add_legend(figure, rate, doors, offered)
    return figure


def _draw_door(panels: tuple[Axes, Axes, Axes], name: str, door: dict[str, Any], shift: float) -> None:
    rate, time, failed = panels
    points, colour = door["points"], plot_style.door_colour(name)
    _draw_values(rate, name, points, "per_s", shift)
    _draw_values(time, name, points, "mean_ms", shift)
    _draw_line(time, name, points, "p99_ms", shift, **P99)
    _draw_line(failed, name, points, "failed", shift, linewidth=1.6, markersize=4.5)
    for key, axes in (("p99_ms", time), ("failed", failed)):
        own = [(point[key], point["limited_by"]) for point in points if point["limited_by"] and point[key] is not None]
        places = [point["load"] + shift for point in points if point["limited_by"] and point[key] is not None]
        limited.scatter(axes, places, own, colour, marker=plot_style.door_marker(name), s=14)
    if door["law"] is not None:
        grid = np.linspace(0, max(point["load"] for point in points), 60)
        rate.plot(grid, door["law"].throughput(grid + 1), color=colour, zorder=2, **LAW)
    if door["knee"] is not None:
        time.axvline(door["knee"], color=colour, linewidth=0.9, linestyle="dashdot", zorder=1)
        if door.get("knee_interval"):
            time.axvspan(*door["knee_interval"], color=colour, alpha=0.15, linewidth=0, zorder=0)


def _draw_values(axes: Axes, name: str, points: Points, key: str, shift: float) -> None:
    """Draw the trials as dots, and the values of `key` with the intervals of the trials' means, joined by a line."""
    colour = plot_style.door_colour(name)
    for point in points:
        own = [(value, point["limited_by"] or None) for value in point[f"{key}_trials"]]
        at = point["load"] + shift
        limited.scatter(axes, [at] * len(own), own, colour, marker=plot_style.door_marker(name), s=9)
        interval = point[f"{key}_interval"]
        if not point["limited_by"] and interval and interval.bounds:
            axes.plot([at, at], interval.bounds, color=colour, linewidth=1.2, zorder=2)
    _draw_line(axes, name, points, key, shift, linewidth=1.6, markersize=4.5)


def _draw_line(axes: Axes, name: str, points: Points, key: str, shift: float, **style: Any) -> None:
    loads = sorted({point["load"] for point in points})
    known = {point["load"]: point[key] for point in points if not point["limited_by"] and point[key] is not None}
    look: dict[str, Any] = {"color": plot_style.door_colour(name), "marker": plot_style.door_marker(name), "zorder": 3}
    axes.plot([load + shift for load in loads], [known.get(load, float("nan")) for load in loads], **look, **style)


def _highest(doors: Iterable[dict[str, Any]]) -> float:
    points = [point for door in doors for point in door["points"]]
    return max((value for p in points for value in (p["p99_ms"], *p["mean_ms_trials"]) if value), default=0.0)


def _finish(rate: Axes, time: Axes, failed: Axes, load_label: str, doors: dict[str, dict[str, Any]]) -> None:
    rate.set_ylabel("completed, 1/s")
    rate.set_ylim(bottom=0)
    rate.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    time.set_yscale("log")
    plot_style.mark_tolerated(time, _highest(doors.values()), TOLERATED_WITHIN)
    time.set_ylabel("probe, ms: mean\nand p99 (dashed)")
    low, high = time.get_ylim()
    time.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < SPAN_DENSE * low else (1.0,), numticks=12))
    plot_style.label_numbers(time.yaxis)
    time.yaxis.set_minor_formatter(NullFormatter())
    failed.set_ylim(-0.06, 1.06)
    failed.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    failed.set_ylabel("failed")
    failed.set_xlabel(load_label)
    for axes in (rate, time, failed):
        plot_style.frame(axes)


def _add_legend(figure: Figure, axes: Axes, doors: dict[str, dict[str, Any]], offered: bool) -> None:
    """Add a legend above the panels; its marks have no data."""
    nothing = [float("nan")]
    handles: list[Artist] = []
    for name in doors:
        look: dict[str, Any] = {"color": plot_style.door_colour(name), "marker": plot_style.door_marker(name)}
        handles += axes.plot(nothing, nothing, linewidth=1.6, markersize=4.5, label=name, **look)
    if offered:
        handles += axes.plot(nothing, nothing, color=plot_style.MUTED, linewidth=1, label="offered")
    handles.append(axes.scatter([], [], s=9, color=plot_style.MUTED, label="one trial"))
    if any(door["law"] is not None for door in doors.values()):
        handles += axes.plot(nothing, nothing, color=plot_style.MUTED, label="scalability law", **LAW)
    limits = limited.label((0, point["limited_by"]) for door in doors.values() for point in door["points"])
    if limits:
        handles.append(axes.scatter([], [], s=14, label=limits, **limited.hollow()))
    figure.legend(
        handles=handles, loc="outside upper left", ncols=3, frameon=False, fontsize=8.5, handlelength=1.8, borderpad=0.1
    )
