"""A system under growing load: throughput, response time, and failures."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from stevec_report import plot_style
from stevec_report.figures import limited
from stevec_report.tolerance import TOLERATED_MS

HEIGHT_IN = 6.6


def draw(doors: dict[str, dict[str, Any]], load_label: str, offered: bool = False) -> Figure:
    """Draw three panels over the load: completed requests per second, response time, failed share.

    Args:
        doors: {door: {"points": [{"load", "per_s", "mean_ms", "p99_ms", "failed", "limited_by"}], "law",
            "knee"}}, points by rising load; values may be None. `law` is a `ScalabilityLaw` or None, `knee` a load or
            None. A point of trials that were `limited_by` something is hollow and not joined by a line.
        load_label: label of the load axis.
        offered: whether the load is itself a rate, so that a line of equality makes sense.
    """
    figure, (rate, time, failed) = plot_style.new_figure(HEIGHT_IN, rows=3, sharex=True, height_ratios=(3, 3, 1.6))
    loads = [point["load"] for door in doors.values() for point in door["points"]]
    if offered and loads:
        rate.plot([0, max(loads)], [0, max(loads)], color=plot_style.MUTED, linewidth=1, label="offered")
    for name, door in doors.items():
        _draw_door(rate, time, failed, name, door)
    limits = limited.label((0, point["limited_by"]) for door in doors.values() for point in door["points"])
    if limits:
        rate.scatter([], [], s=36, label=limits, **limited.hollow())
    slowest = max((p["p99_ms"] or p["mean_ms"] or 0 for d in doors.values() for p in d["points"]), default=0)
    if slowest > TOLERATED_MS / 20:
        plot_style.mark_tolerated(time, "4 s", 0.0, xytext=(3, 3))
    _finish(rate, time, failed, load_label)
    plot_style.legend_above(figure, rate, 2 if limits else 3, handlelength=1.8)
    return figure


def _draw_door(rate: Axes, time: Axes, failed: Axes, name: str, door: dict[str, Any]) -> None:
    colour, marker = plot_style.door_colour(name), plot_style.door_marker(name)
    points = door["points"]
    for axes, key, style in (
        (rate, "per_s", "solid"),
        (time, "mean_ms", "solid"),
        (time, "p99_ms", "dotted"),
        (failed, "failed", "solid"),
    ):
        good = [p for p in points if not p["limited_by"] and p[key] is not None]
        own = [p for p in points if p["limited_by"] and p[key] is not None]
        label = name if axes is rate else None
        if key == "per_s" and door["law"] is not None:
            label = f"{name} (line: scalability law)"
        line = "none" if key == "per_s" and door["law"] is not None else style
        axes.plot(
            [p["load"] for p in good],
            [p[key] for p in good],
            color=colour,
            marker=marker,
            markersize=4.5 if style == "solid" else 2.5,
            linestyle=line,
            linewidth=1.6 if style == "solid" else 1.1,
            label=label,
            zorder=3,
        )
        axes.plot(
            [p["load"] for p in own],
            [p[key] for p in own],
            color=colour,
            marker=marker,
            markerfacecolor="none",
            markersize=6,
            linestyle="none",
            zorder=3,
        )
    if door["law"] is not None:
        grid = np.linspace(1, max(p["load"] for p in points), 120)
        rate.plot(grid, door["law"].throughput(grid), color=colour, linewidth=1.3, zorder=2)
    if door["knee"] is not None:
        time.axvline(door["knee"], color=colour, linewidth=0.9, linestyle="dashdot", zorder=1)


def _finish(rate: Axes, time: Axes, failed: Axes, load_label: str) -> None:
    rate.set_ylabel("completed, 1/s")
    rate.set_ylim(bottom=0)
    rate.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    time.set_yscale("log")
    time.set_ylabel("probe, ms: mean\nand p99 (dotted)")
    time.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    plot_style.label_numbers(time.yaxis)
    time.yaxis.set_minor_formatter(NullFormatter())
    failed.set_ylim(-0.03, 1.03)
    failed.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    failed.set_ylabel("failed")
    failed.set_xlabel(load_label)
    for axes in (rate, time, failed):
        plot_style.frame(axes)
