"""Reads the data by which runs are compared: the manifest, and a few numbers of each trial.

The report's code (`stevec_report.analysis`) reads the run and judges its trials, so that the report and the comparison
leave out the same trials.
"""

from dataclasses import dataclass, field
from pathlib import Path

from stevec_compare.counts import Count
from stevec_compare.errors import CompareError
from stevec_report import limits, run_folder, wording
from stevec_report.analysis import Analysis, analyse
from stevec_report.conditions import read_conditions
from stevec_report.measures import MEASURES
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.run_folder import Run


@dataclass(frozen=True)
class TrialNumbers:
    """Numbers of the probe of one valid trial. Times are of answered requests, in ms; counts are of requests.

    `hits` and `stale` are among reads, and None without reads or without edits; `failed` is among all. `limited_by`
    says what limited the trial, None if nothing but the server did: otherwise its times and failures are left out.
    """

    repetition: int
    mean_ms: float | None = None
    p95_ms: float | None = None
    hits: Count | None = None
    stale: Count | None = None
    failed: Count | None = None
    limited_by: str | None = None

    def time_of(self, measure: str) -> float | None:
        """`mean_ms` or `p95_ms`; None if it is unknown, or not the server's own."""
        value: float | None = None if self.limited_by else getattr(self, measure)
        return value

    def count_of(self, measure: str) -> Count | None:
        """The events of `hit_ratio`, `stale_ratio` or `failed_ratio`; None if unknown, or not the server's own."""
        if self.limited_by and MEASURES[measure].is_time:
            return None
        return {"hit_ratio": self.hits, "stale_ratio": self.stale, "failed_ratio": self.failed}[measure]


@dataclass(frozen=True)
class RunNumbers:
    """A complete run: {cell: its valid trials}, and sentences on trials that are left out or doubtful.

    `levels` is {cell: {factor: level}}. Runs with the same `plan` sent the same requests; None: not known.
    """

    name: str
    cells: dict[str, list[TrialNumbers]]
    levels: dict[str, dict[str, str]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    counts: str = ""  # how many of the trials were valid, limited, and disturbed
    plan: str | None = None


def read_run(path: str | Path) -> Run:
    """Return the report's `Run` in folder `path`. CompareError if it is no complete run of this schema version."""
    try:
        if run_folder.read_manifest(path)["kind"] == "study":
            raise CompareError(f"{path} is a study: name one of its runs/ folders")
        return run_folder.read_run(path)
    except run_folder.RunFolderError as error:
        raise CompareError(f"{path}: {error}") from error


def read_numbers(run: Run) -> RunNumbers:
    """Return the `RunNumbers` of a `Run`; reads all of its samples."""
    cells: dict[str, list[TrialNumbers]] = {}
    levels: dict[str, dict[str, str]] = {}
    left_out, doubts = [], []
    analysis = analyse(run)
    try:
        for outcome in analysis.outcomes:
            numbers = _numbers(outcome) if outcome.valid and isinstance(outcome, MeasuredOutcome) else None
            if numbers is None:
                reasons = outcome.reasons or ("none of its requests was answered",)
                left_out.append(f"{run.name}, trial {outcome.number}: {'; '.join(reasons)}")
                continue
            name = cell_name(dict(outcome.cell))
            cells.setdefault(name, []).append(numbers)
            levels[name] = dict(outcome.cell)
            if outcome.limited:
                words = limits.by_words([outcome])
                left_out_of = f"limited by {words}; its times and failures are left out"
                doubts.append(f"{run.name}, trial {outcome.number}: {left_out_of}")
            if outcome.disturbed:
                doubts.append(f"{run.name}, trial {outcome.number}: disturbed, and compared: {outcome.disturbed}")
        counts = _counts(analysis)
    finally:
        analysis.close()
    plan = run.manifest.get("plan_hash")
    return RunNumbers(
        run.name, cells, levels, tuple(left_out), tuple(doubts), counts, plan if isinstance(plan, str) else None
    )


def describe_changes(run: Run) -> list[str]:
    """Return sentences on conditions that changed within a run: trials before and after are no repetitions."""
    found = {own.number: own for own in read_conditions(run.manifest).values()}
    return [f"the conditions changed within {run.name} ({'; '.join(own.changes)})" for own in found.values()]


def _counts(analysis: Analysis) -> str:
    valid = analysis.valid
    limited = limits.limited(valid)
    texts = [f"{len(valid)} of {wording.count_of(len(analysis.outcomes), 'trial')} valid"]
    texts.append(f"{len(limited)} limited" + (f" by {limits.by_words(limited)}" if limited else ""))
    recorded = [o for o in valid if o.saturation]
    texts.append(
        f"{sum(bool(o.disturbed) for o in recorded)} disturbed" if recorded else f"disturbances {wording.NOT_RECORDED}"
    )
    return ", ".join(texts)


def cell_name(levels: dict[str, str]) -> str:
    """Return `door=cached, ttl_s=60`; `all` for the only cell of an experiment without factors."""
    return ", ".join(f"{factor}={levels[factor]}" for factor in sorted(levels)) or "all"


def _numbers(outcome: MeasuredOutcome) -> TrialNumbers | None:
    """The numbers of a valid trial, or None where nothing was answered."""
    stats = outcome.stats
    if not stats.mean_ms or stats.p95_ms is None:
        return None
    fresh = stats.freshness
    return TrialNumbers(
        repetition=outcome.repetition,
        mean_ms=stats.mean_ms,
        p95_ms=stats.p95_ms,
        hits=Count(stats.served_reads, stats.reads) if stats.reads else None,
        stale=Count(fresh["reads_stale"], fresh["reads_judged"]) if fresh and fresh["reads_judged"] else None,
        failed=Count(stats.failures + outcome.record.never_sent, stats.requests + outcome.record.never_sent),
        limited_by=outcome.limited_by,
    )
