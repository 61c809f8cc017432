"""Figure 1.9 (E5 beside E6): the means of table 1.9, the study's and those of this study's runs."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from stevec_report import plot_style
from stevec_report.wording import three_digits

HEIGHT_IN = 5.2
HEADROOM = 1.25  # space above the highest column, for its two lines of text
PATHS = {True: ("source", "without a cache"), False: ("cached", "with a cache")}  # by `direct`
OPERATIONS = {"write": -0.21, "read": 0.21}  # place in its pair
WIDTH = 0.38
Means = Mapping[bool, Mapping[str, float | None]]  # {True without a cache, False with one: {"write": ms, "read": ms}}


def draw(study: Means, ours: Means, ours_label: str) -> Figure:
    """Draw both panels: a pair of columns without a cache and one with it, and below each the ratio of the two."""
    figure, (top, bottom) = plot_style.new_figure(HEIGHT_IN, rows=2, hspace=0.05)
    _draw_panel(top, study, "The study: Banana Pi, Cloudflare, 2016")
    _draw_panel(bottom, ours, ours_label)
    return figure


def _draw_panel(axes: Axes, means: Means, title: str) -> None:
    for at, (direct, (door, _)) in enumerate(PATHS.items()):
        for operation, shift in OPERATIONS.items():
            _draw_column(axes, at + shift, operation, means[direct][operation], door)
    highest = max((ms for pair in means.values() for ms in pair.values() if ms is not None), default=0.0)
    axes.set_ylim(0, HEADROOM * highest or 1)
    axes.set_xlim(-0.55, len(PATHS) - 0.45)
    axes.set_title(title)
    axes.set_ylabel("mean response time, ms")
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    plot_style.label_numbers(axes.yaxis)
    plot_style.frame(axes)
    axes.set_xticks(range(len(PATHS)), [f"{path}\n{_ratio(means[direct])}" for direct, (_, path) in PATHS.items()])


def _draw_column(axes: Axes, x: float, operation: str, ms: float | None, door: str) -> None:
    if ms is not None:
        axes.bar(x, ms, WIDTH, color=plot_style.door_colour(door), linewidth=0)
    text = f"{operation}\n{'no mean' if ms is None else f'{three_digits(ms)} ms'}"
    axes.annotate(text, (x, ms or 0), xytext=(0, 4), textcoords="offset points", ha="center", fontsize=8.5)


def _ratio(pair: Mapping[str, float | None]) -> str:
    write_ms, read_ms = pair["write"], pair["read"]
    return f"write ÷ read = {three_digits(write_ms / read_ms)}" if write_ms and read_ms else "write ÷ read unknown"
