"""P1, policy: how much load each cache policy takes off the origin, and how old it lets pages become."""

import math
import statistics
from dataclasses import dataclass

from stevec_report import outcomes as all_outcomes
from stevec_report import staleness, wording
from stevec_report.blocks import TRIALS_COLUMN, Column, Figure, Table, Words, trials_cell
from stevec_report.costs import cost_block
from stevec_report.figures import freshness_offload
from stevec_report.intervals import LEVEL, Interval, clipped, t_interval
from stevec_report.offload import measure_offload
from stevec_report.staleness import Staleness

NOT_SHOWN = "not shown"


@dataclass(frozen=True)
class Tolerance:
    """At most the share `stale_max` of the reads may be stale, and none by more than `age_max_s`."""

    stale_max: float
    age_max_s: float

    def __str__(self):
        if self.stale_max == 0:
            return "no stale read"
        return f"at most {wording.percent(self.stale_max)} stale reads, none by more than {self.age_max_s:g} s"


TOLERANCES = (Tolerance(0, 0), Tolerance(0.001, 1), Tolerance(0.01, 2), Tolerance(0.1, 5), Tolerance(0.5, 60))


@dataclass(frozen=True)
class Measured:
    """One cell: a policy at a door under a rate of edits. The lists have one value per valid trial.

    `hits` and `offloads` are shares of the reads; `old` has the reads that were stale, and by how much.
    """

    name: str
    edit_ratio: float
    door: str
    asks_each_time: bool
    outcomes: list
    hits: list[float]
    offloads: list[float]
    bytes: list[float]
    old: Staleness

    @property
    def offload(self):
        """Share of the reads kept from the origin, an `Interval`."""
        return clipped(t_interval(self.offloads))

    @property
    def stale_ratio(self):
        """Share of stale reads, an `Interval`.

        Where caches revalidate each read, none is stale by construction. Elsewhere, without any stale read there is no
        spread from which to compute an interval. The upper bound is then that of n reads without an event, which are
        treated as independent: 1 − (1 − level)^(1/n) (J. A. Hanley, A. Lippman-Hand, "If nothing goes wrong, is
        everything all right?", JAMA 249(13), 1983).
        """
        ratios = self.old.ratios
        if self.old.stale == 0 and self.asks_each_time:
            return Interval(0.0, 0.0, 0.0, len(ratios))
        if self.old.stale == 0 and len(ratios) > 1:
            return Interval(0.0, 0.0, -math.expm1(math.log(1 - LEVEL) / self.old.judged), len(ratios))
        return clipped(t_interval(ratios))

    def meets(self, tolerance):
        """True, False, or None where the trials leave it open.

        True requires that the whole interval is within the limit, and that no read is older than the maximum age.
        """
        if self.old.oldest_s > tolerance.age_max_s:
            return False
        stale = self.stale_ratio
        if stale.low is None:
            return None
        return True if stale.high <= tolerance.stale_max else False if stale.low > tolerance.stale_max else None


def blocks(analysis):
    """The table of policies, the figure, the recommended policies, and the costs."""
    cells = measured_cells(analysis)
    if not cells:
        return [Words("note", "There is no valid trial whose freshness can be told.")]
    return [
        policy_table(cells),
        Figure(
            "freshness-offload",
            "Stale reads against what the cache takes from the origin, by policy",
            "Stale reads (upwards, from 0 on linearly to 0.1 % and logarithmically from there) against the share of "
            "reads that did not reach the origin (to the right), by policy; one panel a rate of edits. Low and to the "
            "right is good. Points are means of the trials with their 95 % intervals; the dashed line is the Pareto "
            "front of the means: what is not on it is hollow, as another policy is at least as good in both.",
            lambda: freshness_offload.draw(_panels(cells)),
        ),
        tolerance_table(cells),
        cost_block(
            analysis,
            [({"policy": c.name, "edits": wording.percent(c.edit_ratio)}, c.door, c.outcomes) for c in cells],
            "policy",
        ),
    ]


def evidence(analysis):
    """None of the study's hypotheses; the experiment states its expectations as data (`expectations.py`)."""
    return None


