"""Joins a trial's record, the statistics of its samples and the result of the law into one row per trial."""

from dataclasses import dataclass

from stevec_report.clock import check_clock, check_overlap
from stevec_report.law import check_witness
from stevec_report.run_folder import TrialRecord, door_sort_key
from stevec_report.samples import TrialStats


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

    @property
    def door(self):
        """Name of the door, or None."""
        return self.record.door if self.record else None

    @property
    def repetition(self):
        """Repetition from 1, or None."""
        return self.record.repetition if self.record else None

    @property
    def cell(self):
        """The cell as one hashable key of (factor, level) pairs; () if unreadable."""
        return tuple(self.record.cell.items()) if self.record else ()

    @property
    def limited(self):
        """Whether the load generator, and not the system under test, may be the limit of this trial."""
        record = self.record
        background = record.background if record else None
        return bool(record and (record.generator_limited or (background and background.generator_limited)))

    @property
    def mean_ms(self):
        """Mean response time of the probe, or None."""
        return self.stats.mean_ms if self.stats else None


def judge(run, stats, law):
    """Return the list of `Outcome`, one for each planned trial, in order.

    A trial is valid if the run called it valid, all its files are whole, the law of the counter holds in it, the
    origin's log agrees with the counter, its clock did not step, and its background was there all the time.
    """
    outcomes = []
    for trial in run.trials:
        record, own_stats = trial.record, stats.get(trial.number)
        own = []
        if record is not None:
            # Reasons that the run recorded itself are not repeated.
            own = (
                check_witness(record, own_stats) if record.valid else list(record.invalid_reasons) or ["marked invalid"]
            )
            own += check_clock(record, own_stats) + check_overlap(record, own_stats)
        reasons = tuple(dict.fromkeys(own + trial.problems + law.failures.get(trial.number, [])))
        outcomes.append(Outcome(trial.number, trial.folder, trial.present, not reasons, reasons, record, own_stats))
    return outcomes


def select(outcomes, **settings):
    """Return the valid outcomes whose settings have these values, by repetition.

    Instead of a value, a setting may have a function that takes the trial's value and returns whether it matches.
    """

    def fits(outcome):
        for name, wanted in settings.items():
            value = outcome.record.setting(name)
            if not (wanted(value) if callable(wanted) else value == wanted):
                return False
        return True

    return sorted((o for o in outcomes if o.valid and fits(o)), key=lambda o: (o.repetition, o.number))


def cells(outcomes):
    """Return {cell: readable outcomes}, cells in the order of doors, then of numbers and names in their levels."""
    groups = {}
    for outcome in outcomes:
        if outcome.record:
            groups.setdefault(outcome.cell, []).append(outcome)
    return {cell: groups[cell] for cell in sorted(groups, key=_cell_sort_key)}


def cell_text(cell):
    """Return a cell as text: `source, background_vus 250`; the door and named levels need no factor's name."""
    words = []
    for factor, level in cell:
        plain = factor == "door" or not level[:1].isdecimal()
        words.append(level if plain else f"{factor} {level}")
    return ", ".join(words) or "all trials"


def _cell_sort_key(cell):
    doors = [door_sort_key(level) for factor, level in cell if factor == "door"]
    return (doors, [_level_sort_key(level) for factor, level in cell if factor != "door"])


def _level_sort_key(level):
    try:
        return (0, float(level), "")
    except ValueError:
        return (1, 0.0, level)


def means_by_repetition(outcomes):
    """Return {repetition: mean response time in ms} of outcomes that have one."""
    return {o.repetition: o.mean_ms for o in outcomes if o.mean_ms}
