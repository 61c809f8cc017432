"""E1, read-hot: many reads over few pages (tables 1.1 and 1.2, figure 1.3 of the study)."""

import statistics
from collections.abc import Sequence
from typing import Any

from stevec_report import measures, reference, thresholds, wording
from stevec_report.analysis import Analysis
from stevec_report.block_values import block_test
from stevec_report.blocks import Block, Column, Figure, Table
from stevec_report.claims import Claim, test_claim
from stevec_report.costs import cost_block
from stevec_report.dependence import Shown, run_dependence
from stevec_report.experiments.beside_study import MEAN_ROW, by_repetition, run_label
from stevec_report.figures import figure_1_3
from stevec_report.figures.ratios import Ratio
from stevec_report.hypothesis_tests import PairedTest, log_ratios
from stevec_report.intervals import geometric_centre
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.rows import count_sent, share
from stevec_report.thresholds import Thresholds
from stevec_report.verdicts import Evidence

STUDY_REQUESTS = 1000  # per repetition, from section 1.4.1 of the study
STUDY_SETTINGS = {
    "requests": 1000,
    "pages": 100,
    "page_size_chars": 5000,
    "vus": 1,
    "repetitions": 8,
}
STUDY_LABELS = {"without": "without a cache", "local": "local nginx", "cdn": "CDN", "with": "with a cache"}
STUDY_DOORS = {"without": ("source", "nocache"), "local": ("local",), "cdn": ("cached",)}
RULE = (
    "For every door with a cache: offload holds if the origin saw less than half of the requests in every valid trial, "
    "which is an exact count; time holds if the ratio of its mean response time to that of the door without a cache "
    "(source), one value a block, is below 1 by a sign-flip test. Time is refuted if that ratio is above 1, or shown "
    "to be near 1 (TOST)."
)


def blocks(analysis: Analysis) -> list[Block]:
    """Tables 1.1 and 1.2, figure 1.3, and the ratios to source."""
    ours = {door: [o for o in analysis.outcomes if o.door == door] for door in analysis.run.doors}
    return [
        by_repetition(
            "table-1.1",
            "Table 1.1. Requests that reached the origin, by repetition.",
            "The study's count and this run's; what the study calls without is source or nocache here. A number "
            f"leads to its trial. The study sent {STUDY_REQUESTS} requests a repetition, "
            f"this run {_planned(analysis)}.",
            _labelled(reference.read_series("1.1", "origin_requests")),
            ours,
            "origin_requests",
            "count",
            "count",
        ),
        Figure(
            "figure-1.3",
            "Mean response time by path, the study's and this run's",
            "Figure 1.3. Mean response time by path, on one logarithmic scale: equal ratios are equal distances. Each "
            "dot is one trial, the first repetition on top; the stroke and the number are their mean (the study's "
            "arithmetic, ours geometric), the line below its 95 % interval. Below are the ratios to a path without a "
            "cache, with their 95 % intervals.",
            lambda: figure_1_3.draw(
                reference.read_series("1.2", "mean_ms"), _means(analysis), _ratios(analysis), run_label(analysis)
            ),
        ),
        by_repetition(
            "table-1.2",
            "Table 1.2. Mean response time in milliseconds, by repetition.",
            "The study's and this run's. " + MEAN_ROW,
            _labelled(reference.read_series("1.2", "mean_ms")),
            ours,
            "mean_ms",
            study_show="count",
        ),
        ratio_table(analysis),
        cost_block(
            analysis, [({"door": door}, door, analysis.select(door=door)) for door in analysis.run.doors], "door"
        ),
    ]


def ratio_table(analysis: Analysis) -> Table:
    """The ratio of each door to the one without a cache, and the study's ratio of means."""
    base = base_door(analysis)
    study = study_ratios()
    columns = [
        Column("door", "door", "text", left=True),
        Column("ratio", f"ratio to {base or 'source'} (95 % interval)", "interval"),
        Column("p", "p", "p"),
        Column("blocks", "blocks", "count"),
        Column("study_ratio", "the study's ratio"),
        Column("origin_share", "reached the origin", "percent"),
        Column("study_origin_share", "in the study", "percent"),
    ]
    rows = []
    for door in analysis.run.doors:
        trials = analysis.select(door=door)
        test = door_test(analysis, door, base) if door != base else None
        path = next((path for path, doors in STUDY_DOORS.items() if door in doors), None)
        rows.append(
            {
                "door": door,
                "ratio": test.ratio if test else None,
                "p": test.p if test else None,
                "blocks": test.n if test else None,
                "study_ratio": study.get(path) if path else None,
                "origin_share": _origin_share(trials),
                "study_origin_share": {None: None, "without": 1.0}.get(path, 0.1),
            }
        )
    note = "Ratios of mean response times, one a block; p of the two-sided sign-flip test."
    return Table("table-1.2-ratios", "What a cache changes.", note, columns, rows)


