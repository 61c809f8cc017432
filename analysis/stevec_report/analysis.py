"""Analyses a run: everything that a report needs."""

from dataclasses import dataclass, replace
from typing import Any

from stevec_report import law, outcomes, queues, samples
from stevec_report.levels import level_sort_key
from stevec_report.outcomes import MeasuredOutcome, Outcome
from stevec_report.run_folder import Run


@dataclass(frozen=True)
class Analysis:
    """A run, its samples, the law of the counter over it, and one `Outcome` per planned trial."""

    run: Run
    samples: samples.Samples
    law: law.LawCheck
    outcomes: list[Outcome]

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.run.experiment["name"]

    @property
    def valid(self) -> list[MeasuredOutcome]:
        """The outcomes that enter means."""
        return outcomes.valid_of(self.outcomes)

    def select(self, **settings: Any) -> list[MeasuredOutcome]:
        """The valid outcomes whose settings have these values, by repetition."""
        found = [o for o in self.valid if all(o.record.setting(name) == value for name, value in settings.items())]
        return sorted(found, key=lambda o: (o.repetition, o.number))

    def levels(self, setting: str) -> list[Any]:
        """The distinct values of a setting over the readable trials, sorted, numbers first."""
        values = {str(o.record.setting(setting)): o.record.setting(setting) for o in self.outcomes if o.record}
        return sorted(values.values(), key=level_sort_key)

    def close(self) -> None:
        """Free the samples."""
        self.samples.close()


def analyse(run: Run) -> Analysis:
    """Read the samples of `run` and judge it."""
    loaded = samples.load(run)
    try:
        checked = law.check_law(run, loaded.stats)
        judged = outcomes.judge(run, loaded.stats, checked)
        queued = queues.judge_queues(outcomes.valid_of(judged), run.profile)
        return Analysis(run, loaded, checked, [replace(o, queued=queued.get(o.number)) for o in judged])
    except BaseException:
        loaded.close()
        raise
