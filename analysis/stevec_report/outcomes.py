"""Joins a trial's record, the statistics of its samples and the result of the law into one row per trial."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from stevec_report.clock import check_clock, check_overlap
from stevec_report.conditions import BEGINNING, Conditions, read_conditions
from stevec_report.law import LawCheck, check_witness
from stevec_report.levels import door_sort_key, level_sort_key
from stevec_report.run_folder import Run
from stevec_report.trial_record import TrialRecord
from stevec_report.trial_saturation import Saturation
from stevec_report.trial_stats import TrialStats
from stevec_report.wiki_totals import check_totals

CellKey = tuple[tuple[str, str], ...]  # (factor, level) pairs
BlockKey = tuple[int, int]  # (number of the conditions, repetition): trials are paired within a block only
OF_THE_LAB = ("generator", "links", "machine")  # limits that are not of the system under test


@dataclass(frozen=True)
class Outcome:
    """One planned trial as the report shows it. Only trials with `valid` enter any mean.

    `present` is whether its folder exists. `record` and `stats` are None if they could not be read;
    `reasons` then says why.
    """

    number: int
    folder: str
    present: bool
    valid: bool
    reasons: tuple[str, ...]
    record: TrialRecord | None
    stats: TrialStats | None
    queued: bool | None = None  # in front of the door: in the generator or in the links; None: not known
    conditions: Conditions = BEGINNING

    @property
    def door(self) -> str | None:
        """Name of the door, or None."""
        return self.record.door if self.record else None

    @property
    def repetition(self) -> int | None:
        """Repetition from 1, or None."""
        return self.record.repetition if self.record else None

    @property
    def cell(self) -> CellKey:
        """The cell as one hashable key of (factor, level) pairs; () if unreadable."""
        return tuple(self.record.cell.items()) if self.record else ()

    @property
    def limited_by(self) -> str | None:
        """`generator`, `links`, `machine` or `queue` (in front of the door) if the times are not the system's own."""
        limit = self.record.limit if self.record else None
        return limit if limit in OF_THE_LAB else "queue" if self.queued else None

    @property
    def limited(self) -> bool:
        """Whether something else than the system under test limited the trial."""
        return self.limited_by is not None

    @property
    def saturation(self) -> Saturation | None:
        """What used the machine, or None if it was not recorded."""
        return self.record.saturation if self.record else None

    @property
    def disturbed(self) -> str | None:
        """What disturbed the machine, as a sentence; None if nothing did, or if it was not recorded."""
        return self.saturation.disturbed if self.saturation else None

    @property
    def mean_ms(self) -> float | None:
        """Mean response time of the probe, or None."""
        return self.stats.mean_ms if self.stats else None


@dataclass(frozen=True)
class MeasuredOutcome(Outcome):
    """A trial whose record and samples could be read, as those of every valid trial."""

    record: TrialRecord
    stats: TrialStats

    @property
    def door(self) -> str:
        """Name of the door."""
        return self.record.door

    @property
    def repetition(self) -> int:
        """Repetition from 1."""
        return self.record.repetition

    @property
    def block(self) -> BlockKey:
        """The trials with which this one may be paired: those of its repetition under the same conditions."""
        return (self.conditions.number, self.repetition)

    @property
    def offload(self) -> float | None:
        """1 − reads at the origin ÷ reads, a background's at the origin included; None without reads."""
        return 1 - self.record.counter_reads / self.stats.reads if self.stats.reads else None


AnyOutcome = TypeVar("AnyOutcome", bound=Outcome)


def judge(run: Run, stats: Mapping[int, TrialStats], law: LawCheck) -> list[Outcome]:
    """Return the list of `Outcome`, one for each planned trial, in order.

    A trial is valid if the run called it valid, all its files are whole, the law of the counter holds in it, the
    origin's log and the wikis' totals agree with the counter, its clock did not step, and its background was there all
    the time.
    """
    outcomes: list[Outcome] = []
    conditions = read_conditions(run.manifest)
    for trial in run.trials:
        record, own_stats = trial.record, stats.get(trial.number)
        own = []
        if record is not None:
            # Reasons that the run recorded itself are not repeated.
            own = (
                check_witness(record, own_stats) + _check_totals(record)
                if record.valid
                else list(record.invalid_reasons) or ["marked invalid"]
            )
            own += check_clock(record, own_stats) + check_overlap(record, own_stats)
        reasons = tuple(dict.fromkeys(own + trial.problems + law.failures.get(trial.number, [])))
        facts = (trial.number, trial.folder, trial.present, not reasons, reasons)
        own_conditions = conditions.get(trial.number, BEGINNING)
        if record is None or own_stats is None:
            outcomes.append(Outcome(*facts, record, own_stats, conditions=own_conditions))
        else:
            outcomes.append(MeasuredOutcome(*facts, record, own_stats, conditions=own_conditions))
    return outcomes


def _check_totals(record: TrialRecord) -> list[str]:
    counter = (record.counter_requests, record.counter_reads, record.counter_writes)
    return check_totals(record.wiki_totals, counter)


def valid_of(outcomes: Iterable[Outcome]) -> list[MeasuredOutcome]:
    """Return those of `outcomes` that enter means."""
    return [outcome for outcome in outcomes if outcome.valid and isinstance(outcome, MeasuredOutcome)]


def cells(outcomes: Iterable[AnyOutcome]) -> dict[CellKey, list[AnyOutcome]]:
    """Return {cell: readable outcomes}, cells in the order of doors, then of numbers and names in their levels."""
    groups: dict[CellKey, list[AnyOutcome]] = {}
    for outcome in outcomes:
        if outcome.record:
            groups.setdefault(outcome.cell, []).append(outcome)
    return {cell: groups[cell] for cell in sorted(groups, key=_cell_sort_key)}


def cell_text(cell: CellKey) -> str:
    """Return a cell as text: `source, background_vus 250`; the door and named levels need no factor's name."""
    words = []
    for factor, level in cell:
        plain = factor == "door" or not level[:1].isdecimal()
        words.append(level if plain else f"{factor} {level}")
    return ", ".join(words) or "all trials"


def _cell_sort_key(cell: CellKey) -> Any:
    doors = [door_sort_key(level) for factor, level in cell if factor == "door"]
    return (doors, [level_sort_key(level) for factor, level in cell if factor != "door"])
