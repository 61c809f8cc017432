"""E3, overload: a probe with more and more background readers (tables 1.4 and 1.5, figures 1.4 to 1.6)."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from stevec_report import dependence, limits, measures, percentiles, reference, rows, thresholds, wording
from stevec_report.analysis import Analysis
from stevec_report.averages import mean
from stevec_report.block_values import block_means, block_test
from stevec_report.blocks import Block, Column, Figure, Table, Words, trials_cell
from stevec_report.claims import NO_BLOCK, Claim, test_claim
from stevec_report.experiments import at_once
from stevec_report.experiments import overload_curve as curve
from stevec_report.experiments.beside_study import run_label
from stevec_report.experiments.common import Strip
from stevec_report.figures import load_curve
from stevec_report.figures.load_curve import ByLevel
from stevec_report.hypothesis_tests import log_ratios
from stevec_report.intervals import Interval, geometric_centre, geometric_mean
from stevec_report.outcomes import BlockKey, MeasuredOutcome
from stevec_report.thresholds import Thresholds
from stevec_report.verdicts import Evidence

LEVELS = (0, 5, 10, 15, 25, 40, 50, 60, 70, 80, 100, 150, 200, 250)  # of background requesters, in the study
STUDY_SETTINGS = {
    "requests": 100,
    "pages": 1000,
    "page_size_chars": ([100, 10000],),
    "background_vus": LEVELS,
}
DOORS = ("source", "cached")
Pairs = dict[tuple[float, BlockKey], float]  # {(level, block): ms}
TABLES = {"source": ("1.4", "without"), "cached": ("1.5", "with")}
FIGURES = {"1.4": ("source",), "1.5": ("cached",), "1.6": DOORS}
RULE = (
    "Slower under load: the ratio of the probe's mean response times source ÷ cached is above 1 (in each block the "
    "geometric mean over all levels with a background). Degrades more: that ratio over the upper half of the planned "
    "levels, divided by what it is without a background in the same block, is above {:g}. A block needs all these "
    "levels, and no limited trial stands for one. Past what a user tolerates: the mean at source beside the most "
    "readers planned is above {:g} s. Through the cache not: that mean at cached is below it. All by two-sided "
    "sign-flip tests over the blocks. Slower is refuted if the ratio is below 1, or shown to be near 1 (TOST), the "
    "others if the ratio is clearly on the other side. A request that failed counts with the time it took, and at "
    "least with 4 s, whatever the threshold: the times of those who were answered would be those of the lucky ones."
)
CROWD_RULE = (
    " In a study that also has a thousand readers at once, their mean at the source decides Past what a user "
    "tolerates: the study of 2016 says of them that they wait over 4 s, and its mean beside 250 readers is 3.8 s. This "
    "part of the rule is younger than the data of results/sample; before, the level with the most readers decided."
)


def blocks(analysis: Analysis) -> list[Block]:
    """Tables 1.4 and 1.5, figures 1.4 to 1.6, and the saturation curve."""
    found: list[Block] = []
    for number, doors in FIGURES.items():
        tabled = doors if len(doors) == 1 else ()
        if missing := [door for door in doors if door not in analysis.run.doors]:
            concerned = wording.join_words([f"Figure {number}", *(f"table {TABLES[door][0]}" for door in tabled)])
            text = f"Not in this report: {concerned}. No trial used the door {wording.join_words(missing)}."
            found.append(Words("note", text))
            continue
        found.append(_figure(analysis, number, doors))
        found += [_level_table(analysis, door) for door in tabled]
    return found + curve.blocks(analysis)


def _figure(analysis: Analysis, number: str, doors: Sequence[str]) -> Figure:
    study = {door: _study_times(door) for door in doors}
    where = wording.join_words(doors)
    return Figure(
        f"figure-{number}",
        f"Mean response time of the probe against the load, {where}",
        f"Figure {number}. Mean response time of the probe at {where}, against the number of background "
        "requesters. Each dot is one trial. A hollow dot is a trial that something else than the server "
        "limited: it says nothing of the server, and a level without others interrupts the line. The scales differ.",
        lambda: load_curve.draw(
            study, {door: _by_level(analysis, door) for door in doors}, run_label(analysis), _ratios(analysis, doors)
        ),
    )


def _ratios(analysis: Analysis, doors: Sequence[str]) -> dict[float, Interval] | None:
    """{level: ratio of the probe's times at the two doors, with its interval over the blocks}; None for one door."""
    if len(doors) == 1:
        return None
    logs = log_ratios(*(_pairs(analysis, door) for door in doors))
    levels = sorted({level for level, _ in logs})
    return {n: geometric_mean([math.exp(log) for (level, _), log in logs.items() if level == n]) for n in levels}


def _study_times(door: str) -> dict[int, float]:
    """{parallel requests: ms} of the study."""
    table, path = TABLES[door]
    return reference.read_series(table, "mean_ms", index="parallel")[path]


def evidence(analysis: Analysis) -> Evidence:
    """Claims: source is slower under load, it degrades more, and it alone grows past what a user tolerates."""
    source, cached = (_pairs(analysis, door) for door in DOORS)
    stated = thresholds.read(analysis.run.experiment)
    logs, planned = log_ratios(source, cached), curve.loads(analysis)
    slower = block_test(analysis, block_means(logs, [level for level in planned if level > 0]))
    study = {door: _study_times(door) for door in DOORS}
    top = max((level for level, _ in source.keys() & cached.keys()), default=None)
    study_top = max(study["source"])
    degradation = {door: study[door][study_top] / study[door][0] for door in DOORS}
    return Evidence(
        claims=[
            test_claim("Slower under load", "wait_ms", slower, "above", "source ÷ cached, the probe’s mean", stated),
            _degrades_more(analysis, logs, planned, stated),
            _tolerated(analysis, at_once.CLAIM, "source", "above", stated),
            _tolerated(analysis, "Through the cache not", "cached", "below", stated),
        ],
        rule=RULE.format(stated.far_more_ratio, stated.tolerated_ms / 1000),
        study=f"N = {study_top}: source {study['source'][0]:.0f} → {study['source'][study_top]:.0f} ms "
        f"(× {degradation['source']:.1f}), cached {study['cached'][0]:.0f} → {study['cached'][study_top]:.0f} ms "
        f"(× {degradation['cached']:.2f})",
        ours=_ours(source, cached, top),
        study_effect=math.exp(
            statistics.fmean(math.log(study["source"][n] / study["cached"][n]) for n in study["source"] if n)
        ),
        effect=slower,
        effect_name="source ÷ cached, loaded",
        thresholds=stated,
    )


def with_crowd(evidence: Evidence, crowd: Claim) -> Evidence:
    """E3 in a study that also has `at-once`, whose claim replaces that of the highest level (docs/decisions/0031)."""
    claims = [crowd if claim.name == crowd.name else claim for claim in evidence.claims]
    aside = [claim for claim in evidence.claims if claim.name == crowd.name]
    return replace(evidence, claims=claims, asides=[*evidence.asides, *aside], rule=evidence.rule + CROWD_RULE)


def facts(analysis: Analysis) -> dict[str, Any]:
    """The probe's means at the study's highest level, beside the study's."""
    top = max(LEVELS)
    study = {door: _study_times(door)[top] for door in DOORS}
    return {"at_top": {door: {"ms": curve.mean_at(analysis, door, top), "study": study[door]} for door in DOORS}}


def strips(analysis: Analysis) -> list[Strip]:
    """The lowest and the highest level of load of each door; with those between, the figure would be unreadable."""
    levels = analysis.levels("background_vus")
    found = []
    for door in analysis.run.doors:
        for level in dict.fromkeys([levels[0], levels[-1]]) if levels else []:
            numbers = [o.number for o in analysis.select(door=door, background_vus=level)]
            found.append((f"{door}, {level} background requesters", door, numbers))
    return found


def _pairs(analysis: Analysis, door: str) -> Pairs:
    """{(level, block): mean ms} of the trials that may be compared."""
    return measures.values("wait_ms", analysis.select(door=door), lambda o: (_level(o), o.block))


def _level(outcome: MeasuredOutcome) -> float:
    return outcome.record.number("background_vus")


def _degrades_more(
    analysis: Analysis, logs: Mapping[tuple[float, BlockKey], float], planned: Sequence[float], stated: Thresholds
) -> Claim:
    """`planned` are all levels of the run, so that those of limited trials do not move what "upper half" means."""
    levels = [level for level in planned if level > 0]
    upper = levels[len(levels) // 2 :]
    loaded, idle = block_means(logs, upper), block_means(logs, [0])
    more = {block: loaded[block] - idle[block] for block in loaded.keys() & idle.keys()}
    what = f"source ÷ cached from {upper[0]:g} requesters on" if upper else "source ÷ cached with a background"
    return test_claim(
        "Degrades more",
        "wait_ms",
        block_test(analysis, more, stated.far_more_ratio),
        "above",
        f"{what}, over the same without a background (p against {stated.far_more_ratio:g})",
        stated,
    )


def _tolerated(analysis: Analysis, name: str, door: str, expected: str, stated: Thresholds) -> Claim:
    """The probe's mean at `door` beside the most readers planned, over the time that a user tolerates."""
    top = max(curve.loads(analysis), default=None)
    logs = {b: math.log(ms / stated.tolerated_ms) for (n, b), ms in _pairs(analysis, door).items() if n == top}
    what = f"the probe’s mean at {door} beside {top or 0:g} requesters ÷ {stated.tolerated_ms / 1000:g} s"
    return test_claim(name, "wait_ms", block_test(analysis, logs), expected, what, stated, is_difference=False)


def _ours(source: Pairs, cached: Pairs, top: float | None) -> str:
    if not top:
        return NO_BLOCK
    texts = []
    for door, own in (("source", source), ("cached", cached)):
        idle, loaded = ([ms for (level, _), ms in own.items() if level == wanted] for wanted in (0, top))
        text = f"{door} {_text(idle)} → {_text(loaded)} ms"
        if idle and loaded:
            text += f" (× {wording.three_digits(geometric_mean(loaded).centre / geometric_mean(idle).centre)})"
        texts.append(text)
    return f"N = {top:g}: {', '.join(texts)}"


def _by_level(analysis: Analysis, door: str) -> ByLevel:
    trials = analysis.select(door=door)
    levels = sorted({_level(o) for o in trials})
    return {level: measures.points("wait_ms", [o for o in trials if _level(o) == level]) for level in levels}


def _level_table(analysis: Analysis, door: str) -> Table:
    table, path = TABLES[door]
    study = _study_times(door)
    rates = reference.read_series(table, "background_rate_per_min", index="parallel")[path]
    emulated, depending = analysis.run.origin.emulated, dependence.run_dependence(analysis)
    levels = sorted(study.keys() | {n for n in analysis.levels("background_vus") if isinstance(n, int)})
    columns = [
        Column("parallel", "parallel", "text"),
        Column("study_background_per_min", "background, 1/min", "count", "the study"),
        Column("study_mean_ms", "mean, ms", "count", "the study"),
        *([] if emulated else [Column("background_per_min", "background, 1/min", "count", "this run")]),
        Column("mean_ms", "mean, ms (95 % interval)", "interval", "this run"),
        replace(rows.P99, group="this run"),
        Column("failed_share", "probe failed", "percent", "this run"),
        Column("slow_share", "over 4 s", "percent", "this run"),
        Column("cached_share", "from the cache", "percent", "this run"),
        replace(rows.LIMITED, group="this run"),
        Column("trials", "from trials", "text", "this run", left=True),
    ]
    found = []
    for level in levels:
        own = analysis.select(door=door, background_vus=level)
        trials = limits.believed(own)
        rates_per_min = [60 * (o.stats.background.completed_per_s or 0) if o.stats.background else 0.0 for o in trials]
        found.append(
            {
                "parallel": level,
                "study_background_per_min": rates.get(level),
                "study_mean_ms": study.get(level),
                "background_per_min": None if emulated else mean(rates_per_min),
                "mean_ms": depending.mean("wait_ms", own),
                "p99_ms": percentiles.over_trials(trials, 0.99, depending),
                "failed_share": rows.failed_share(trials),
                "slow_share": rows.slow_share(trials),
                "cached_share": rows.share(sum(o.stats.served_by_cache for o in trials), rows.count_sent(trials)),
                "limited_by": rows.limited_by(own),
                "trials": trials_cell(o.number for o in trials),
            }
        )
    return Table(
        f"table-{table}",
        f"Table {table}. The probe's mean response time at {door}, by the number of background requesters.",
        "The rates are requests that the background completed a minute while the probe ran. In the mean a "
        "request that failed counts with its time and at least with 4 s. “From the cache” is of the probe's requests: "
        "every trial begins with an empty cache, which more readers fill sooner. "
        + percentiles.NOTE
        + rows.LIMITED_NOTE,
        columns,
        found,
    )


def _text(means: Sequence[float]) -> str:
    return wording.three_digits(geometric_centre(means))
