"""The table of cells and the distributions of response times, of every experiment."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure as MplFigure

from stevec_report import dependence, limits, percentiles, rows, staleness
from stevec_report import outcomes as all_outcomes
from stevec_report.analysis import Analysis
from stevec_report.averages import median
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Table, trials_cell
from stevec_report.figures import response_times
from stevec_report.trial_stats import PERCENTILES

STRIPS_MAX = 8
ON_PAGE = (0.5, 0.99)  # the percentiles of the page; the CSV file has all
Strip = tuple[str, str, list[int]]  # title, door, numbers of the trials
SERVED_NOTE = "served by a cache: HIT, STALE and UPDATING"


def blocks(analysis: Analysis, strips: Sequence[Strip]) -> list[Block]:
    """The cells and their distributions. `strips` has the shape that `default_strips` returns."""
    found: list[Block] = [cell_table(analysis), *staleness.tables(analysis)]
    strips = [strip for strip in strips if strip[2]]
    if strips:
        found.append(
            Figure(
                "response-times",
                "The tails of response times",
                "The tails of response times, by cache status: the share of answered requests (upwards) that took at "
                "least so long (to the right), all valid trials together. At p90 it is a tenth, at p99 a hundredth. "
                "Both axes are logarithmic. Grey lines are all requests of the other strips.",
                lambda: draw_response_times(analysis, strips),
            )
        )
    return found


def cell_table(analysis: Analysis) -> Table:
    """One row per cell: times with percentiles, requests that the cache served, requests that reached the wiki."""
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("valid_trials", "trials", "count"),
        Column("planned_trials", "planned", "count", on_page=False),
        Column("mean_ms", "mean, ms (95 % interval)", "interval"),
        *[
            Column(f"p{_level_key(level)}_ms", f"p{100 * level:g}", "interval", on_page=level in ON_PAGE)
            for level in PERCENTILES
        ],
        Column("max_ms", "max"),
        Column("served_share", "served by cache", "percent"),
        Column("failed_share", "failed", "percent"),
        *([] if analysis.run.origin.emulated else [Column("per_s", "answered, 1/s")]),
        rows.LIMITED,
        TRIALS_COLUMN,
    ]
    found, depending = [], dependence.run_dependence(analysis)
    for cell, members in all_outcomes.cells(analysis.outcomes).items():
        valid = all_outcomes.valid_of(members)
        timed = limits.believed(valid)
        row = {
            "cell": all_outcomes.cell_text(cell),
            "valid_trials": len(valid),
            "planned_trials": len(members),
            "mean_ms": depending.mean("mean_ms", valid),
            "max_ms": rows.longest_ms(timed),
            "served_share": rows.share(sum(o.stats.served_by_cache for o in valid), rows.count_sent(valid)),
            "failed_share": rows.failed_share(timed),
            "limited_by": rows.limited_by(valid),
            "trials": trials_cell(o.number for o in valid),
        }
        if not analysis.run.origin.emulated:
            row["per_s"] = median(o.stats.completed_per_s for o in timed)
        for level in PERCENTILES:
            row[f"p{_level_key(level)}_ms"] = percentiles.over_trials(timed, level, depending)
        found.append(row)
    return Table(
        "cells",
        "Every cell of the experiment.",
        "Milliseconds, of answered requests of the probe. The unit is the trial: the mean is the geometric mean of "
        f"the trial means with the t interval of their logarithms, {depending.words}; the "
        f"maximum is that of all. {percentiles.NOTE}"
        f"Shares are of the requests sent; {SERVED_NOTE}. {rows.LIMITED_NOTE}",
        columns,
        found,
    )


def default_strips(analysis: Analysis) -> list[Strip]:
    """[(title, door, trial numbers)]: one strip per cell, or one per door where there are too many cells."""
    groups = all_outcomes.cells(analysis.valid)
    if len(groups) <= STRIPS_MAX:
        return [
            (all_outcomes.cell_text(cell), members[0].door, [o.number for o in members])
            for cell, members in groups.items()
        ]
    return [
        (f"{door}, all cells together", door, [o.number for o in analysis.valid if o.door == door])
        for door in analysis.run.doors
    ]


def draw_response_times(analysis: Analysis, strips: Sequence[Strip]) -> MplFigure:
    """The figure of the distributions."""
    drawn = []
    outcomes = {o.number: o for o in analysis.valid}
    levels = ", ".join(f"{1 - share:.6f}" for share in response_times.SHARES)
    for title, door, numbers in strips[:STRIPS_MAX]:
        limit = limits.cell_text([outcomes[number] for number in numbers])
        counted = analysis.samples.query(
            f"""
            SELECT cache_status, count(*), max(response_ms), quantile_disc(response_ms, [{levels}])
            FROM {{samples}} WHERE answered GROUP BY GROUPING SETS ((), (cache_status))
            ORDER BY grouping(cache_status) DESC, count(*) DESC, cache_status LIMIT {response_times.STATUSES_MAX + 1}
            """,
            numbers,
        )
        total = counted[0][1]  # the first row is that of all requests
        if total:
            everything, *curves = (_curve(row, total) for row in counted)
            named = f"{title}, limited: {limit}" if limit else title
            drawn.append({"door": door, "title": named, "curves": curves, "all": everything})
    return response_times.draw(drawn)


def _curve(row: Sequence[Any], total: int) -> dict[str, Any]:
    """The curve of a row (status, requests, longest time, times at `SHARES`); its end is the longest time."""
    status, requests, longest_ms, times_ms = row
    known = [(ms, share) for ms, share in zip(times_ms, response_times.SHARES, strict=True) if share * requests > 1]
    times, slower = zip(*known, (longest_ms, 1 / requests), strict=True)
    return {"status": status, "requests": requests, "share": requests / total, "times_ms": times, "slower": slower}


def _level_key(level: float) -> str:
    return f"{100 * level:g}".replace(".", "_")
