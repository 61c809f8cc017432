"""Analyses a run: everything that a report needs."""

from dataclasses import dataclass

from stevec_report import law, outcomes, run_folder, samples


@dataclass(frozen=True)
class Analysis:
    """A run, its samples, the law of the counter over it, and one `Outcome` per planned trial."""

    run: run_folder.Run
    samples: samples.Samples
    law: law.LawCheck
    outcomes: list[outcomes.Outcome]

    @property
    def name(self):
        """The experiment's name."""
        return self.run.experiment["name"]

    @property
    def valid(self):
        """The outcomes that enter means."""
        return [outcome for outcome in self.outcomes if outcome.valid]

    def select(self, **settings):
        """Valid outcomes with these settings; see `outcomes.select`."""
        return outcomes.select(self.outcomes, **settings)

    def levels(self, setting):
        """The distinct values of a setting over the readable trials, sorted, numbers first."""
        values = {str(o.record.setting(setting)): o.record.setting(setting) for o in self.outcomes if o.record}
        return sorted(values.values(), key=_level_sort_key)

    def close(self):
        """Free the samples."""
        self.samples.close()


def analyse(run):
    """Read the samples of `run` and judge it."""
    loaded = samples.load(run)
    try:
        checked = law.check_law(run, loaded.stats)
        return Analysis(run, loaded, checked, outcomes.judge(run, loaded.stats, checked))
    except BaseException:
        loaded.close()
        raise


def _level_sort_key(value):
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return (not number, value if number else 0, str(value))
