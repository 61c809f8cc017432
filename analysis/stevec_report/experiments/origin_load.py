"""The blocks on the resource use of the origin during the measurement."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from stevec_report import outcomes as all_outcomes
from stevec_report import wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Table, Words, trials_cell
from stevec_report.figures import origin_load
from stevec_report.origin import OriginSamples, read_samples
from stevec_report.outcomes import MeasuredOutcome

Sampled = tuple[MeasuredOutcome, OriginSamples]


def blocks(analysis: Analysis) -> list[Block]:
    """A figure and a table, or nothing where no trial sampled its origin."""
    found, problems = _read(analysis)
    notes: list[Block] = []
    if problems:
        shown = ", ".join(map(str, problems[:20]))
        many = wording.count_of(len(problems), "trial")
        notes = [Words("note", f"The samples of the origin's load cannot be read in {many} ({shown}).")]
    if not found:
        return notes
    return [
        Figure(
            "origin-load",
            "Load of the origin",
            f"Load of the origin in the course of a trial: the share of its processors in use, {_of_what(analysis)}. "
            "Lines: the median over the trials of a door; areas: from the least to the greatest of them.",
            lambda: origin_load.draw([_load(outcome, samples) for outcome, samples in found]),
        ),
        _table(found),
        *notes,
    ]


def _of_what(analysis: Analysis) -> str:
    if analysis.run.origin.kind == "local":
        return "and the memory of the wiki and its nginx, which share this machine with everything else"
    return "its memory in use, what it sent over its network, and its temperature where it has a thermometer"


def _read(analysis: Analysis) -> tuple[list[Sampled], list[int]]:
    """([(outcome, samples)] of valid trials, numbers of trials whose file is unusable)."""
    found, problems = [], []
    for outcome in analysis.valid:
        try:
            samples = read_samples(analysis.run.path / outcome.folder / "origin.csv.gz")
        except ValueError:
            problems.append(outcome.number)
            continue
        if samples and samples.times_us:
            found.append((outcome, samples))
    return found, problems


def _load(outcome: MeasuredOutcome, samples: OriginSamples) -> dict[str, Any]:
    return {
        "door": outcome.door,
        "seconds": [(time - outcome.stats.first_sent_us) / 1e6 for time in samples.times_us],
        "cpu": samples.cpu,
        "memory": samples.memory,
        "sent": samples.sent,
        "temperature": samples.temperature,
    }


def _table(found: Sequence[Sampled]) -> Table:
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("cpu_mean", "processors busy, mean", "percent"),
        Column("cpu_max", "most", "percent"),
        Column("memory_max_mb", "memory, most, MB"),
        Column("temperature_max_c", "temperature, most, °C"),
        Column("seconds", "samples", "count"),
        TRIALS_COLUMN,
    ]
    samples_of = {outcome.number: samples for outcome, samples in found}
    rows = []
    for cell, members in all_outcomes.cells([outcome for outcome, _ in found]).items():
        own = [samples_of[o.number] for o in members]
        cpu = _values(own, "cpu")
        memory = _values(own, "memory")
        rows.append(
            {
                "cell": all_outcomes.cell_text(cell),
                "cpu_mean": statistics.fmean(cpu) if cpu else None,
                "cpu_max": max(cpu, default=None),
                "memory_max_mb": max(memory) / 1e6 if memory else None,
                "temperature_max_c": max(_values(own, "temperature"), default=None),
                "seconds": sum(len(samples.times_us) for samples in own),
                "trials": trials_cell(o.number for o in members),
            }
        )
    return Table(
        "origin-load",
        "Load of the origin, by cell.",
        "From samples once a second, while the probe and the background ran.",
        columns,
        rows,
    )


def _values(own: Iterable[OriginSamples], name: str) -> list[float]:
    return [value for samples in own for value in getattr(samples, name) if value is not None]
