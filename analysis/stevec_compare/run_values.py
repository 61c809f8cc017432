"""One value of each cell and measure for a run: what a comparison of runs takes from it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stevec_compare.counts import Count, total
from stevec_compare.run import RunNumbers, TrialNumbers

RATIOS = ("mean_ms", "p95_ms")  # compared as ratios, on a logarithmic scale
COUNTED = ("hit_ratio", "stale_ratio", "failed_ratio")  # shares of requests, compared as gaps


@dataclass(frozen=True)
class RunValues:
    """A run: {(measure, cell): value}. `logs` are means of the trials' logarithms of ms, `counts` sums of the trials.

    A cell lacks a measure where no valid trial has it.
    """

    name: str
    logs: dict[tuple[str, str], float]
    counts: dict[tuple[str, str], Count]


def values_of(run: RunNumbers) -> RunValues:
    """Return the `RunValues` of a run's trials."""
    logs, counts = {}, {}
    for cell, trials in run.cells.items():
        for measure in RATIOS:
            if own := list(trial_logs(trials, measure).values()):
                logs[measure, cell] = math.fsum(own) / len(own)
        for measure in COUNTED:
            if units := trial_counts(trials, measure):
                counts[measure, cell] = total(units)
    return RunValues(run.name, logs, counts)


def trial_logs(trials: Iterable[TrialNumbers], measure: str) -> dict[int, float]:
    """{repetition: logarithm of a time in ms} of the trials that have it."""
    times = {trial.repetition: trial.time_of(measure) for trial in trials}
    return {repetition: math.log(value) for repetition, value in times.items() if value is not None}


def trial_counts(trials: Iterable[TrialNumbers], measure: str) -> list[Count]:
    """The counts of the trials that have the measure."""
    found = (trial.count_of(measure) for trial in trials)
    return [one for one in found if one is not None and one.of > 0]


def is_constant(first: Sequence[RunNumbers], second: Sequence[RunNumbers], cell: str, measure: str) -> bool:
    """Whether the plan fixes a count: all trials of both sides agree, or all that sent the same requests do.

    For the second, every plan and repetition has to be on both sides. A share of 0 or 1 in all trials is constant, too:
    no test could find a difference in it.
    """
    sides = [
        [
            (run.plan, trial.repetition, trial.count_of(measure))
            for run in side
            for trial in run.cells.get(cell, [])
            if trial.count_of(measure) is not None
        ]
        for side in (first, second)
    ]
    both = [*sides[0], *sides[1]]
    counted = [one for _, _, one in both if one is not None]
    if len(set(counted)) <= 1 or {one.events / one.of for one in counted if one.of} in ({0.0}, {1.0}):
        return True
    if any(plan is None for plan, _, _ in both):
        return False
    by_plan = [{(plan, repetition) for plan, repetition, _ in side} for side in sides]
    return by_plan[0] == by_plan[1] and len({key[:2] for key in both}) == len(set(both))
