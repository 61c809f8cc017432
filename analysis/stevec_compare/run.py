"""Reads the data by which two runs are compared: the manifest, and a few numbers of each trial.

The report's code (`stevec_report.analysis`) reads the run and judges its trials, so that the report and the comparison
leave out the same trials.
"""

from dataclasses import dataclass
from pathlib import Path

from stevec_report import limits, run_folder, wording
from stevec_report.analysis import Analysis, analyse
from stevec_report.conditions import read_conditions
from stevec_report.measures import MEASURES
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.run_folder import Run


class CompareError(Exception):
    """The comparison cannot be made; `str(error)` is one line that says why, and what to do."""


@dataclass(frozen=True)
class TrialNumbers:
    """Numbers of the probe of one valid trial. Times are of answered requests, in ms; ratios are of reads sent.

    `hit_ratio` is None without reads, `stale_ratio` is None without edits. `limited_by` says what limited the trial,
    None if nothing but the server did: otherwise its times and failures are left out.
    """

    repetition: int
    mean_ms: float
    p95_ms: float
    hit_ratio: float | None
    stale_ratio: float | None
    failures: int
    limited_by: str | None = None

    def of(self, measure: str) -> float | None:
        """The value of a measure; None if it is unknown, or not the server's own."""
        if self.limited_by and MEASURES[measure].is_time:
            return None
        value: float | None = getattr(self, measure)
        return value


@dataclass(frozen=True)
class RunNumbers:
    """A complete run: {cell: its valid trials}, and sentences on trials that are left out or doubtful."""

    name: str
    cells: dict[str, list[TrialNumbers]]
    levels: dict[str, dict[str, str]]
    left_out: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    counts: str = ""  # how many of the trials were valid, limited, and disturbed


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
    return RunNumbers(run.name, cells, levels, tuple(left_out), tuple(doubts), counts)


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
    return TrialNumbers(
        repetition=outcome.repetition,
        mean_ms=stats.mean_ms,
        p95_ms=stats.p95_ms,
        hit_ratio=stats.hit_ratio,
        stale_ratio=stats.stale_ratio,
        failures=stats.failures,
        limited_by=outcome.limited_by,
    )
