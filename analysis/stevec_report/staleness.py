"""Measures how old the readers' responses were, in seconds and versions, over the trials of each cell with edits.

`freshness` judges each trial; the unit is the trial, as everywhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from stevec_report import outcomes as all_outcomes
from stevec_report import wording
from stevec_report.analysis import Analysis
from stevec_report.averages import median
from stevec_report.blocks import TRIALS_COLUMN, Column, Table, trials_cell
from stevec_report.freshness.clusters import ClusterSums
from stevec_report.freshness.trial import TOLERANCE_MS
from stevec_report.intervals import Interval
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.stale_interval import TRIALS_ENOUGH, stale_interval

LEVELS = ("p50", "p95", "max")


@dataclass(frozen=True)
class Staleness:
    """Staleness over the trials of one cell. `clusters` are their reads by edit, one `ClusterSums` per trial; `stale`,
    `judged`, `uncertain` and `unknown` are numbers of reads over all of them.

    `seconds` and `versions` give the lag of stale reads by `LEVELS`: the median over the trials of each trial's own
    quantile, and the maximum over all trials. None where no read was stale.
    """

    clusters: list[ClusterSums]
    judged: int
    stale: int
    uncertain: int
    unknown: int
    seconds: dict[str, float | None]
    versions: dict[str, float | None]

    @property
    def ratio(self) -> Interval:
        """Stale ÷ judged reads of all trials, with its interval."""
        return stale_interval(self.clusters)

    @property
    def oldest_s(self) -> float:
        """Lag of the most outdated read in seconds; 0 if none was stale."""
        return self.seconds["max"] or 0.0


def of_trials(outcomes: Iterable[MeasuredOutcome]) -> Staleness | None:
    """Return the `Staleness` over those of the readable `outcomes` that had edits and reads; None without any."""
    known = [(o.stats.freshness, o.stats.clusters) for o in outcomes if o.stats.freshness]
    judged = [(own, clusters) for own, clusters in known if own["reads_judged"] and clusters]
    found = [own for own, _ in judged]
    if not found:
        return None

    def total(name: str) -> int:
        return sum(int(one[f"reads_{name}"]) for one in found)

    return Staleness(
        clusters=[clusters for _, clusters in judged],
        judged=total("judged"),
        stale=total("stale"),
        uncertain=total("uncertain"),
        unknown=total("unknown"),
        seconds={level: _over_trials(found, f"staleness_{level}_s", level) for level in LEVELS},
        versions={level: _over_trials(found, f"versions_behind_{level}", level) for level in LEVELS},
    )


def asks_each_time(analysis: Analysis, trial: MeasuredOutcome) -> bool:
    """Whether the origin is asked for each read of `trial`, so that none is stale by construction."""
    policy = trial.record.setting("policy", "ttl")
    return policy in ("revalidate", "no-store") or not analysis.run.doors[trial.door].caching


def ratio_of(analysis: Analysis, trials: Sequence[MeasuredOutcome]) -> Interval | None:
    """The share of stale reads over the trials of a cell; exactly 0 if none can be stale. None without edits."""
    found = of_trials(trials)
    if found is None:
        return None
    known = found.stale == 0 and asks_each_time(analysis, trials[0])
    return Interval(0.0, 0.0, 0.0, len(trials)) if known else found.ratio


def tables(analysis: Analysis) -> list[Table]:
    """The table of a run in a list, one row a cell that has edits; [] if none has."""
    rows, cells = [], []
    skew_ms = max((outcome.record.clock_skew_bound_ms for outcome in analysis.valid), default=0.0)
    for cell, members in all_outcomes.cells(analysis.valid).items():
        found = of_trials(members)
        ratio = ratio_of(analysis, members)
        if found is None or ratio is None:
            continue
        cells.append(found)
        row = {"cell": all_outcomes.cell_text(cell), "stale_percent": ratio.in_percent(), "stale": found.stale}
        row["stale_edits"] = sum(one.stale_clusters for one in found.clusters)
        row |= {"judged": found.judged, "uncertain": found.uncertain, "unknown": found.unknown}
        row |= {f"staleness_{level}_s": value for level, value in found.seconds.items()}
        row |= {f"versions_behind_{level}": value for level, value in found.versions.items()}
        rows.append(row | {"trials": trials_cell(o.number for o in members)})
    if not rows:
        return []
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("stale_percent", "stale reads, %", "interval"),
        Column("staleness_p50_s", "p50", group="outdated by, s"),
        Column("staleness_p95_s", "p95", group="outdated by, s"),
        Column("staleness_max_s", "longest", group="outdated by, s"),
        Column("versions_behind_p50", "p50", group="versions behind"),
        Column("versions_behind_p95", "p95", group="versions behind"),
        Column("versions_behind_max", "most", group="versions behind"),
        Column("stale", "stale", "count", group="reads of all trials"),
        Column("judged", "of", "count", group="reads of all trials"),
        Column("stale_edits", "after edits", "count", group="reads of all trials"),
        Column("uncertain", "uncertain", "count", group="reads of all trials"),
        Column("unknown", "without revision", "count", group="reads of all trials"),
        TRIALS_COLUMN,
    ]
    note = (
        "A read is stale if it returned a revision older than the newest one acknowledged before it was sent; its age "
        "counts from the first acknowledgement that made it old. Percentiles are the median over the trials, of stale "
        "reads alone; the 95 % interval counts edits, as the reads after one edit are stale together. Uncertain: taken "
        f"for fresh, as the edit came within {'' if skew_ms == 0 else 'up to '}{TOLERANCE_MS + skew_ms:.3g} ms."
    )
    return [Table("staleness", "How old stale reads are.", note + _few_trials(cells), columns, rows)]


def _few_trials(cells: Sequence[Staleness]) -> str:
    """A sentence on intervals that are wide for want of trials; '' if none is."""
    few = sum(len(found.clusters) < TRIALS_ENOUGH for found in cells)
    if not few:
        return ""
    of = f"{wording.part_of(few, len(cells), 'cell')} {'has' if few == 1 else 'have'}"
    return (
        f" {of} fewer than {TRIALS_ENOUGH} trials, whose intervals may be twice as wide as those of alike trials need."
    )


def _over_trials(found: Sequence[dict[str, Any]], name: str, level: str) -> float | None:
    values = [one[name] for one in found]
    return max((v for v in values if v is not None), default=None) if level == "max" else median(values)
