"""Which cache policy to choose: cells of the experiment P1, the Pareto front, and recommendations by tolerance."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stevec_report import wording
from stevec_report.blocks import Column, Table
from stevec_report.intervals import Interval, clipped, t_interval
from stevec_report.staleness import Staleness

NOT_SHOWN = "not shown"


@dataclass(frozen=True)
class Tolerance:
    """At most the share `stale_max` of the reads may be stale, and none by more than `age_max_s`."""

    stale_max: float
    age_max_s: float

    def __str__(self) -> str:
        if self.stale_max == 0:
            return "no stale read"
        return f"at most {wording.percent(self.stale_max)} stale reads, none by more than {self.age_max_s:g} s"


TOLERANCES = (Tolerance(0, 0), Tolerance(0.001, 1), Tolerance(0.01, 2), Tolerance(0.1, 5), Tolerance(0.5, 60))


@dataclass(frozen=True)
class Measured:
    """One cell: a policy at a door under a rate of edits. The lists have one value per valid trial.

    `hits` and `offloads` are shares of the reads; `old` has the reads that were stale, and by how much. `ages_s` are
    the ages of the most outdated reads of trials that were not limited: how long a purge takes is a time.
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
    ages_s: list[float]

    @property
    def offload(self) -> Interval:
        """Share of the reads kept from the origin, an `Interval`."""
        return clipped(t_interval(self.offloads))

    @property
    def stale_ratio(self) -> Interval:
        """Share of stale reads, an `Interval`. Where caches revalidate each read, none is stale by construction."""
        if self.old.stale == 0 and self.asks_each_time:
            return Interval(0.0, 0.0, 0.0, len(self.old.clusters))
        return self.old.ratio

    def meets(self, tolerance: Tolerance) -> bool | None:
        """True, False, or None where the trials leave it open.

        True requires that the whole interval is within the limit, and that no read is older than the maximum age.
        """
        if max(self.ages_s, default=0) > tolerance.age_max_s:
            return False
        bounds = self.stale_ratio.bounds
        if bounds is None:
            return None
        low, high = bounds
        if low > tolerance.stale_max:
            return False
        return True if high <= tolerance.stale_max and (self.ages_s or self.asks_each_time) else None


def tolerance_table(cells: Sequence[Measured]) -> Table:
    """For some tolerances, the policy with the highest offload among those shown to keep the tolerance."""
    columns = [
        Column("edit_ratio", "edits", "percent"),
        Column("tolerance", "tolerated", "text", left=True),
        Column("policy", "choose", "text", left=True),
        Column("offload", "reads kept from the origin", "percent"),
        Column("why", "why", "text", left=True, wrap=True),
    ]
    rows = []
    for ratio in edit_ratios(cells):
        for tolerance in TOLERANCES:
            chosen, why = recommend(with_edits(cells, ratio), tolerance)
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
        "The policy that keeps most reads from the origin, among those whose whole 95 % interval of stale reads is "
        "within the tolerance. Several are named where the trials do not show a difference. The choice holds for "
        "this load: more reads between two edits favour purging, fewer a lifetime.",
        columns,
        rows,
    )


def recommend(cells: Sequence[Measured], tolerance: Tolerance) -> tuple[list[Measured], str]:
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


def pareto_front(cells: Sequence[Measured]) -> list[Measured]:
    """The Pareto-optimal cells: no other has as much offload with fewer stale reads, or more offload with as few."""

    def beaten(cell: Measured) -> bool:
        x, y = cell.offload.centre, cell.stale_ratio.centre
        return any(
            other.offload.centre >= x
            and other.stale_ratio.centre <= y
            and (other.offload.centre > x or other.stale_ratio.centre < y)
            for other in cells
        )

    return sorted((c for c in cells if not beaten(c)), key=lambda c: (c.offload.centre, c.stale_ratio.centre))


def _is_less(cell: Measured, best: Measured) -> bool:
    """Whether the offload of `cell` is significantly less than that of `best`, paired by repetition."""
    own, other = ({o.block: v for o, v in zip(c.outcomes, c.offloads, strict=True)} for c in (cell, best))
    shared = own.keys() & other.keys()
    if len(shared) < 2:
        return False
    bounds = t_interval([own[r] - other[r] for r in sorted(shared)]).bounds
    return bounds is not None and bounds[1] < 0


def _stale_text(cell: Measured) -> str:
    text = f"{wording.interval_text(cell.stale_ratio.in_percent())} % of {wording.grouped(cell.old.judged)} reads"
    return f"{text}, by {wording.three_digits(cell.old.oldest_s)} s at the longest" if cell.old.stale else text


def edit_ratios(cells: Iterable[Measured]) -> list[float]:
    """The rates of edits of the cells, rising."""
    return sorted({cell.edit_ratio for cell in cells})


def with_edits(cells: Iterable[Measured], ratio: float) -> list[Measured]:
    """The cells with this rate of edits."""
    return [cell for cell in cells if cell.edit_ratio == ratio]