def measured_cells(analysis):
    """The cells with a valid trial whose freshness is known, by rate of edits, then in the order of definition."""
    found = []
    for members in all_outcomes.cells(analysis.valid).values():
        if cell := _measure(analysis, members):
            found.append(cell)
    return sorted(found, key=lambda cell: cell.edit_ratio)


def policy_table(cells):
    """One row per policy and rate of edits."""
    front = {id(cell) for ratio in _ratios(cells) for cell in pareto_front(_of(cells, ratio))}
    columns = [
        Column("policy", "policy", "text", left=True),
        Column("door", "door", "text", left=True),
        Column("edit_ratio", "edits", "percent"),
        Column("valid_trials", "trials", "count"),
        Column("hit_percent", "hit ratio, %", "interval"),
        Column("offload_percent", "reads kept from the origin, %", "interval"),
        Column("offload_bytes", "in bytes", "percent"),
        Column("stale_percent", "stale reads, %", "interval"),
        Column("staleness_p50_s", "outdated by, p50, s"),
        Column("staleness_p95_s", "p95"),
        Column("staleness_max_s", "longest"),
        Column("p50_ms", "wait, p50, ms"),
        Column("p99_ms", "p99"),
        Column("edits", "edits a trial"),
        Column("purge_calls", "purge calls"),
        Column("purged_items", "URLs or tags in them"),
        Column("front", "on the front", "text"),
        TRIALS_COLUMN,
    ]
    rows = []
    for cell in cells:
        purges = [o.record.purges for o in cell.outcomes if o.record.purges]
        timed = [o.stats for o in cell.outcomes if o.mean_ms]
        numbers = tuple(o.number for o in cell.outcomes)
        rows.append(
            {
                "policy": cell.name,
                "door": cell.door,
                "edit_ratio": cell.edit_ratio,
                "valid_trials": len(cell.outcomes),
                "hit_percent": _in_percent(clipped(t_interval(cell.hits))),
                "offload_percent": _in_percent(cell.offload),
                "offload_bytes": statistics.fmean(cell.bytes) if cell.bytes else None,
                "stale_percent": _in_percent(cell.stale_ratio),
                **{f"staleness_{level}_s": value for level, value in cell.old.seconds.items()},
                "p50_ms": statistics.median(s.p50_ms for s in timed) if timed else None,
                "p99_ms": statistics.median(s.p99_ms for s in timed) if timed else None,
                "edits": statistics.fmean(o.stats.writes for o in cell.outcomes),
                "purge_calls": statistics.fmean(p.calls for p in purges) if purges else None,
                "purged_items": statistics.fmean(p.urls + p.tags for p in purges) if purges else None,
                "front": "yes" if id(cell) in front else "",
                "trials": trials_cell(numbers),
            }
        )
    return Table(
        "policies",
        "Every policy: what it saves, and how old it lets pages become.",
        "Means over the trials with 95 % intervals. A read is stale if it returned a revision older than the newest "
        "that had been acknowledged when it was sent; outdated by: of stale reads, the median over the trials of each "
        "trial's own, and the most of all. Reads kept from the origin are fewer than hits where the edge renews on its "
        "own. Edits reach the origin always, and are in none of these shares. Each edit is told to the edge twice, and "
        "what falls together in one call. "
        "Waits are those of all answered requests, the median over the trials.",
        columns,
        rows,
    )


def tolerance_table(cells):
    """For some tolerances, the policy with the highest offload among those shown to keep the tolerance."""
    columns = [
        Column("edit_ratio", "edits", "percent"),
        Column("tolerance", "tolerated", "text", left=True),
        Column("policy", "choose", "text", left=True),
        Column("offload", "reads kept from the origin", "percent"),
        Column("why", "why", "text", left=True, wrap=True),
    ]
    rows = []
    for ratio in _ratios(cells):
        for tolerance in TOLERANCES:
            chosen, why = recommend(_of(cells, ratio), tolerance)
            rows.append(
                {
                    "edit_ratio": ratio,
                    "tolerance": str(tolerance),
                    "policy": wording.join_words(cell.name for cell in chosen) or NOT_SHOWN,
                    "offload": chosen[0].offload.centre if chosen else None,
                    "why": why,
                }
            )
    return Table(
        "tolerances",
        "What to choose.",
        "For readers who tolerate so many stale reads, the policy that keeps most reads from the origin among those "
        "whose stale reads are within, with the whole 95 % interval and no read beyond the age; several where their "
        "difference, paired by repetition, is not shown. It holds for this load: more reads between two edits favour "
        "purging, rarer ones a lifetime.",
        columns,
        rows,
    )


