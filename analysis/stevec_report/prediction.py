"""Compares the prediction of a model for each cell with the measurements of its trials.

Each trial is predicted separately. The only inputs are its settings, the requests that it sent and its duration; no
other measurement enters. The reads of a background go through the same cache, so both sides include them.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stevec_predict import CellPrediction, Expected, ScenarioError, draws_of_cell, predict_cell
from stevec_predict.cell import PURGE_DELAYS_OF_A_SITE_S, PURGE_DELAYS_S
from stevec_predict.trial_settings import is_uncollapsed
from stevec_report import outcomes as all_outcomes
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Cell, Column, Row, Table, trials_cell
from stevec_report.intervals import Interval, clipped, t_interval
from stevec_report.outcomes import CellKey, MeasuredOutcome
from stevec_report.run_folder import Door, Run
from stevec_report.trial_stats import TrialStats
from stevec_report.wording import join_words

NOBODY_EDITS = "nobody edits"
FAILED_MAX = 0.01  # share of failed requests; the model assumes an origin that answers
# A collapsed request waits so long for a fetch that makes no progress, then another one starts (nginx/lua/flight.lua).
COLLAPSED_WAIT_MAX_S = 5
RATIOS = (("hit", "hit ratio, %"), ("stale", "stale reads, %"))
NOTE = (
    "Per cent of the reads, a background's included. “95 % of trials” is where a trial lies by chance alone if the "
    "model is right; “inside” counts the trials that do."
)


@dataclass(frozen=True)
class Compared:
    """One valid trial: the prediction and the measured ratios; the stale ratio is None where nothing was edited while
    it was read."""

    number: int
    predicted: CellPrediction
    hit_ratio: float
    stale_ratio: float | None


@dataclass(frozen=True)
class CellCompared:
    """One cell. `missing` says why there is no model, or no measurement; `trials` is then empty."""

    cell: tuple
    trials: tuple[Compared, ...]
    missing: str

    def gaps(self, ratio: str) -> list[float]:
        """Measured − predicted of each trial, for "hit" or "stale"."""
        return [
            getattr(one, f"{ratio}_ratio") - getattr(one.predicted, f"{ratio}_ratio").centre
            for one in self.trials
            if getattr(one, f"{ratio}_ratio") is not None
        ]

    def inside(self, ratio: str) -> int:
        """How many trials lie in their interval."""
        return sum(
            getattr(one.predicted, f"{ratio}_ratio").holds(getattr(one, f"{ratio}_ratio"))
            for one in self.trials
            if getattr(one, f"{ratio}_ratio") is not None
        )


def compare_cells(analysis: Analysis) -> list[CellCompared]:
    """Return a list of `CellCompared`, one for each cell, in the order in which cells are shown."""
    return [
        _compare_cell(cell, all_outcomes.valid_of(members), analysis.run)
        for cell, members in all_outcomes.cells(analysis.outcomes).items()
    ]


def table(compared: Iterable[CellCompared]) -> Table:
    """The table of a run. `compared` is as `compare_cells` returns it."""
    columns = [Column("cell", "cell", "text", left=True)]
    for key, label in RATIOS:
        columns += [
            Column(f"{key}_predicted", "predicted (95 % of trials)", "interval", label),
            Column(f"{key}_measured", "measured (95 % interval)", "interval", label),
            Column(f"{key}_difference", "difference", "interval", label, on_page=False),
            Column(f"{key}_inside", "inside", "text", label),
        ]
    columns += [
        Column("model", "model", "text", left=True, wrap=True),
        replace(TRIALS_COLUMN, on_page=False),
    ]
    return Table("prediction", "Prediction beside measurement.", NOTE, columns, [_row(one) for one in compared])


def summary_table(compared_by_experiment: Mapping[str, Sequence[CellCompared]]) -> Table:
    """The table of a study: one row an experiment. The argument is {name: list of `CellCompared`}."""
    columns = [
        Column("experiment", "experiment", "text", left=True),
        Column("cells", "cells", "count"),
        Column("modelled", "with a model", "count"),
    ]
    for key, label in RATIOS:
        columns += [
            Column(f"{key}_trials", "trials", "count", label),
            Column(f"{key}_inside", "inside", "count", label),
            Column(f"{key}_largest", "largest difference of a cell, points", "number", label),
        ]
    rows = []
    for name, cells in compared_by_experiment.items():
        with_model = [one for one in cells if one.trials]
        row = {"experiment": Cell(name, anchor=name), "cells": len(cells), "modelled": len(with_model)}
        for key, _ in RATIOS:
            gaps = [one.gaps(key) for one in with_model if one.gaps(key)]
            means = [statistics.fmean(values) for values in gaps]
            row |= {
                f"{key}_trials": sum(map(len, gaps)),
                f"{key}_inside": sum(one.inside(key) for one in with_model),
                f"{key}_largest": 100 * max(means, key=abs) if means else None,
            }
        rows.append(row)
    note = (
        "“Inside” counts the trials that lie where 95 % of them lie if the model is right. The sections of the "
        "experiments show each cell."
    )
    return Table("predictions", "Prediction beside measurement.", note, columns, rows)


def _compare_cell(cell: CellKey, valid: Sequence[MeasuredOutcome], run: Run) -> CellCompared:
    if not valid:
        return CellCompared(cell, (), "no valid trial")
    failed = sum(o.stats.failures for o in valid) / sum(o.stats.requests for o in valid)
    if failed > FAILED_MAX:
        return CellCompared(cell, (), f"no model: {100 * failed:.3g} % of the requests failed")
    stalled = sum(_outwaits_collapsing(o, run.doors) for o in valid)
    if stalled:
        return CellCompared(cell, (), f"no model: {_stalled_text(stalled, len(valid))}")
    try:
        middle = sorted(valid, key=lambda o: o.stats.span_s)[len(valid) // 2]
        # A zone's wiki is a real site, not the lab's, so it purges a second time after the site's default delay.
        delays_s = PURGE_DELAYS_OF_A_SITE_S if run.target else PURGE_DELAYS_S
        draws = draws_of_cell(_settings(middle, run.doors), **_facts(middle), purge_delays_s=delays_s)
        trials = [
            Compared(
                o.number,
                predict_cell(_settings(o, run.doors), **_facts(o), purge_delays_s=delays_s, draws=draws),
                _hit_ratio(o),
                o.stats.stale_ratio,
            )
            for o in valid
            if o.stats.reads
        ]
    except (ScenarioError, KeyError, TypeError, ValueError) as error:
        why = f"the setting {error} is missing" if isinstance(error, KeyError) else str(error)
        return CellCompared(cell, (), f"no model: {why}")
    return CellCompared(cell, tuple(trials), "" if trials else "there are no reads")


def _outwaits_collapsing(outcome: MeasuredOutcome, doors: dict[str, Door]) -> bool:
    """Whether fetches may have taken so long that one page was fetched several times though requests collapse."""
    settings = outcome.record.settings
    return (
        doors[outcome.door].caching
        and settings.get("cache", "edge") == "edge"
        and not is_uncollapsed(settings)
        and (outcome.stats.service_max_ms or 0) > 1000 * COLLAPSED_WAIT_MAX_S
    )


def _stalled_text(stalled: int, trials: int) -> str:
    which = "the trial" if trials == 1 else f"{stalled} of the {trials} trials"
    return (
        f"in {which} a response took longer than {COLLAPSED_WAIT_MAX_S} s, after which the edge fetches a page again "
        "for the requests that wait for it"
    )


def _settings(outcome: MeasuredOutcome, doors: dict[str, Door]) -> dict[str, Any]:
    """The settings of a trial; a door that the manifest marks as not caching counts as such, whatever its name."""
    settings = outcome.record.settings
    return settings if doors[outcome.door].caching else settings | {"door": "source"}


def _facts(outcome: MeasuredOutcome) -> dict[str, Any]:
    background = outcome.stats.background
    return {
        "duration_s": _span_s(outcome.stats),
        "requests": outcome.stats.iterations,
        "other_reads": background.requests if background else 0,
    }


def _span_s(stats: TrialStats) -> float:
    first, last = stats.first_sent_us, stats.last_done_us
    if stats.background:
        first, last = min(first, stats.background.first_sent_us), max(last, stats.background.last_done_us)
    return (last - first) / 1e6


def _hit_ratio(outcome: MeasuredOutcome) -> float:
    stats = outcome.stats
    reads, served = stats.reads, stats.served_reads
    if stats.background:
        reads, served = reads + stats.background.requests, served + stats.background.served_by_cache
    return served / reads


def _row(one: CellCompared) -> Row:
    row: Row = {"cell": all_outcomes.cell_text(one.cell)}
    if not one.trials:
        return row | {"model": one.missing}
    models = {trial.predicted.model for trial in one.trials}
    row |= {"model": join_words(sorted(models)), "trials": trials_cell(trial.number for trial in one.trials)}
    for key, _ in RATIOS:
        gaps = one.gaps(key)
        if not gaps:
            row[f"{key}_inside"] = NOBODY_EDITS
            continue
        predicted = [getattr(trial.predicted, f"{key}_ratio") for trial in one.trials]
        measured = [getattr(trial, f"{key}_ratio") for trial in one.trials]
        inside = one.inside(key)
        row |= {
            f"{key}_predicted": _mean_expected(predicted),
            f"{key}_measured": clipped(t_interval([value for value in measured if value is not None])).in_percent(),
            f"{key}_difference": t_interval(gaps).in_percent(),
            f"{key}_inside": Cell(f"{inside} of {len(gaps)}", mark="valid" if inside == len(gaps) else ""),
        }
    return row


def _mean_expected(predicted: Sequence[Expected]) -> Interval:
    centre, low, high = (
        100 * statistics.fmean(getattr(one, name) for one in predicted) for name in ("centre", "low", "high")
    )
    return Interval(centre, low, high, len(predicted))
