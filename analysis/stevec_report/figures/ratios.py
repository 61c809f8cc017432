"""Ratios with their intervals, the study's beside ours: the panel that shows what a verdict is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from stevec_report import plot_style
from stevec_report.intervals import Interval
from stevec_report.wording import three_digits

ROW_IN = 0.34
SPAN_MIN = 2.5  # largest ÷ smallest ratio of the axis, at least
STUDY_AT, OURS_AT = -0.25, 0.21  # in a row, downwards
STUDY_MARK: dict[str, Any] = {"marker": "D", "facecolor": "none", "edgecolor": plot_style.MUTED, "linewidth": 1.1}


@dataclass(frozen=True)
class Ratio:
    """A row: the study's ratio and ours, None where they are not known; `door` gives the colour."""

    label: str
    study: float | None
    ours: Interval | None
    door: str


def draw_panel(axes: Axes, ratios: Sequence[Ratio], title: str, margin: float | None, against: float | None) -> None:
    """Draw one row for each ratio, on a logarithmic axis with a line at 1.

    Args:
        margin: ratios within 1/margin to margin count as equal, and are shaded; None for no shade.
        against: a ratio to mark with a dotted line, None for none.
    """
    if margin is not None:
        axes.axvspan(1 / margin, margin, color=plot_style.GRID, linewidth=0, zorder=0)
    axes.axvline(1, color=plot_style.INK, linewidth=1, zorder=1)
    if against is not None and against != 1:
        axes.axvline(against, color=plot_style.INK, linewidth=1, linestyle="dotted", zorder=1)
    for row, ratio in enumerate(ratios):
        _draw_row(axes, row, ratio)
    shown = [1.0, against or 1.0, margin or 1.0, 1 / (margin or 1.0)]
    shown += [ratio.study for ratio in ratios if ratio.study]
    for ratio in ratios:
        if ratio.ours:
            shown += [ratio.ours.centre, *(ratio.ours.bounds or ())]
    set_log_scale(axes, shown, SPAN_MIN)
    label_rows(axes, [ratio.label for ratio in ratios])
    axes.set_title(title)


def set_log_scale(axes: Axes, values: Sequence[float], span_min: float) -> None:
    """Make the x axis logarithmic, as wide as the positive `values` and at least `span_min` times from end to end."""
    low, high = min(values), max(values)
    wider = max(1.0, span_min / (high / low)) ** 0.5
    axes.set_xscale("log")
    axes.set_xlim(low / wider / 1.12, high * wider * 1.12)
    span = high / low * wider**2
    subs = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if span < 4 else (1.0, 2.0, 5.0) if span < 300 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=6 if len(subs) == 1 else 20))
    plot_style.label_numbers(axes.xaxis)
    axes.xaxis.set_minor_formatter(NullFormatter())


def label_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Name the rows at the left, from the top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(max(1, len(labels)) - 0.5, -0.5)
    plot_style.frame(axes, "x")
    axes.tick_params(axis="y", labelcolor=plot_style.INK)


def write_value(axes: Axes, row: float, text: str, **style: Any) -> None:
    """Write `text` at the right of a row, where no mark can lie."""
    axes.annotate(
        text,
        (1, row),
        xycoords=("axes fraction", "data"),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        annotation_clip=False,
        **{"fontsize": 8.5} | style,
    )


def study_handle(axes: Axes) -> Artist:
    """The mark of the study's ratio, for a legend."""
    return axes.scatter([], [], s=22, label="the study's ratio", **STUDY_MARK)


def _draw_row(axes: Axes, row: int, ratio: Ratio) -> None:
    if ratio.study is not None:
        axes.scatter([ratio.study], [row + STUDY_AT], s=22, zorder=3, **STUDY_MARK)
        write_value(axes, row + STUDY_AT, three_digits(ratio.study), color=plot_style.MUTED, fontsize=7.5)
    if ratio.ours is None:
        write_value(axes, row + OURS_AT, "not known")
        return
    colour = plot_style.door_colour(ratio.door)
    if ratio.ours.bounds:
        axes.plot(ratio.ours.bounds, [row + OURS_AT] * 2, color=colour, linewidth=2, zorder=3)
    axes.scatter([ratio.ours.centre], [row + OURS_AT], s=30, color=colour, zorder=4)
    write_value(axes, row + OURS_AT, three_digits(ratio.ours.centre), weight="bold")
