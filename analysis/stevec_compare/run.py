"""Reads the data by which two runs are compared: the manifest, and a few numbers of each trial.

The report's code (`stevec_report.analysis`) reads the run and judges its trials, so that the report and the comparison
leave out the same trials.
"""

from dataclasses import dataclass

from stevec_report import run_folder
from stevec_report.analysis import analyse


class CompareError(Exception):
    """The comparison cannot be made; `str(error)` is one line that says why, and what to do."""


@dataclass(frozen=True)
class TrialNumbers:
    """Numbers of the probe of one valid trial. Times are of answered requests, in ms; ratios are of reads sent.

    `hit_ratio` is None without reads, `stale_ratio` is None without edits.
    """

    repetition: int
    mean_ms: float
    p95_ms: float
    hit_ratio: float | None
    stale_ratio: float | None
    failures: int


@dataclass(frozen=True)
class RunNumbers:
    """A complete run: {cell: its valid trials}, and sentences on trials that are left out or doubtful."""

    name: str
    cells: dict[str, list[TrialNumbers]]
    levels: dict[str, dict[str, str]]
    left_out: tuple[str, ...]
    doubts: tuple[str, ...] = ()


def read_run(path):
    """Return the report's `Run` in folder `path`. CompareError if it is no complete run of this schema version."""
    try:
        if run_folder.read_manifest(path)["kind"] == "study":
            raise CompareError(f"{path} is a study: name one of its runs/ folders")
        return run_folder.read_run(path)
    except run_folder.RunFolderError as error:
        raise CompareError(f"{path}: {error}") from error


def read_numbers(run):
    """Return the `RunNumbers` of a `Run`; reads all of its samples."""
    cells, levels, left_out, doubts = {}, {}, [], []
    analysis = analyse(run)
    try:
        for outcome in analysis.outcomes:
            reasons = (
                outcome.reasons if outcome.mean_ms or not outcome.valid else ("none of its requests was answered",)
            )
            if reasons:
                left_out.append(f"{run.name}, trial {outcome.number}: {'; '.join(reasons)}")
                continue
            name = cell_name(outcome.record.cell)
            cells.setdefault(name, []).append(_numbers(outcome))
            levels[name] = outcome.record.cell
            if outcome.limited:
                doubts.append(f"{run.name}, trial {outcome.number}: the load generator may be what was measured")
    finally:
        analysis.close()
    return RunNumbers(run.name, cells, levels, tuple(left_out), tuple(doubts))


def cell_name(levels):
    """Return `door=cached, ttl_s=60`; `all` for the only cell of an experiment without factors."""
    return ", ".join(f"{factor}={levels[factor]}" for factor in sorted(levels)) or "all"


def _numbers(outcome):
    stats = outcome.stats
    return TrialNumbers(
        repetition=outcome.repetition,
        mean_ms=stats.mean_ms,
        p95_ms=stats.p95_ms,
        hit_ratio=stats.served_by_cache / stats.reads if stats.reads else None,
        stale_ratio=stats.stale_ratio,
        failures=stats.failures,
    )
