"""E3, overload: a probe with more and more background readers (tables 1.4 and 1.5, figures 1.5 and 1.6)."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.figure import Figure as MplFigure

from stevec_report import reference, rows, wording
from stevec_report.analysis import Analysis
from stevec_report.averages import mean
from stevec_report.blocks import Block, Column, Figure, Table, Words, trials_cell
from stevec_report.experiments import overload_curve as curve
from stevec_report.experiments.beside_study import run_label
from stevec_report.experiments.common import Strip
from stevec_report.figures import figure_1_5, figure_1_6
from stevec_report.hypothesis_tests import PairedTest, paired_test
from stevec_report.intervals import geometric_centre, geometric_mean
from stevec_report.tolerance import TOLERATED_MS
from stevec_report.verdicts import Claim, Evidence, test_claim

LEVELS = (0, 5, 10, 15, 25, 40, 50, 60, 70, 80, 100, 150, 200, 250)  # of background requesters, in the study
STUDY_SETTINGS = {
    "requests": 100,
    "pages": 1000,
    "page_size_chars": ([100, 10000],),
    "background_vus": LEVELS,
}
DOORS = ("source", "cached")
Pairs = dict[tuple[float, int], float]  # {(level, repetition): ms}
TABLES = {"source": ("1.4", "without"), "cached": ("1.5", "with")}
FAR_MORE = 2.0  # "far less" means that source degrades by at least this factor more than cached
RULE = (
    "Slower under load: the ratio of the probe's mean response times source ÷ cached is above 1, over pairs "
    "(level, repetition) at all levels with a background. Degrades more: in the upper half of those levels that "
    f"ratio is above {FAR_MORE:g} times what it is without a background (the mean over the repetitions). Both by a "
    "two-sided sign-flip test, exact up to 20 pairs and Hoeffding's bound beyond. Points at which the load "
    "generator was the limit are in no pair. A request that failed counts with the time it took, and at least with the "
    "4 s that a user tolerates: the times of those who were answered would be those of the lucky ones."
)


def blocks(analysis: Analysis) -> list[Block]:
    """Tables 1.4 and 1.5, figures 1.5 and 1.6, and the saturation curve."""
    found: list[Block] = []
    for door, script in (("source", figure_1_5), ("cached", figure_1_6)):
        table, path = TABLES[door]
        study = reference.read_series(table, "mean_ms", index="parallel")[path]
        number = "1.5" if door == "source" else "1.6"
        if door not in analysis.run.doors:
            found.append(
                Words("note", f"Figure {number} and table {table} need the door {door}, and no trial used it.")
            )
            continue
        found.append(
            Figure(
                f"figure-{number}",
                f"Mean response time of the probe against the load, {door}",
                f"Figure {number}. Mean response time of the probe at {door}, against the number of background "
                "requesters. Each dot is one trial. A hollow dot is a trial whose load generator was at its limit: "
                "it says nothing of the server and is on no line. The scales differ.",
                partial(_draw, analysis, door, script.draw, study),
            )
        )
        found.append(_level_table(analysis, door, table, path))
    return found + curve.blocks(analysis)


def evidence(analysis: Analysis) -> Evidence:
    """Claims: source is slower under load, and it degrades more."""
    source, cached = (_pairs(analysis, door) for door in DOORS)
    loaded = [{pair: ms for pair, ms in own.items() if pair[0] > 0} for own in (source, cached)]
    slower = paired_test(*loaded)
    study = {
        door: reference.read_series(TABLES[door][0], "mean_ms", index="parallel")[TABLES[door][1]] for door in DOORS
    }
    top = max((level for level, _ in source.keys() & cached.keys()), default=None)
    study_top = max(study["source"])
    degradation = {door: study[door][study_top] / study[door][0] for door in DOORS}
    return Evidence(
        claims=[
            test_claim("Slower under load", slower, "above", "source ÷ cached, mean response time of the probe"),
            _degrades_more(source, cached),
        ],
        rule=RULE,
        study=f"N = {study_top}: source {study['source'][0]:.0f} → {study['source'][study_top]:.0f} ms "
        f"(× {degradation['source']:.1f}), cached {study['cached'][0]:.0f} → {study['cached'][study_top]:.0f} ms "
        f"(× {degradation['cached']:.2f})",
        ours=_ours(source, cached, top),
        study_effect=math.exp(
            statistics.fmean(math.log(study["source"][n] / study["cached"][n]) for n in study["source"] if n)
        ),
        effect=slower,
        effect_name="source ÷ cached, loaded",
        asides=[_fails(analysis)],
    )


def facts(analysis: Analysis) -> dict[str, Any]:
    """The probe's means at the study's highest level, beside the study's."""
    top = max(LEVELS)
    study = {
        door: reference.read_series(table, "mean_ms", index="parallel")[path][top]
        for door, (table, path) in TABLES.items()
    }
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
    """{(level, repetition): mean ms} of the trials in which the server, not the generator, was the limit."""
    return {
        (o.record.number("background_vus"), o.repetition): o.stats.wait_ms
        for o in analysis.select(door=door)
        if not o.limited
    }