def recommend(cells, tolerance):
    """Return (recommended cells, best first, and the reason in words). No cell if none is shown to keep the tolerance.

    Args:
        cells: `Measured`, all under the same rate of edits.
    """
    within = sorted((c for c in cells if c.meets(tolerance)), key=lambda c: -c.offload.centre)
    best = within[0].offload.centre if within else -math.inf
    chosen = [cell for cell in within if cell is within[0] or not _is_less(cell, within[0])]
    reasons = []
    for cell in chosen:
        stale = "none by construction" if cell.asks_each_time else _stale_text(cell)
        reasons.append(f"{cell.name} keeps {wording.percent(cell.offload.centre)} from the origin, stale: {stale}")
    for cell in sorted(cells, key=lambda c: -c.offload.centre):
        if cell.offload.centre <= best or cell in chosen:
            continue
        verdict = "is beyond it" if cell.meets(tolerance) is False else f"is {NOT_SHOWN} to be within"
        reasons.append(
            f"{cell.name} would keep {wording.percent(cell.offload.centre)} and {verdict}: {_stale_text(cell)}"
        )
    return chosen, "; ".join(reasons) + "."


def pareto_front(cells):
    """The Pareto-optimal cells: no other has as much offload with fewer stale reads, or more offload with as few."""

    def beaten(cell):
        x, y = cell.offload.centre, cell.stale_ratio.centre
        return any(
            other.offload.centre >= x
            and other.stale_ratio.centre <= y
            and (other.offload.centre > x or other.stale_ratio.centre < y)
            for other in cells
        )

    return sorted((c for c in cells if not beaten(c)), key=lambda c: (c.offload.centre, c.stale_ratio.centre))


def _measure(analysis, members):
    found = []
    for outcome in members:
        offload = measure_offload(analysis, outcome)
        if offload is not None and outcome.stats.freshness:
            found.append((outcome, offload))
    old = staleness.of_trials([outcome for outcome, _ in found])
    if old is None:
        return None
    record = found[0][0].record
    policy = record.setting("policy", "ttl")
    return Measured(
        name=record.cell.get("policy", policy),
        edit_ratio=record.number("edit_ratio"),
        door=record.door,
        asks_each_time=policy in ("revalidate", "no-store") or not analysis.run.doors[record.door].caching,
        outcomes=[outcome for outcome, _ in found],
        hits=[offload.hit_ratio for _, offload in found],
        offloads=[offload.requests for _, offload in found],
        bytes=[offload.bytes for _, offload in found if offload.bytes is not None],
        old=old,
    )


def _is_less(cell, best):
    """Whether the offload of `cell` is significantly less than that of `best`, paired by repetition."""
    own, other = ({o.repetition: v for o, v in zip(c.outcomes, c.offloads, strict=True)} for c in (cell, best))
    shared = own.keys() & other.keys()
    if len(shared) < 2:
        return False
    return t_interval([own[r] - other[r] for r in sorted(shared)]).high < 0


def _stale_text(cell):
    text = f"{wording.interval_text(_in_percent(cell.stale_ratio))} % of {wording.grouped(cell.old.judged)} reads"
    return f"{text}, by {wording.three_digits(cell.old.oldest_s)} s at the longest" if cell.old.stale else text


def _panels(cells):
    panels = []
    for ratio in _ratios(cells):
        own = _of(cells, ratio)
        front = pareto_front(own)
        points = [
            {
                "label": cell.name,
                "door": cell.door,
                "offload": _in_percent(cell.offload),
                "stale": _in_percent(cell.stale_ratio),
                "front": cell in front,
            }
            for cell in own
        ]
        panels.append({"title": f"{wording.percent(ratio)} edits", "points": points})
    return panels


def _ratios(cells):
    return sorted({cell.edit_ratio for cell in cells})


def _of(cells, ratio):
    return [cell for cell in cells if cell.edit_ratio == ratio]


def _in_percent(interval):
    low, high = (None if bound is None else 100 * bound for bound in (interval.low, interval.high))
    return Interval(100 * interval.centre, low, high, interval.n)
