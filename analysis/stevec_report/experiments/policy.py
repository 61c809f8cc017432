"""P1, policy: how much load each cache policy takes off the origin, and how old it lets pages become."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from stevec_report import limits, measures, percentiles, rows, staleness, wording
from stevec_report import outcomes as all_outcomes
from stevec_report.analysis import Analysis
from stevec_report.averages import mean
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Table, Words, trials_cell
from stevec_report.costs import cost_block
from stevec_report.dependence import Dependence, run_dependence
from stevec_report.experiments.policy_choice import (
    Measured,
    edit_ratios,
    pareto_front,
    tolerance_table,
    with_edits,
)
from stevec_report.figures import freshness_offload
from stevec_report.intervals import clipped, t_interval
from stevec_report.offload import measure_offload
from stevec_report.outcomes import MeasuredOutcome


def blocks(analysis: Analysis) -> list[Block]:
    """The table of policies, the figure, the recommended policies, and the costs."""
    cells = measured_cells(analysis)
    if not cells:
        return [Words("note", "There is no valid trial whose freshness is known.")]
    return [
        policy_table(cells, run_dependence(analysis)),
        Figure(
            "freshness-offload",
            "Stale reads against origin offload, by policy",
            "Stale reads (upwards, from 0 on linearly to 0.1 % and logarithmically from there) against the share of "
            "reads that did not reach the origin (to the right), by policy; one panel per rate of edits. Low and to "
            "the right is good. Points are means of the trials with 95 % intervals; the dashed line is the Pareto "
            "front of the means: a policy off the front is small, as another one is at least as good in both. A point "
            "with limited trials in it is hollow; its counts hold.",
            lambda: freshness_offload.draw(_panels(cells)),
        ),
        tolerance_table(cells),
        cost_block(
            analysis,
            [({"policy": c.name, "edits": wording.percent(c.edit_ratio)}, c.door, c.outcomes) for c in cells],
            "policy",
        ),
    ]


def evidence(analysis: Analysis) -> None:
    """None of the study's hypotheses; the experiment states its expectations as data (`expectations.py`)."""
    return None


def measured_cells(analysis: Analysis) -> list[Measured]:
    """The cells with a valid trial whose freshness is known, by rate of edits, then in the order of definition."""
    found = []
    for members in all_outcomes.cells(analysis.valid).values():
        if cell := _measure(analysis, members):
            found.append(cell)
    return sorted(found, key=lambda cell: cell.edit_ratio)


def policy_table(cells: Sequence[Measured], depending: Dependence) -> Table:
    """One row per policy and rate of edits."""
    front = {id(cell) for ratio in edit_ratios(cells) for cell in pareto_front(with_edits(cells, ratio))}
    columns = [
        Column("policy", "policy", "text", left=True),
        Column("door", "door", "text", left=True, on_page=False),
        Column("edit_ratio", "edits", "percent"),
        Column("valid_trials", "trials", "count", on_page=False),
        Column("hit_percent", "hit ratio, %", "interval"),
        Column("offload_percent", "reads kept from the origin, %", "interval"),
        Column("offload_bytes", "in bytes", "percent", on_page=False),
        Column("stale_percent", "stale reads, %", "interval"),
        Column("staleness_p50_s", "outdated by, p50, s", on_page=False),
        Column("staleness_p95_s", "outdated by, p95, s"),
        Column("staleness_max_s", "longest"),
        Column("p50_ms", "wait, p50, ms", "interval", on_page=False),
        replace(rows.P99, label="wait, p99, ms"),
        rows.LIMITED,
        Column("edits", "edits a trial", on_page=False),
        Column("purge_calls", "purge calls", on_page=False),
        Column("purged_items", "URLs or tags in them", on_page=False),
        Column("front", "on the front", "text"),
        TRIALS_COLUMN,
    ]
    found = []
    for cell in cells:
        purges = [o.record.purges for o in cell.outcomes if o.record.purges]
        found.append(
            {
                "policy": cell.name,
                "door": cell.door,
                "edit_ratio": cell.edit_ratio,
                "valid_trials": len(cell.outcomes),
                "hit_percent": clipped(t_interval(cell.hits)).in_percent(),
                "offload_percent": cell.offload.in_percent(),
                "offload_bytes": mean(cell.bytes),
                "stale_percent": cell.stale_ratio.in_percent(),
                **{f"staleness_{level}_s": value for level, value in cell.old.seconds.items()},
                **rows.percentiles(limits.believed(cell.outcomes), depending),
                "limited_by": rows.limited_by(cell.outcomes),
                "edits": statistics.fmean(o.stats.writes for o in cell.outcomes),
                "purge_calls": mean(p.calls for p in purges),
                "purged_items": mean(p.urls + p.tags for p in purges),
                "front": "yes" if id(cell) in front else "",
                "trials": trials_cell(o.number for o in cell.outcomes),
            }
        )
    return Table(
        "policies",
        "Every policy: origin offload and stale reads.",
        "Means over the trials with 95 % intervals; the interval of stale reads counts edits. Edits always reach the "
        "origin and are in none of the shares. " + percentiles.NOTE + rows.LIMITED_NOTE,
        columns,
        found,
    )


def _measure(analysis: Analysis, members: Iterable[MeasuredOutcome]) -> Measured | None:
    found = []
    for outcome in members:
        offload = measure_offload(analysis, outcome)
        if offload is not None and outcome.stats.freshness:
            found.append((outcome, offload))
    old = staleness.of_trials([outcome for outcome, _ in found])
    if old is None:
        return None
    record = found[0][0].record
    return Measured(
        name=record.cell.get("policy", record.setting("policy", "ttl")),
        edit_ratio=record.number("edit_ratio"),
        door=record.door,
        asks_each_time=staleness.asks_each_time(analysis, found[0][0]),
        outcomes=[outcome for outcome, _ in found],
        hits=[offload.hit_ratio for _, offload in found],
        offloads=[offload.requests for _, offload in found],
        bytes=[offload.bytes for _, offload in found if offload.bytes is not None],
        old=old,
        ages_s=list(measures.by_block("staleness_max_s", [outcome for outcome, _ in found]).values()),
    )


def _panels(cells: Sequence[Measured]) -> list[dict[str, Any]]:
    panels = []
    for ratio in edit_ratios(cells):
        own = with_edits(cells, ratio)
        front = pareto_front(own)
        points = [
            {
                "label": cell.name,
                "door": cell.door,
                "offload": cell.offload.in_percent(),
                "stale": cell.stale_ratio.in_percent(),
                "front": cell in front,
                "limited_by": limits.cell_text(limits.limited(cell.outcomes)),
            }
            for cell in own
        ]
        panels.append({"title": f"{wording.percent(ratio)} edits", "points": points})
    return panels
