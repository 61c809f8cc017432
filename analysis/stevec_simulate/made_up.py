"""Runs that exist in memory only, in the form in which the report's code gets them.

Nothing is read from a file, so thousands can be judged in a minute. What the files of a run go through before is
tested elsewhere (tests/test_samples.py, tests/test_sample_run.py).
"""

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from stevec_report.analysis import Analysis
from stevec_report.law import LawCheck
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.run_folder import Door, Run
from stevec_report.samples import Samples
from stevec_report.trial_record import TrialRecord
from stevec_report.trial_stats import PERCENTILES, TrialStats
from stevec_simulate.noise import Noise

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
TRIAL_S = 10
DOORS = {"source": False, "nocache": False, "local": True, "cached": True}  # {door: whether it caches}


@dataclass(frozen=True)
class MadeUpTrial:
    """One trial: its cell, its settings, and what was measured. Times are in ms, counts are requests.

    With `expected_reads` the reads at the origin are drawn around it, and a cache serves the others (`disturbed`).
    """

    repetition: int
    door: str
    cell: Mapping[str, str]
    settings: Mapping[str, Any]
    mean_ms: float
    requests: int = 1000
    writes: int = 0
    origin_reads: int = 0
    served: int = 0
    expected_reads: float | None = None

    def disturbed(self, deviation: float, rng: np.random.Generator) -> "MadeUpTrial":
        """The trial with exp(`deviation`) times its mean, and as many expected reads, which are Poisson."""
        factor = math.exp(deviation)
        if self.expected_reads is None:
            return replace(self, mean_ms=factor * self.mean_ms)
        reads = min(int(rng.poisson(factor * self.expected_reads)), self.requests - self.writes)
        served = self.requests - self.writes - reads
        return replace(self, mean_ms=factor * self.mean_ms, origin_reads=reads, served=served)


def make_up(name: str, trials: Sequence[MadeUpTrial], expectations: Sequence[Mapping[str, Any]] = ()) -> Analysis:
    """The `Analysis` of a run of the experiment `name` with these valid `trials`, in their order of time."""
    experiment = {"name": name, "id": name, "settings": {}, "factors": {}, "expectations": list(expectations)}
    manifest = {"experiment": experiment, "kind": "run", "status": "complete"}
    doors = {t.door: Door(t.door, f"http://{t.door}.invalid/", DOORS[t.door]) for t in trials}
    run = Run(Path("made-up"), manifest, experiment, doors, {}, [], [])
    outcomes = [_outcome(number, trial) for number, trial in enumerate(trials, start=1)]
    numbers = tuple(outcome.number for outcome in outcomes)
    return Analysis(run, _NO_SAMPLES, LawCheck(len(numbers), numbers, {}, ()), list(outcomes))


def measure(
    blocks: Iterable[Sequence[MadeUpTrial]], noise: Noise, rng: np.random.Generator, is_one_stack: bool = False
) -> list[MadeUpTrial]:
    """The trials of all blocks with `noise`, those of a block in a random order, as the lab runs them.

    The lab starts the stack anew for each block of a sample. So a cell has a level of its own in each block, or one in
    all blocks with `is_one_stack`.
    """
    trials = [block[at] for block in blocks for at in rng.permutation(len(block))]
    stacks = [(0 if is_one_stack else trial.repetition, *sorted(trial.cell.items())) for trial in trials]
    known = dict.fromkeys(stacks)
    levels = dict(zip(known, noise.runs(rng, len(known)), strict=True))
    return [
        trial.disturbed(levels[stack] + own, rng)
        for trial, stack, own in zip(trials, stacks, noise.trials(rng, len(trials)), strict=True)
    ]


def _outcome(number: int, trial: MadeUpTrial) -> MeasuredOutcome:
    started = BEGINNING + timedelta(seconds=TRIAL_S * number)
    record = replace(
        _RECORD,
        repetition=trial.repetition,
        door=trial.door,
        cell=dict(trial.cell),
        settings={"vus": 1, "model": "closed", **trial.settings},
        started_at=started,
        finished_at=started + timedelta(seconds=TRIAL_S),
        requests_sent=trial.requests,
        reads_sent=trial.requests - trial.writes,
        writes_sent=trial.writes,
        counter_requests=trial.origin_reads + trial.writes,
        counter_reads=trial.origin_reads,
        counter_writes=trial.writes,
        served_by_cache=trial.served,
    )
    first_us = round(started.timestamp() * 1e6)
    stats = replace(
        _STATS,
        requests=trial.requests,
        reads=trial.requests - trial.writes,
        writes=trial.writes,
        iterations=trial.requests - trial.writes,
        served_reads=trial.served,
        cache_statuses={"HIT": trial.served},
        first_sent_us=first_us,
        last_done_us=first_us + TRIAL_S * 1_000_000,
        mean_ms=trial.mean_ms,
        wait_ms=trial.mean_ms,
        percentiles_ms=(trial.mean_ms,) * len(PERCENTILES),
    )
    return MeasuredOutcome(number, f"trials/{number:04d}", True, True, (), record, stats, queued=False)


_NO_SAMPLES = Samples(duckdb.connect(), tempfile.TemporaryDirectory())
_RECORD = TrialRecord(
    repetition=1, plan="p1", door="source", cell={}, settings={}, valid=True, invalid_reasons=(), started_at=BEGINNING,
    finished_at=BEGINNING, clock_step_s=0.0, requests_sent=0, requests_failed=0, reads_sent=0, writes_sent=0,
    distinct_pages=100, counter_requests=0, counter_reads=0, counter_writes=0, counter_expected=None, served_by_cache=0,
    log_lines={}, never_sent=0, lag=None, wall_s=None, generator_cpu_share=None, generator_limited=False,
    background=None, overlap_proved=None, proof_statuses=(),
)  # fmt: skip
_STATS = TrialStats(
    requests=0, failures=0, reads=0, writes=0, iterations=0, distinct_pages=100, cache_statuses={}, pops={},
    served_reads=0, first_sent_us=0, last_done_us=0, mean_ms=None, wait_ms=0.0, percentiles_ms=None, max_ms=None,
    service_mean_ms=None, service_p99_ms=None, service_max_ms=None, all_percentiles_ms=(), slow=0, failure_kinds={},
    unanswered=0, freshness=None, background=None,
)  # fmt: skip
