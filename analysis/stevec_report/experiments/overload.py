"""E3, overload: a probe with more and more background readers (tables 1.4 and 1.5, figures 1.5 and 1.6)."""

import math
import statistics
from dataclasses import replace

from stevec_report import reference, wording
from stevec_report import saturation as model
from stevec_report.blocks import Column, Figure, Table, Words, trials_cell
from stevec_report.experiments.beside_study import run_label
from stevec_report.figures import figure_1_5, figure_1_6, saturation
from stevec_report.hypothesis_tests import PairedTest, paired_test
from stevec_report.intervals import geometric_mean
from stevec_report.origin import without_capacity
from stevec_report.tolerance import TOLERATED_MS
from stevec_report.verdicts import Claim, Evidence, test_claim

STUDY_SETTINGS = {
    "requests": 100,
    "pages": 1000,
    "page_size_chars": ([100, 10000],),
    "background_vus": (0, 5, 10, 15, 25, 40, 50, 60, 70, 80, 100, 150, 200, 250),
}
DOORS = ("source", "cached")
TABLES = {"source": ("1.4", "without"), "cached": ("1.5", "with")}
DEGRADED = 2.0  # "far less" means that source degrades by at least this factor more than cached
RULE = (
    "Slower under load: the ratio of the probe's mean response times source ÷ cached is above 1, over pairs "
    "(level, repetition) at all levels with a background. Degrades more: in the upper half of those levels that "
    f"ratio is above {DEGRADED:g} times what it is without a background (the mean over the repetitions). Both by a "
    "two-sided sign-flip test, exact up to 20 pairs and Hoeffding's bound beyond. Points at which the load "
    "generator was the limit are in no pair. A request that failed counts with the time it took, and at least with the "
    "4 s that a user tolerates: the times of those who were answered would be those of the lucky ones."
)


def blocks(analysis):
    """Tables 1.4 and 1.5, figures 1.5 and 1.6, and the saturation curve."""
    found = []
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
                lambda script=script, study=study, door=door: script.draw(
                    study, _by_level(analysis, door), run_label(analysis)
                ),
            )
        )
        found.append(_level_table(analysis, door, table, path))
    if analysis.run.origin.emulated:
        return [*found, without_capacity("A curve of saturation, with the load at which a door gives way,")]
    doors = {door: _saturation(analysis, door) for door in analysis.run.doors}
    found.append(
        Figure(
            "saturation",
            "Throughput, response time and failures against the load",
            "Saturation, in the closed model: requests completed a second (background and probe), the probe's "
            "response time (logarithmic), and the share of all requests that failed, against the number of "
            f"background requesters. {_law_words(doors)} Hollow points: the load generator was the limit. A "
            "dash-dotted line marks the knee.",
            lambda: saturation.draw(doors, "parallel background requesters"),
        )
    )
    found.append(_knee_table(analysis, doors))
    return found


def evidence(analysis):
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


def facts(analysis):
    """The probe's means at the study's highest level, beside the study's."""
    top = max(STUDY_SETTINGS["background_vus"])
    study = {
        door: reference.read_series(table, "mean_ms", index="parallel")[path][top]
        for door, (table, path) in TABLES.items()
    }
    return {"at_top": {door: {"ms": mean_at(analysis, door, top), "study": study[door]} for door in DOORS}}


def strips(analysis):
    """The lowest and the highest level of load of each door; with those between, the figure would be unreadable."""
    levels = analysis.levels("background_vus")
    found = []
    for door in analysis.run.doors:
        for level in dict.fromkeys([levels[0], levels[-1]]) if levels else []:
            numbers = [o.number for o in analysis.select(door=door, background_vus=level)]
            found.append((f"{door}, {level} background requesters", door, numbers))
    return found


def mean_at(analysis, door, level):
    """Geometric mean of the probe's trial means at one level, without generator-limited trials; None without any."""
    means = [o.stats.wait_ms for o in analysis.select(door=door, background_vus=level) if not o.limited]
    return geometric_mean(means).centre if means else None


