"""Plots the cost of a request against the number of pages and their size, from the results of `make bench-cost`.

    python analysis/bench/cost.py results/bench/cost.csv --output cost.svg

Prints each point with its 95 % interval over the trials, and draws them. The cost is the processor time of the wiki
and of mongod together, so it does not depend on the number of connections.
"""

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

ANALYSIS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ANALYSIS))

from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

from stevec_report import plot_style  # noqa: E402
from stevec_report.intervals import Interval, geometric_mean  # noqa: E402

HEIGHT_IN = 6.2
Points = dict[tuple[str, str], dict[int, Interval]]  # {(axis, operation): {value: cost of a request in µs}}
AXES = {"pages": "pages in the wiki (of 3 kB)", "bytes": "size of the page, bytes of Markdown"}
MARKS = {
    "view": ("blue", "o"),
    "not modified": ("sky_blue", "v"),
    "list": ("green", "^"),
    "search": ("purple", "D"),
    "save": ("vermilion", "s"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments` (those of the process if None); return its exit status."""
    parser = argparse.ArgumentParser(description="Draw what a request costs.")
    parser.add_argument("csv", type=Path, help="what make bench-cost has written")
    parser.add_argument("--output", type=Path, metavar="FILE", help="an SVG")
    options = parser.parse_args(arguments)
    try:
        points = read_points(options.csv)
    except (OSError, ValueError) as error:
        parser.error(f"{options.csv}: {error}")
    for (axis, operation), by_value in points.items():
        for value, interval in by_value.items():
            spread = "" if interval.low is None else f" ({interval.low:.3g} to {interval.high:.3g})"
            print(f"{axis} {value:>8}  {operation:13} {interval.centre:10.4g} µs{spread}, {interval.n} trials")
    if options.output:
        options.output.write_text(draw(points), encoding="utf-8")
    return 0


def read_points(path: Path) -> Points:
    """Read the trials and group them by point.

    Returns:
        {(axis, operation): {value: `Interval` of the cost in µs of processor time per request}}, values rising.

    Raises:
        ValueError: there is no trial, or a column is missing.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    if not rows:
        raise ValueError("there is no trial in it")
    costs: defaultdict[tuple[str, str], defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    try:
        for row in rows:
            cost = float(row["wiki_cpu_us"]) + float(row["mongod_cpu_us"])
            costs[row["axis"], row["operation"]][int(row["value"])].append(cost)
    except KeyError as missing:
        raise ValueError(f"there is no column {missing}") from None
    return {
        key: {value: geometric_mean(by_value[value]) for value in sorted(by_value)} for key, by_value in costs.items()
    }


def draw(points: Points) -> str:
    """Return SVG text: a panel for each axis, a line for each operation, with the intervals of `read_points`."""
    with plot_style.style():
        figure, panels = plot_style.new_figure(HEIGHT_IN, rows=len(AXES))
        for panel, (axis, label) in zip(panels, AXES.items(), strict=True):
            for (of_axis, operation), by_value in points.items():
                if of_axis == axis:
                    _draw_line(panel, operation, by_value)
            _finish(panel, label)
        panels[0].set_title("Processor time of a request, wiki and mongod")
        return plot_style.to_svg(figure)


def _draw_line(panel: Axes, operation: str, by_value: dict[int, Interval]) -> None:
    name, marker = MARKS[operation]
    colour = plot_style.OKABE_ITO[name]
    centres = [interval.centre for interval in by_value.values()]
    panel.plot(list(by_value), centres, color=colour, marker=marker, markersize=4.5, linewidth=1.4, label=operation)
    for value, interval in by_value.items():
        if interval.bounds is not None:
            panel.plot([value, value], interval.bounds, color=colour, linewidth=3, alpha=0.35)


def _finish(panel: Axes, label: str) -> None:
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel(label)
    panel.set_ylabel("µs (logarithmic)")
    for scale in (panel.xaxis, panel.yaxis):
        scale.set_major_locator(LogLocator(numticks=12))
        scale.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:,.0f}".replace(",", " ")))
        scale.set_minor_formatter(NullFormatter())
    plot_style.frame(panel)
    panel.legend(frameon=False, fontsize=8.5, loc="upper left", ncols=2)


if __name__ == "__main__":
    sys.exit(main())
