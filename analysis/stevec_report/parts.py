"""A part of a report: one run with all its content for the page, rendered while its samples are open."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from matplotlib.figure import Figure as MplFigure

from stevec_report import (
    claim_table,
    cloudflare_count,
    concerns,
    expectations,
    experiments,
    explain,
    key_numbers,
    limits,
    plot_style,
    points_of_presence,
    prediction,
    svg,
    thresholds,
    trust,
)
from stevec_report.analysis import Analysis, analyse
from stevec_report.blocks import Block, Figure, Section, Table, Words
from stevec_report.claims import Claim
from stevec_report.concerns import Concern
from stevec_report.experiments import (
    common,
    door_times,
    drift,
    errors,
    machine_use,
    origin_load,
    overload,
    statuses,
    trials,
)
from stevec_report.key_numbers import KeyNumber
from stevec_report.law import LawCheck
from stevec_report.outcomes import MeasuredOutcome, Outcome
from stevec_report.run_folder import Run
from stevec_report.verdicts import Evidence
from stevec_report.wiki_totals import TotalsOfTrials
from stevec_report.wording import count_of, is_or_are, slug

Say = Callable[[str], None]  # takes a line of progress
WriteFigure = Callable[[str, MplFigure], str]  # takes name and figure, returns its SVG text
RECORDINGS = {  # pages that a run's folder may have; written by `stevec trace --run` and `make flame`
    "trace.html": "the waterfall of one request",
    "flame.html": "the flame graph of the wiki under page views",
}


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with its picture as scoped SVG text."""

    name: str
    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Part:
    """One run of the report. `run` is None if it cannot be reported on; `problem` then says why.

    `directory` is the run's folder relative to the folder of the report, `prefix` the prefix of its files' names.
    """

    name: str
    directory: str
    prefix: str
    run: Run | None = None
    problem: str | None = None
    law: LawCheck | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    evidence: Evidence | None = None
    explanations: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)  # of Table, DrawnFigure and Words
    numbers: list[KeyNumber] = field(default_factory=list)
    concerns: list[Concern] = field(default_factory=list)
    compared: list[prediction.CellCompared] = field(default_factory=list)
    expected: list[expectations.Decided] = field(default_factory=list)
    trust: list[str] = field(default_factory=list)  # sentences on the trials as a whole
    drifting: int = 0  # kinds of requests whose times drift within trials

    @property
    def blocks(self) -> list[Table | DrawnFigure | Words]:
        """The blocks of all sections."""
        return [block for section in self.sections for block in section.blocks]

    @property
    def thresholds(self) -> str:
        """The thresholds of the verdict as the run's manifest states them, or that it does not."""
        return thresholds.describe(self.run.experiment) if self.run else ""

    @property
    def title(self) -> str:
        """The experiment's title."""
        experiment = self.run.experiment if self.run else {}
        title = experiment.get("title")
        return title if isinstance(title, str) and title else self.name

    @property
    def id(self) -> str:
        """E1 to E6, the id of a user's own experiment, or ''."""
        value = self.run.experiment.get("id") if self.run else None
        return value[:20] if isinstance(value, str) else ""

    @property
    def invalid(self) -> list[Outcome]:
        """The outcomes that enter no mean."""
        return [outcome for outcome in self.outcomes if not outcome.valid]

    @property
    def recordings(self) -> dict[str, str]:
        """{file name: what it shows} of the pages beside the trials that say where time goes."""
        return {name: text for name, text in RECORDINGS.items() if self.run and (self.run.path / name).is_file()}

    @property
    def trial_count(self) -> int:
        """Number of planned trials."""
        return len(self.outcomes)

    @property
    def there(self) -> set[int]:
        """Numbers of the trials that have a folder."""
        return {outcome.number for outcome in self.outcomes if outcome.present}

    def law_counts(self) -> dict[str, dict[str, int]]:
        """Sums over the trials that keep the law: {"without": counts, "with": counts}, without and with a cache."""
        names = ("trials", "requests", "counter", "served", "refreshes")
        sums = {caching: dict.fromkeys(names, 0) for caching in (False, True)}
        held = set(self.law.held) if self.law else set()
        doors = self.run.doors if self.run else {}
        for outcome in self.outcomes:
            if outcome.number in held and isinstance(outcome, MeasuredOutcome):
                stats = [s for s in (outcome.stats, outcome.stats.background) if s]
                row = sums[doors[outcome.door].caching]
                row["trials"] += 1
                row["requests"] += sum(s.requests for s in stats)
                row["served"] += sum(s.served_by_cache for s in stats)
                row["counter"] += outcome.record.counter_requests
                row["refreshes"] += outcome.record.refreshes
        return {"without": sums[False], "with": sums[True]}

    def wiki_counts(self) -> dict[int, TotalsOfTrials]:
        """What each wiki counted in the valid trials that record it, by the number of wikis."""
        found: dict[int, TotalsOfTrials] = {}
        for outcome in self.outcomes:
            if not outcome.valid or outcome.record is None or outcome.record.wiki_totals is None:
                continue
            if counts := outcome.record.wiki_totals.counts:
                row = found.get(len(counts), TotalsOfTrials(0, (0,) * len(counts), 0))
                found[len(counts)] = row.add(counts, outcome.record.counter_requests)
        return dict(sorted(found.items()))

    @property
    def has_wiki_totals(self) -> bool:
        """Whether a valid trial records what each wiki counted."""
        return bool(self.wiki_counts())


