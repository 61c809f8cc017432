"""The tails of response times: one strip per door, one curve per cache status, both axes logarithmic.

A curve is the complementary distribution: the share of requests that took at least so long. On a logarithmic axis the
99th and the 99.9th percentile lie as far apart as the 90th and the 99th.
"""

import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from stevec_report import plot_style
from stevec_report.wording import percent, three_digits

STRIP_HEIGHT_IN = 1.35
AXIS_HEIGHT_IN = 0.55
TITLE_LINE_CHARS = 52  # wider lines leave the figure
STATUSES_MAX = 4  # curves in one strip; rarer statuses are only in the table
LINES = ("solid", (0, (4, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (1, 1)))
SPAN_DENSE = 200  # longest ÷ shortest time up to which there are three labels a decade
TIME_MIN_MS = 1e-3  # a logarithmic axis has no 0
PERCENTILES = {1.0: "all", 0.1: "p90", 0.01: "p99", 1e-3: "p99.9", 1e-4: "p99.99"}  # by the share that takes longer
LEAST = min(PERCENTILES)
# The shares at which a curve is known: steps of 5 % to the 90th percentile, then eight a decade.
SHARES = (1.0, 0.98, *(1 - 0.05 * at for at in range(1, 18)), *(10 ** (-at / 8) for at in range(8, 33)))


def draw(strips: Sequence[dict[str, Any]]) -> Figure:
    """Draw the curves.

    Args:
        strips: list of {"door", "title", "curves", "all"}; a curve is {"status", "requests", "share", "times_ms",
            "slower"}, where `slower` (n,) fall from 1 to 1/requests and `times_ms` (n,) are the times that these
            shares of the requests took at least; the most frequent status first. `all` is that of all requests, which
            the other strips show in grey.
    """
    figure, rows = plot_style.new_panels(len(strips), STRIP_HEIGHT_IN, AXIS_HEIGHT_IN, sharey=True)
    for axes, strip in zip(rows, strips, strict=False):
        for other in strips:
            if other is not strip:
                axes.plot(*_thin(other["all"]), color=plot_style.MUTED, linewidth=0.7, alpha=0.6, zorder=1)
        _draw_strip(axes, strip)
    bottom = rows[-1]
    bottom.set_xscale("log")
    bottom.set_xlabel("response time, ms (logarithmic)")
    low, high = bottom.get_xlim()
    bottom.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < SPAN_DENSE * low else (1.0,), numticks=30))
    bottom.xaxis.set_major_formatter(FuncFormatter(_label_time))
    bottom.xaxis.set_minor_formatter(NullFormatter())
    _label_percentiles(bottom, min((curve["slower"][-1] for strip in strips for curve in strip["curves"]), default=0.1))
    return figure


def _draw_strip(axes: Axes, strip: dict[str, Any]) -> None:
    colour = plot_style.door_colour(strip["door"])
    for line, curve in zip(LINES, strip["curves"][:STATUSES_MAX], strict=False):
        axes.plot(
            _times(curve),
            curve["slower"],
            color=colour,
            linewidth=1.6,
            linestyle=line,
            zorder=3,
            label=_label_curve(curve),
        )
    axes.set_title(textwrap.fill(strip["title"], TITLE_LINE_CHARS))
    # Beside the panel, where no curve can be.
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.0, 1.05),
        frameon=False,
        fontsize=7.5,
        handlelength=2.2,
        handletextpad=0.5,
        borderaxespad=0.2,
    )
    plot_style.frame(axes, "both")


def _label_percentiles(axes: Axes, least: float) -> None:
    axes.set_yscale("log")
    axes.set_ylim(max(LEAST, min(0.1, least)) * 0.55, 1.25)
    axes.yaxis.set_major_locator(FixedLocator(list(PERCENTILES)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _position: PERCENTILES.get(share, "")))
    axes.yaxis.set_minor_locator(NullLocator())


def _times(curve: dict[str, Any]) -> list[float]:
    return [max(time, TIME_MIN_MS) for time in curve["times_ms"]]


def _thin(curve: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Every other point of a curve and its last, which is enough for a line in the background."""
    times, slower = _times(curve), list(curve["slower"])
    return [*times[:-1:2], times[-1]], [*slower[:-1:2], slower[-1]]


def _label_curve(curve: dict[str, Any]) -> str:
    if curve["share"] == 1:
        return curve["status"] or "all requests"
    return f"{curve['status'] or 'no cache status'} {percent(curve['share'], 0 if curve['share'] > 0.0995 else 1)}"


def _label_time(value: float, _position: int) -> str:
    return three_digits(value).rstrip("0").rstrip(".") if value < 1 else f"{value:g}"