def _pairs(analysis, door):
    """{(level, repetition): mean ms} of the trials in which the server, not the generator, was the limit."""
    return {
        (o.record.number("background_vus"), o.repetition): o.stats.wait_ms
        for o in analysis.select(door=door)
        if not o.limited
    }


def _degrades_more(source, cached):
    name = "Degrades more"
    shared = source.keys() & cached.keys()
    levels = sorted({level for level, _ in shared if level > 0})
    idle = [math.log(source[pair] / cached[pair]) for pair in shared if pair[0] == 0]
    if not levels or not idle:
        return Claim(name, "no pairs of valid trials with and without a background.", None)
    upper = set(levels[len(levels) // 2 :])
    base = math.exp(statistics.fmean(idle))
    own = {pair: source[pair] / cached[pair] / base for pair in shared if pair[0] in upper}
    test = paired_test(own, dict.fromkeys(own, DEGRADED))
    shown = paired_test(own, dict.fromkeys(own, 1.0))
    test = PairedTest(shown.ratio, test.p, test.n, test.exact, test.least_p)
    claim = test_claim(
        name,
        test,
        "above",
        f"source ÷ cached from {min(upper):g} requesters on, over the same without a background (p against "
        f"{DEGRADED:g})",
    )
    return replace(claim, holds=shown.ratio.centre > DEGRADED)


def _fails(analysis):
    over = [
        level for level in analysis.levels("background_vus") if (mean_at(analysis, "source", level) or 0) > TOLERATED_MS
    ]
    if over:
        text = f"the mean at source is over 4 s from {over[0]} requesters on."
    else:
        text = "the mean at source stays under 4 s at every level."
    return Claim("A failure at the source, as in “test to fail”", text, bool(over))


def _ours(source, cached, top):
    if not top:
        return "no pair of valid trials with a background"
    texts = []
    for door, own in (("source", source), ("cached", cached)):
        idle, loaded = ([ms for (level, _), ms in own.items() if level == wanted] for wanted in (0, top))
        text = f"{door} {_centre(idle)} → {_centre(loaded)} ms"
        if idle and loaded:
            text += f" (× {wording.three_digits(geometric_mean(loaded).centre / geometric_mean(idle).centre)})"
        texts.append(text)
    return f"N = {top:g}: {', '.join(texts)}"


def _by_level(analysis, door):
    """{level: (trial means in ms, whether the generator limited one of them)}."""
    found = {}
    for outcome in analysis.select(door=door):
        level = outcome.record.number("background_vus")
        waits, limited = found.get(level, ([], False))
        found[level] = ([*waits, outcome.stats.wait_ms], limited or outcome.limited)
    return found


def _level_table(analysis, door, table, path):
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
    rows = []
    for level in levels:
        trials = analysis.select(door=door, background_vus=level)
        sent = sum(o.stats.requests for o in trials)
        means = [o.stats.wait_ms for o in trials]
        rates_per_min = [60 * (o.stats.background.completed_per_s or 0) if o.stats.background else 0.0 for o in trials]
        numbers = tuple(o.number for o in trials)
        rows.append(
            {
                "parallel": level,
                "study_background_per_min": rates.get(level),
                "study_mean_ms": study.get(level),
                **(
                    {}
                    if emulated
                    else {"background_per_min": statistics.fmean(rates_per_min) if rates_per_min else None}
                ),
                "mean_ms": geometric_mean(means) if means else None,
                "p99_ms": max((o.stats.p99_ms for o in trials if o.mean_ms), default=None),
                "failed_share": sum(o.stats.failures for o in trials) / sent if sent else None,
                "slow_share": sum(o.stats.slow for o in trials) / sent if sent else None,
                "generator": "limited" if any(o.limited for o in trials) else "",
                "trials": trials_cell(numbers),
            }
        )
    return Table(
        f"table-{table}",
        f"Table {table}. The probe's mean response time at {door}, by the number of background requesters.",
        "The rates are requests that the background completed a minute while the probe ran. p99 is the largest of the "
        "trials' answered requests. In the mean a request that failed counts with its time and at least with 4 s.",
        columns,
        rows,
    )


def _saturation(analysis, door):
    points = []
    for level in analysis.levels("background_vus"):
        if type(level) not in (int, float):
            continue
        trials = list(analysis.select(door=door, background_vus=level))
        if trials:
            points.append(_point(level, trials))
    good = [p for p in points if not p["limited"]]
    timed = [p for p in good if p["mean_ms"]]
    knee = model.crossing([p["load"] for p in timed], [p["mean_ms"] for p in timed], TOLERATED_MS)
    law = None
    if any(p["load"] > 0 for p in good):
        # + 1: the probe is a requester too.
        law = model.fit_scalability([p["load"] + 1 for p in good], [p["per_s"] or 0 for p in good])
    return {"points": points, "law": law, "knee": knee}


def _point(level, trials):
    completed = [
        (o.stats.completed_per_s or 0) + ((o.stats.background.completed_per_s or 0) if o.stats.background else 0)
        for o in trials
    ]
    stats = [s for o in trials for s in (o.stats, o.stats.background) if s]
    means = [o.stats.wait_ms for o in trials]
    return {
        "load": level,
        "per_s": statistics.median(completed),
        "mean_ms": geometric_mean(means).centre if means else None,
        "p99_ms": statistics.median(p99) if (p99 := [o.stats.p99_ms for o in trials if o.mean_ms]) else None,
        "failed": sum(s.failures for s in stats) / sum(s.requests for s in stats),
        "limited": any(o.limited for o in trials),
    }


def _knee_table(analysis, doors):
    columns = [
        Column("door", "door", "text", left=True),
        Column("over_4_s_at", "mean over 4 s from", "number"),
        Column("over_twice_idle_at", "mean over 2 × the unloaded from", "number"),
        Column("most_per_s", "most completed, 1/s", "number"),
        Column("r2", "R² of the scalability law", "text"),
        Column("limited_points", "generator-limited points", "count"),
    ]
    rows = []
    for door, own in doors.items():
        timed = [p for p in own["points"] if p["mean_ms"] and not p["limited"]]
        levels, means = [p["load"] for p in timed], [p["mean_ms"] for p in timed]
        idle = mean_at(analysis, door, 0)
        rows.append(
            {
                "door": door,
                "over_4_s_at": own["knee"],
                "over_twice_idle_at": model.crossing(levels, means, model.DEGRADED * idle) if idle else None,
                "most_per_s": max((p["per_s"] for p in own["points"] if not p["limited"]), default=None),
                "r2": f"{own['law'].r2:.2f}" if own["law"] else "no fit with R² ≥ 0.9",
                "limited_points": sum(p["limited"] for p in own["points"]),
            }
        )
    return Table(
        "knee",
        "Where each door gives way.",
        "The number of background requesters at which the probe's mean first crosses the limit, on straight lines "
        "between the levels; a dash where it never does. Generator-limited points are left out.",
        columns,
        rows,
    )


def _law_words(doors):
    fitted = [
        f"{name} λ = {wording.three_digits(own['law'].lambda_per_s)}/s, σ = {own['law'].sigma:.2g}, "
        f"κ = {own['law'].kappa:.2g}, R² = {own['law'].r2:.2f}"
        for name, own in doors.items()
        if own["law"]
    ]
    if not fitted:
        return "The Universal Scalability Law fits neither door with an R² of 0.9, so none is drawn."
    return f"The Universal Scalability Law is drawn where its R² is 0.9 or more: {'; '.join(fitted)}."


def _centre(means):
    return wording.three_digits(geometric_mean(means).centre if means else None)