def _degrades_more(source: Pairs, cached: Pairs) -> Claim:
    name = "Degrades more"
    shared = source.keys() & cached.keys()
    levels = sorted({level for level, _ in shared if level > 0})
    idle = [math.log(source[pair] / cached[pair]) for pair in shared if pair[0] == 0]
    if not levels or not idle:
        return Claim(name, "no pairs of valid trials with and without a background.", None)
    upper = set(levels[len(levels) // 2 :])
    base = math.exp(statistics.fmean(idle))
    own = {pair: source[pair] / cached[pair] / base for pair in shared if pair[0] in upper}
    test = paired_test(own, dict.fromkeys(own, FAR_MORE))
    shown = paired_test(own, dict.fromkeys(own, 1.0))
    test = PairedTest(shown.ratio, test.p, test.n, test.exact, test.least_p)
    claim = test_claim(
        name,
        test,
        "above",
        f"source ÷ cached from {min(upper):g} requesters on, over the same without a background (p against "
        f"{FAR_MORE:g})",
    )
    return replace(claim, holds=shown.ratio is not None and shown.ratio.centre > FAR_MORE)


def _fails(analysis: Analysis) -> Claim:
    over = [
        level
        for level in analysis.levels("background_vus")
        if (curve.mean_at(analysis, "source", level) or 0) > TOLERATED_MS
    ]
    if over:
        text = f"the mean at source is over 4 s from {over[0]} requesters on."
    else:
        text = "the mean at source stays under 4 s at every level."
    return Claim("A failure at the source, as in “test to fail”", text, bool(over))


def _ours(source: Pairs, cached: Pairs, top: float | None) -> str:
    if not top:
        return "no pair of valid trials with a background"
    texts = []
    for door, own in (("source", source), ("cached", cached)):
        idle, loaded = ([ms for (level, _), ms in own.items() if level == wanted] for wanted in (0, top))
        text = f"{door} {_text(idle)} → {_text(loaded)} ms"
        if idle and loaded:
            text += f" (× {wording.three_digits(geometric_mean(loaded).centre / geometric_mean(idle).centre)})"
        texts.append(text)
    return f"N = {top:g}: {', '.join(texts)}"


def _by_level(analysis: Analysis, door: str) -> dict[float, tuple[list[float], bool]]:
    """{level: (trial means in ms, whether the generator limited one of them)}."""
    found: dict[float, tuple[list[float], bool]] = {}
    for outcome in analysis.select(door=door):
        level = outcome.record.number("background_vus")
        waits, limited = found.get(level, ([], False))
        found[level] = ([*waits, outcome.stats.wait_ms], limited or outcome.limited)
    return found


def _level_table(analysis: Analysis, door: str, table: str, path: str) -> Table:
    study = reference.read_series(table, "mean_ms", index="parallel")[path]
    rates = reference.read_series(table, "background_rate_per_min", index="parallel")[path]
    emulated = analysis.run.origin.emulated
    levels = sorted(study.keys() | {n for n in analysis.levels("background_vus") if isinstance(n, int)})
    columns = [
        Column("parallel", "parallel", "text"),
        Column("study_background_per_min", "background, 1/min", "count", "the study"),
        Column("study_mean_ms", "mean, ms", "count", "the study"),
        *([] if emulated else [Column("background_per_min", "background, 1/min", "count", "this run")]),
        Column("mean_ms", "mean, ms (95 % interval)", "interval", "this run"),
        Column("p99_ms", "p99", "number", "this run"),
        Column("failed_share", "probe failed", "percent", "this run"),
        Column("slow_share", "over 4 s", "percent", "this run"),
        Column("generator", "generator", "text", "this run", left=True),
        Column("trials", "from trials", "text", "this run", left=True),
    ]
    found = []
    for level in levels:
        trials = analysis.select(door=door, background_vus=level)
        means = [o.stats.wait_ms for o in trials]
        rates_per_min = [60 * (o.stats.background.completed_per_s or 0) if o.stats.background else 0.0 for o in trials]
        found.append(
            {
                "parallel": level,
                "study_background_per_min": rates.get(level),
                "study_mean_ms": study.get(level),
                "background_per_min": None if emulated else mean(rates_per_min),
                "mean_ms": geometric_mean(means) if means else None,
                "p99_ms": max((o.stats.p99_ms for o in trials if o.stats.p99_ms is not None), default=None),
                "failed_share": rows.failed_share(trials),
                "slow_share": rows.slow_share(trials),
                "generator": rows.generator_text(trials),
                "trials": trials_cell(o.number for o in trials),
            }
        )
    return Table(
        f"table-{table}",
        f"Table {table}. The probe's mean response time at {door}, by the number of background requesters.",
        "The rates are requests that the background completed a minute while the probe ran. p99 is the largest of the "
        "trials' answered requests. In the mean a request that failed counts with its time and at least with 4 s.",
        columns,
        found,
    )


def _text(means: Sequence[float]) -> str:
    return wording.three_digits(geometric_centre(means))


def _draw(analysis: Analysis, door: str, draw: Callable[..., MplFigure], study: dict[int, float]) -> MplFigure:
    return draw(study, _by_level(analysis, door), run_label(analysis))
