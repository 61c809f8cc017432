"""Response times over the course of a trial, of any experiment whose trials have enough requests."""

from collections.abc import Sequence
from typing import Any

from stevec_report.analysis import Analysis
from stevec_report.blocks import Block, Figure
from stevec_report.figures import course
from stevec_report.intervals import geometric_centre

BINS = 20
REQUESTS_MIN = 100 * BINS  # of each trial, so that ten of a bin lie beyond its p90

Group = tuple[str, Sequence[tuple[str, Sequence[int]]]]  # title of a panel, [(label, numbers of its trials)]


def blocks(analysis: Analysis, groups: Sequence[Group]) -> list[Block]:
    """The figure, of the groups that have a line; nothing without any. `groups` has the trials to show."""
    answered = {o.number: o.stats.answered for o in analysis.valid}
    able = [
        (title, [(label, own) for label, numbers in lines if (own := _able(numbers, answered))])
        for title, lines in groups
    ]
    able = [(title, lines) for title, lines in able if lines]
    if not able:
        return []
    return [
        Figure(
            "course",
            "Response times over the course of a trial",
            f"Median and p90 of each {100 // BINS} % of a trial's answered requests, in the order of their sending; "
            "geometric means over the trials of a cell that nothing limited, or over all if there are no others. The "
            "times of a system in a steady state do not rise or fall.",
            lambda: course.draw(
                [{"title": title, "lines": [_line(analysis, *line) for line in lines]} for title, lines in able]
            ),
        )
    ]


def _able(numbers: Sequence[int], answered: dict[int, int]) -> list[int]:
    return [number for number in numbers if answered.get(number, 0) >= REQUESTS_MIN]


def _line(analysis: Analysis, label: str, numbers: Sequence[int]) -> dict[str, Any]:
    bins: dict[int, list[tuple[float, float]]] = {}
    for number in numbers:
        found = analysis.samples.query(
            "SELECT bin, quantile_cont(response_ms, [0.5, 0.9]) FROM (SELECT response_ms, CAST(floor($bins * "
            "(row_number() OVER (ORDER BY sent_at_us, iteration, method) - 1) / count(*) OVER ()) AS INTEGER) AS bin "
            "FROM {samples} WHERE answered) GROUP BY bin ORDER BY bin",
            [number],
            bins=float(BINS),
        )
        for at, (p50, p90) in found:
            bins.setdefault(at, []).append((p50, p90))
    columns = {at: tuple(zip(*values, strict=True)) for at, values in sorted(bins.items())}
    return {
        "label": label,
        "percent": [100 * (at + 0.5) / BINS for at in columns],
        "p50": [geometric_centre(own[0]) for own in columns.values()],
        "p90": [geometric_centre(own[1]) for own in columns.values()],
    }
