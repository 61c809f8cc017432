"""Joins what a trial says about itself, what its samples say and what the law says, into one row a trial."""

from dataclasses import dataclass

from stevec_report.law import check_witness
from stevec_report.run_folder import TrialRecord
from stevec_report.samples import TrialStats


@dataclass(frozen=True)
class Outcome:
    """One planned trial as the report shows it. Only trials with `valid` enter any mean.

    `present` is whether its folder is there at all. `record` and `stats` are None if they could not be read;
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


def judge(run, stats, law):
    """Return the list of `Outcome`, one for each planned trial, in order.

    A trial is valid if the run called it valid, all its files are whole, the law of the counter holds in it,
    and the origin's log agrees with the counter.
    """
    outcomes = []
    for trial in run.trials:
        record = trial.record
        own = []
        if record is not None:
            # What the run found itself is not said a second time.
            own = (
                check_witness(record) if record.valid else list(record.invalid_reasons) or ["marked invalid"]
            )
        reasons = tuple(own + trial.problems + law.failures.get(trial.number, []))
        outcomes.append(
            Outcome(
                trial.number,
                trial.folder,
                trial.present,
                not reasons,
                reasons,
                record,
                stats.get(trial.number),
            )
        )
    return outcomes


def valid_of_door(outcomes, door):
    """Return the valid outcomes of `door`, by repetition."""
    return sorted((o for o in outcomes if o.valid and o.door == door), key=lambda o: o.repetition)


def mean_ms_by_repetition(outcomes, door):
    """Return {repetition: mean response time in ms} of the valid trials of `door`."""
    return {o.repetition: o.stats.mean_ms for o in valid_of_door(outcomes, door)}


def at_cell(outcomes, door, repetition):
    """Return the first outcome of one cell, or None if no readable trial belongs to it."""
    return next((o for o in outcomes if o.door == door and o.repetition == repetition), None)