def evidence(analysis: Analysis) -> Evidence:
    """Claims: offload and response time at every door with a cache."""
    base, stated = base_door(analysis), thresholds.read(analysis.run.experiment)
    claims, asides = [], []
    for door in analysis.run.doors.values():
        if door.caching:
            claims.append(_offload(analysis, door.name, stated.origin_ratio_max))
            claims.append(_time(analysis, door.name, base, stated))
    if {"local", "cached"} <= analysis.run.doors.keys():
        asides.append(_time(analysis, "local", "cached", stated))
    effect = door_test(analysis, "cached", base)
    study = study_ratios()
    return Evidence(
        claims=claims,
        rule=RULE,
        study="origin sees 10 % with a cache; "
        + " : ".join(wording.three_digits(mean) for mean in study_means().values())
        + " ms without : local : CDN",
        ours=_ours(analysis, base),
        study_effect=study["cdn"],
        effect=effect,
        effect_name=f"cached ÷ {base or 'source'}",
        asides=asides,
        thresholds=stated,
    )


def facts(analysis: Analysis) -> dict[str, Any]:
    """E1's ratios beside the study's, for the comparison of calibration and prediction."""
    base, study = base_door(analysis), study_ratios()
    ratios = [
        {"name": f"{door} ÷ {base}", "ratio": door_test(analysis, door, base).ratio, "study": study[path]}
        for path, door in (("cdn", "cached"), ("local", "local"))
        if door in analysis.run.doors
    ]
    return {"ratios": ratios}


def base_door(analysis: Analysis) -> str | None:
    """The door without a cache with which the others are compared: source, else nocache, else None."""
    return next((door for door in ("source", "nocache") if door in analysis.run.doors), None)


def door_test(analysis: Analysis, door: str, base: str | None) -> PairedTest:
    """The `PairedTest` of the mean response times of two doors, by block."""
    own, other = (measures.by_block("mean_ms", analysis.select(door=name)) for name in (door, base))
    return block_test(analysis, log_ratios(own, other))


def study_means() -> dict[str, float]:
    """{path: mean of the study's repetitions in ms}: without, local, cdn."""
    return {path: statistics.fmean(v.values()) for path, v in reference.read_series("1.2", "mean_ms").items()}


def study_ratios() -> dict[str, float]:
    """{path: the study's mean ÷ its mean without a cache}."""
    means = study_means()
    return {path: mean / means["without"] for path, mean in means.items()}


def _offload(analysis: Analysis, door: str, most: float) -> Claim:
    name = f"Offload at {door}"
    trials = analysis.select(door=door)
    if not trials:
        return Claim(name, f"{name}: no valid trial.", None)
    shares = [o.record.counter_requests / o.stats.requests for o in trials]
    low, high = wording.percent(min(shares)), wording.percent(max(shares))
    text = (
        f"the origin saw {low if low == high else f'{low} to {high}'} of the requests "
        f"({wording.count_of(len(trials), 'valid trial')})."
    )
    holds = True if max(shares) < most else False if min(shares) >= most else None
    return Claim(name, text, holds, trials=tuple(o.number for o in trials))


def _time(analysis: Analysis, door: str, base: str | None, stated: Thresholds) -> Claim:
    test, what = door_test(analysis, door, base), f"{door} ÷ {base} in mean response time"
    return test_claim(f"Time at {door}", "mean_ms", test, "below", what, stated)


def _ours(analysis: Analysis, base: str | None) -> str:
    centres = []
    for door in (base, "local", "cached"):
        means = measures.by_block("mean_ms", analysis.select(door=door)) if door else {}
        centres.append(wording.three_digits(geometric_centre(means.values())))
    trials = [o for o in analysis.valid if analysis.run.doors[o.door].caching]
    seen = wording.percent(_origin_share(trials))
    return f"origin sees {seen} with a cache; {' : '.join(centres)} ms {base or 'without'} : local : cached"


def _origin_share(trials: Sequence[MeasuredOutcome]) -> float | None:
    return share(sum(o.record.counter_requests for o in trials), count_sent(trials))


def _means(analysis: Analysis) -> dict[str, Shown]:
    depending = run_dependence(analysis)
    return {door: depending.shown("mean_ms", analysis.select(door=door)) for door in analysis.run.doors}


def _ratios(analysis: Analysis) -> list[Ratio]:
    base, study = base_door(analysis), study_ratios()
    paths = {door: path for path, doors in STUDY_DOORS.items() for door in doors if path in ("local", "cdn")}
    return [
        Ratio(f"{door} ÷ {base}", study.get(paths.get(door, "")), door_test(analysis, door, base).ratio, door)
        for door in analysis.run.doors
        if base and door != base
    ]


def _labelled(series: reference.Series) -> reference.Series:
    return {STUDY_LABELS[path]: values for path, values in series.items()}


def _planned(analysis: Analysis) -> str:
    return " or ".join(sorted({wording.grouped(plan.requests) for plan in analysis.run.plans.values()}))
