"""From an edit to fresh reads: one strip per door and policy, the share of edits that all readers see after a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from stevec_report import plot_style
from stevec_report.freshness.edit_times import Distribution

STRIP_IN = 1.15
REST_IN = 1.45  # the axis below, and the legend
LINEAR_TO = 0.01  # seconds; linear below it, because a logarithmic axis has no 0, and "at once" is a valid result
TICKS = (0, 0.01, 0.1, 1, 10, 100)
SHARES = (0, 0.5, 1)


def draw(strips: Sequence[dict[str, Any]]) -> Figure:
    """Draw the strips.

    Args:
        strips: list of {"title", "door", "latest", "earliest", "trials", "mark"}: the `Distribution` of the upper ends
            of the edits' times, that of the lower ends, the upper ones of each trial if there are several, and
            (seconds, text) of a line, or None.
    """
    figure, rows = plot_style.new_panels(len(strips), STRIP_IN, REST_IN, sharey=True)
    longest_s = max((_longest_s(strip) for strip in strips), default=LINEAR_TO)
    top = next((tick for tick in TICKS[2:] if tick >= longest_s), longest_s)
    for axes, strip in zip(rows, strips, strict=False):
        _draw_strip(axes, strip, top)
    bottom = rows[-1]
    bottom.set_xscale("symlog", linthresh=LINEAR_TO, linscale=0.5)
    bottom.set_xlim(0, top)
    bottom.set_xticks([tick for tick in TICKS if tick <= top])
    bottom.xaxis.set_minor_locator(NullLocator())
    plot_style.label_numbers(bottom.xaxis)
    bottom.set_xlabel("seconds since the acknowledgement (linear to 0.01)")
    bottom.set_ylim(0, 1.04)
    bottom.set_yticks(SHARES)
    plot_style.label_shares(bottom.yaxis)
    _explain(figure, strips)
    return figure


def _longest_s(strip: dict[str, Any]) -> float:
    mark = strip["mark"]
    shown = [strip["latest"].times_s.max(initial=0), strip["latest"].left_s.max(initial=0), mark[0] if mark else 0]
    return float(max(shown))


def _draw_strip(axes: Axes, strip: dict[str, Any], top: float) -> None:
    colour = plot_style.door_colour(strip["door"])
    latest, earliest = strip["latest"], strip["earliest"]
    moments = np.unique(np.concatenate(([0.0, top], latest.times_s, earliest.times_s)))
    ends = latest.share_at(moments), earliest.share_at(moments)
    axes.fill_between(moments, *ends, step="post", color=colour, alpha=0.25, linewidth=0)
    for trial in strip["trials"]:
        axes.step(*_steps(trial, top), where="post", color=colour, linewidth=0.6, alpha=0.6)
    axes.step(*_steps(latest, top), where="post", color=colour, linewidth=1.6, zorder=3)
    if latest.left_s.size:
        left = latest.share_at(latest.left_s)
        axes.plot(latest.left_s, left, "|", color=plot_style.INK, markersize=6, zorder=4, clip_on=False)
    if strip["mark"] is not None:
        at_s, text = strip["mark"]
        axes.axvline(at_s, color=plot_style.INK, linewidth=1, linestyle="dashed", zorder=2)
        axes.annotate(text, (at_s, 0), (3, 3), textcoords="offset points", fontsize=8, color=plot_style.MUTED)
    axes.set_title(strip["title"])
    plot_style.frame(axes, "both")


def _steps(distribution: Distribution, top: float) -> tuple[np.ndarray, np.ndarray]:
    moments = np.concatenate(([0.0], distribution.times_s, [top]))
    return moments, distribution.share_at(moments)


def _explain(figure: Figure, strips: Sequence[dict[str, Any]]) -> None:
    colour = plot_style.MUTED
    handles: list[Any] = [
        Line2D([], [], color=colour, linewidth=1.6, label="first read from which on all are fresh"),
        Patch(color=colour, alpha=0.25, linewidth=0, label="back to the last outdated read"),
    ]
    if any(strip["trials"] for strip in strips):
        handles.append(Line2D([], [], color=colour, linewidth=0.6, alpha=0.6, label="one trial"))
    if any(strip["latest"].left_s.size for strip in strips):
        handles.append(
            Line2D([], [], color=plot_style.INK, marker="|", linestyle="none", label="the next edit came first")
        )
    figure.legend(handles=handles, loc="outside lower center", ncols=1, frameon=False, fontsize=8.5)
