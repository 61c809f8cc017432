"""People's times in each trial, with and without crawlers, and what the crawlers of each got."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from stevec_report import plot_style
from stevec_report.figures import limited
from stevec_report.intervals import Interval
from stevec_report.palette import AREAS, OKABE_ITO

PANEL_IN = 1.6
QUIET, SWEPT = "without crawlers", "beside crawlers"
COLOURS = {QUIET: OKABE_ITO["blue"], SWEPT: OKABE_ITO["vermilion"]}
AREA = {
    "200": (AREAS["green"], ""),
    "429": (AREAS["yellow"], ".."),
    "503": (AREAS["orange"], "//"),
    "other": (AREAS["purple"], "xx"),
}


@dataclass(frozen=True)
class Trial:
    """A trial; percentiles in ms, None where too few requests tell. `got` is {status: requests}, None if quiet."""

    number: int
    view: Interval | None
    save: Interval | None
    got: Mapping[str, int] | None
    limited_by: str | None


def draw(trials: Sequence[Trial]) -> Figure:
    """Draw the trials, in their order, side by side in three panels."""
    figure, (views, saves, sweep) = plot_style.new_panels(3, PANEL_IN, 1.0)
    _times(views, trials, "views, p99, ms", lambda trial: trial.view)
    _times(saves, trials, "saves, p95, ms", lambda trial: trial.save)
    _shares(sweep, trials)
    sweep.set_xticks(range(len(trials)), [str(trial.number) for trial in trials])
    sweep.set_xlabel("trial, by repetition")
    sweep.set_xlim(-0.6, max(len(trials), 1) - 0.4)
    for name, colour in COLOURS.items():
        views.scatter([], [], s=24, color=colour, label=name)
    if text := limited.label((0.0, trial.limited_by) for trial in trials):
        views.scatter([], [], s=24, label=text, **limited.hollow())
    plot_style.legend_above(figure, views, 3)
    figure.legend(loc="outside lower center", handles=sweep.get_legend_handles_labels()[0], ncols=4, frameon=False)
    return figure


def _times(axes: Axes, trials: Sequence[Trial], title: str, of: Callable[[Trial], Interval | None]) -> None:
    known = [(at, found, trial) for at, trial in enumerate(trials) if (found := of(trial))]
    for at, found, trial in known:
        colour = COLOURS[QUIET if trial.got is None else SWEPT]
        if found.bounds:
            axes.plot([at, at], found.bounds, color=colour, linewidth=1.2, zorder=2)
        limited.scatter(axes, [at], [(found.centre, trial.limited_by)], colour, s=24)
    axes.set_title(title)
    axes.set_ylim(0, 1.08 * max((found.bounds or (0, found.centre))[1] for _, found, _ in known) if known else 1)
    if not known:
        axes.annotate("too few in a trial", (0.5, 0.5), xycoords="axes fraction", ha="center", va="center", fontsize=8)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    plot_style.frame(axes)
    plot_style.label_numbers(axes.yaxis)


def _shares(axes: Axes, trials: Sequence[Trial]) -> None:
    swept = [(at, trial.got, sum(trial.got.values())) for at, trial in enumerate(trials) if trial.got]
    bottoms = [0.0] * len(swept)
    for status, (colour, hatch) in AREA.items():
        heights = [got[status] / total if total else 0.0 for _, got, total in swept]
        look: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": plot_style.INK, "linewidth": 0.4}
        axes.bar([at for at, _, _ in swept], heights, 0.6, bottom=bottoms, label=status, zorder=2, **look)
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    axes.set_title("requests of crawlers, by status")
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    plot_style.frame(axes)
    plot_style.label_shares(axes.yaxis)
