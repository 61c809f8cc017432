"""The measures of a trial that verdicts are about, and which of them are times.

Every verdict takes its values from here, so that a limited trial enters none on times. Counts do not depend on how
long anything took (docs/decisions/0024-limited-trials-enter-no-verdict-on-times.md).
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from stevec_report.outcomes import BlockKey, MeasuredOutcome

Point = tuple[float, str | None]  # a trial's value, and what limited the trial (`Outcome.limited_by`)
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Measure:
    """`of` takes a trial's outcome and returns its value, None if it is unknown.

    `is_positive`: never 0, and it varies in proportion to its size, so "times as long" is judged by its logarithm.
    """

    is_time: bool
    of: Callable[[MeasuredOutcome], float | None]
    is_positive: bool = False


def _count(of: Callable[[MeasuredOutcome], float | None], is_positive: bool = False) -> Measure:
    return Measure(False, of, is_positive)


def _time(of: Callable[[MeasuredOutcome], float | None], is_positive: bool = False) -> Measure:
    return Measure(True, of, is_positive)


def cpu_ms_per_request(outcome: MeasuredOutcome, part: str) -> float | None:
    """Milliseconds of processor time of a part of the stack (all of its processes) ÷ answered requests, or None."""
    use = outcome.saturation.parts.get(part) if outcome.saturation else None
    answered_per_s = outcome.stats.completed_per_s
    return 1000 * use.cpu_cores / answered_per_s if use and use.cpu_cores and answered_per_s else None


def _requests_per_cpu_s(outcome: MeasuredOutcome) -> float | None:
    """Answered requests ÷ seconds of processor time of all wikis and the database."""
    wiki, database = (cpu_ms_per_request(outcome, part) for part in ("wiki", "database"))
    return None if wiki is None or database is None else 1000 / (wiki + database)


def _requests_per_wiki_cpu_s(outcome: MeasuredOutcome) -> float | None:
    """Answered requests ÷ seconds of processor time of all wikis, without the database."""
    wiki = cpu_ms_per_request(outcome, "wiki")
    return None if wiki is None else 1000 / wiki


MEASURES = {
    # Counted request by request, and checked against the witnesses.
    "hit_ratio": _count(lambda o: o.stats.hit_ratio),
    "cache_hits": _count(lambda o: o.stats.served_by_cache),
    "origin_offload": _count(lambda o: None if o.stats.background else o.offload),
    "origin_requests": _count(lambda o: o.record.counter_requests),
    "origin_reads": _count(lambda o: o.record.counter_reads),
    "stale_ratio": _count(lambda o: o.stats.stale_ratio),
    # From the kernel's count of processor time, which waiting for a core does not lengthen.
    "requests_per_cpu_s": _count(_requests_per_cpu_s, is_positive=True),
    "requests_per_wiki_cpu_s": _count(_requests_per_wiki_cpu_s, is_positive=True),
    # So is this one, with what the queue does after the answers.
    "edit_cpu_ms": _count(lambda o: o.record.fan_out.edit_cpu_ms if o.record.fan_out else None, is_positive=True),
    # From clocks.
    "feed_delay_max_ms": _time(lambda o: o.record.fan_out.longest_ms if o.record.fan_out else None),
    "mean_ms": _time(lambda o: o.stats.mean_ms or None, is_positive=True),
    "wait_ms": _time(lambda o: o.stats.wait_ms),
    "p50_ms": _time(lambda o: o.stats.p50_ms, is_positive=True),
    "p95_ms": _time(lambda o: o.stats.p95_ms, is_positive=True),
    "p99_ms": _time(lambda o: o.stats.p99_ms, is_positive=True),
    # People's views and saves apart: a few saves would be most of the p99 of both.
    "read_p99_ms": _time(lambda o: o.stats.read_p99.centre if o.stats.read_p99 else None, is_positive=True),
    "write_p95_ms": _time(lambda o: o.stats.write_p95.centre if o.stats.write_p95 else None, is_positive=True),
    "answered_per_s": _time(lambda o: o.stats.completed_per_s or None, is_positive=True),
    # How long a purge takes is in the age of a copy.
    "staleness_max_s": _time(lambda o: (o.stats.freshness["staleness_max_s"] or 0.0) if o.stats.freshness else None),
    # A request fails by a time-out, by a full queue, or for want of a VU, which is a matter of time.
    "failures": _time(lambda o: o.stats.failures),
    "failed_ratio": _time(
        lambda o: (o.stats.failures + o.record.never_sent) / (o.stats.requests + o.record.never_sent)
    ),
}


def judged(name: str, trials: Iterable[MeasuredOutcome]) -> list[MeasuredOutcome]:
    """Those of the valid `trials` that may enter a verdict on the measure `name`."""
    return [trial for trial in trials if not (MEASURES[name].is_time and trial.limited)]


def values(name: str, trials: Iterable[MeasuredOutcome], key: Callable[[MeasuredOutcome], Key]) -> dict[Key, float]:
    """Return {key of a trial: value} of the trials that may enter a verdict on `name` and have a known value."""
    found = {key(trial): MEASURES[name].of(trial) for trial in judged(name, trials)}
    return {one: value for one, value in found.items() if value is not None}


def points(name: str, trials: Iterable[MeasuredOutcome]) -> list[Point]:
    """Return the points that a figure draws, of all `trials` that have a value, by repetition."""
    ordered = sorted(trials, key=lambda trial: trial.block)
    return [(value, trial.limited_by) for trial in ordered if (value := MEASURES[name].of(trial)) is not None]


def by_block(name: str, trials: Iterable[MeasuredOutcome]) -> dict[BlockKey, float]:
    """`values` of the trials of one cell by their block, in which trials of two cells are paired."""
    return values(name, trials, lambda trial: trial.block)