def build(
    run: Run, directory: str, prefix: str, write_figure: WriteFigure, say: Say, crowd: Claim | None = None
) -> Part:
    """Analyse `run` and return its `Part`.

    Args:
        directory, prefix: see `Part`.
        write_figure: called with (name, matplotlib figure) for each figure; returns its SVG text.
        say: called with a line of progress.
        crowd: the claim of the study's `at-once`, if there is one; see `overload.with_crowd`.
    """
    analysis = analyse(run)
    try:
        module = experiments.module_for(analysis.name)
        evidence = module.evidence(analysis)
        if evidence and crowd and module is overload:
            evidence = overload.with_crowd(evidence, crowd)
        if evidence:
            evidence = replace(evidence, left_out=limits.left_out(analysis.valid))
        compared = prediction.compare_cells(analysis)
        expected = expectations.decide(analysis)
        tested = [*claim_table.tables(evidence), *expectations.table(expected)]
        sections = [
            replace(section, blocks=[_drawn(block, prefix, write_figure) for block in section.blocks])
            for section in list_sections(analysis, prediction.table(compared), tested)
        ]
        invalid = sum(not outcome.valid for outcome in analysis.outcomes)
        say(
            f"{run.experiment['name']}: read {count_of(len(run.trials), 'trial')}, drew "
            + count_of(sum(isinstance(block, DrawnFigure) for one in sections for block in one.blocks), "figure")
            + (f"; {count_of(invalid, 'trial')} {is_or_are(invalid)} invalid, the report says why" if invalid else "")
        )
        return Part(
            name=analysis.name,
            directory=directory,
            prefix=prefix,
            run=run,
            law=analysis.law,
            outcomes=analysis.outcomes,
            evidence=evidence,
            explanations=explain.reasons(analysis, _study_settings(module, analysis)) if evidence else [],
            facts=facts(analysis),
            sections=sections,
            numbers=key_numbers.of(analysis, evidence),
            concerns=[
                *concerns.of(analysis),
                *(concerns.of_tests(evidence, _hypotheses(evidence, prefix)) if evidence else []),
            ],
            compared=compared,
            expected=expected,
            trust=trust.sentences(analysis),
            drifting=sum(one.is_drift for one in drift.within_trials(analysis)),
        )
    finally:
        analysis.close()


def facts(analysis: Analysis) -> dict[str, Any]:
    """What the report of a study takes from a run; {} for most experiments."""
    module = experiments.module_for(analysis.name)
    return module.facts(analysis) if hasattr(module, "facts") else {}


def list_sections(analysis: Analysis, predicted: Table | None = None, expected: Sequence[Table] = ()) -> list[Section]:
    """All sections of a run that have blocks: its experiment's own, and those of every experiment.

    Args:
        predicted: the table of `prediction.table`, None to leave it out. expected: that of `expectations.table`.
    """
    module = experiments.module_for(analysis.name)
    strips = getattr(module, "strips", common.default_strips)(analysis)
    sections = [
        Section("results", "Results", [*expected, *module.blocks(analysis)]),
        Section("times", "Response times of each cell", common.blocks(analysis, strips)),
        Section("prediction", "Prediction by a model", [predicted] if predicted else []),
        Section(
            "machine",
            "Load of the machine, and what the instrument adds",
            [
                *door_times.blocks(analysis),
                *machine_use.blocks(analysis),
                *origin_load.blocks(analysis),
                *points_of_presence.blocks(analysis),
                *cloudflare_count.blocks(analysis),
            ],
        ),
        Section(
            "drift",
            "Drift and failures",
            [*drift.blocks(analysis), *errors.blocks(analysis), *statuses.blocks(analysis)],
        ),
        Section("trials", "Trials", [trials.table(analysis)]),
    ]
    return [section for section in sections if section.blocks]


def list_blocks(analysis: Analysis) -> list[Block]:
    """The blocks of all sections of a run, figures not drawn yet."""
    return [block for section in list_sections(analysis) for block in section.blocks]


def _drawn(block: Block, prefix: str, write_figure: WriteFigure) -> Table | DrawnFigure | Words:
    return draw(block, prefix, write_figure) if isinstance(block, Figure) else block


def draw(block: Figure, prefix: str, write_figure: WriteFigure) -> DrawnFigure:
    """Draw a figure; `prefix` and `write_figure` as in `build`."""
    with plot_style.style():
        text = write_figure(block.name, block.draw())
    return DrawnFigure(block.name, block.title, block.caption, svg.scope(text, slug(f"{prefix} {block.name}")))


def _hypotheses(evidence: Evidence, prefix: str) -> int:
    """For how many hypotheses p is corrected: those of the study, or one of a run alone, which has no prefix."""
    return evidence.thresholds.hypotheses if prefix else 1


def _study_settings(module: ModuleType, analysis: Analysis) -> dict[str, Any]:
    if hasattr(module, "study_settings"):
        return module.study_settings(analysis)
    return getattr(module, "STUDY_SETTINGS", {})
