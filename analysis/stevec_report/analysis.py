"""From a run to everything that a report is written from."""

from dataclasses import dataclass

from stevec_report import experiments, law, outcomes, run_folder, samples


@dataclass(frozen=True)
class Analysis:
    """A run, its samples, the law of the counter over it, and one `Outcome` per planned trial."""

    run: run_folder.Run
    samples: samples.Samples
    law: law.LawCheck
    outcomes: list[outcomes.Outcome]
    experiment: object  # the module in `experiments` that reports on this experiment

    def close(self):
        """Free the samples."""
        self.samples.database.close()


def analyse(run):
    """Read the samples of `run` and judge it. RunFolderError if no report is known for its experiment."""
    experiment = experiments.module_for(run.experiment["name"])
    loaded = samples.load(run)
    checked = law.check_law(run, loaded.stats)
    return Analysis(run, loaded, checked, outcomes.judge(run, loaded.stats, checked), experiment)
