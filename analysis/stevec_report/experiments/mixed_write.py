"""E4, mixed-write: caching under writes, by size of page (table 1.6; the study draws no figure of it)."""

import statistics
from typing import Any

from matplotlib.figure import Figure as MplFigure

from stevec_report import reference, thresholds
from stevec_report.analysis import Analysis
from stevec_report.averages import mean
from stevec_report.blocks import Block, Cell, Column, Figure, Table, trials_cell
from stevec_report.experiments import edit_costs, edits_and_expiry, expiry_model
from stevec_report.experiments.beside_study import run_label
from stevec_report.experiments.edit_costs import size_of, workload_of
from stevec_report.figures import hit_ratio_by_size, hits_over_time
from stevec_report.figures.hit_ratio_by_size import Ratios
from stevec_report.measures import Point
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.rows import share
from stevec_report.verdicts import Evidence

STUDY_SETTINGS = {
    "requests": 10_000,
    "pages": 100,
    "page_size_chars": (5000, 10000, 20000, 50000),
    "edit_ratio": (0, 0.05),
    "ttl_s": 180,
    "model": "closed",
    "vus": 1,
}
BINS = 40  # of one trial, in the figure over time


def blocks(analysis: Analysis) -> list[Block]:
    """Table 1.6, what edits and expiry cost, hit ratios by size and over time, and the model of expiry."""
    return [
        _table(analysis),
        edits_and_expiry.edits_table(_groups(analysis)),
        edits_and_expiry.expiry_table(_groups(analysis)),
        Figure(
            "hit-ratio-by-size",
            "Hit ratio by size of page, with and without edits",
            "E4: hit ratio as the study defines it, 1 − requests at the origin ÷ iterations (an iteration is "
            "one read, followed by one write if it is an edit). Each dot is one trial, the stroke their mean. The "
            "scale does not begin at 0. A limited trial is hollow; its counts hold.",
            lambda: hit_ratio_by_size.draw(_study_ratios(), _ratios(analysis), run_label(analysis)),
        ),
        _origin_table(analysis),
        Figure(
            "hits-over-time",
            "Hit ratio in the course of a trial",
            "Share of the reads that the cache served, in the course of a trial: first the cache fills, then pages "
            "expire, at first at the same time, later more and more spread. Solid: reads only; dashed: with edits. "
            "Lines that are alike are drawn as their mean and their range.",
            lambda: _draw_over_time(analysis),
        ),
        expiry_model.table(_fits(analysis)),
    ]


def evidence(analysis: Analysis) -> Evidence:
    """Claims: edits cost reads at the origin, and larger pages cost more of them."""
    stated = thresholds.read(analysis.run.experiment)
    claims, study = edit_costs.claims(analysis, stated), _study_ratios()
    return Evidence(
        claims=claims,
        rule=edit_costs.RULE,
        study=f"hit ratio {_range(study['mixed'])} with edits, {_range(study['get-only'])} without",
        ours=f"hit ratio {_range(_ratios(analysis).get('mixed', {}))} with edits, "
        f"{_range(_ratios(analysis).get('get-only', {}))} without",
        study_effect=edit_costs.study_effect(),
        effect=claims[0].test,
        effect_name="reads at the origin, edits ÷ none (the study’s if its counter counted the edits)",
        asides=[edit_costs.writes_pass(analysis.valid), expiry_model.claim(_fits(analysis))],
        thresholds=stated,
    )


def hit_ratio_requests(outcome: MeasuredOutcome) -> float:
    """Hit ratio as the study defines it: 1 − all requests at the origin ÷ iterations."""
    return 1 - outcome.record.counter_requests / outcome.stats.iterations


def _groups(analysis: Analysis) -> dict[tuple[str, float], list[MeasuredOutcome]]:
    """{(workload, size): valid outcomes}, in order."""
    found: dict[tuple[str, float], list[MeasuredOutcome]] = {}
    for outcome in sorted(analysis.valid, key=lambda o: (workload_of(o) != "mixed", size_of(o), o.repetition)):
        found.setdefault((workload_of(outcome), size_of(outcome)), []).append(outcome)
    return found


def _study_ratios() -> Ratios:
    found: Ratios = {}
    for row in reference.read_rows("1.6"):
        found.setdefault(row["workload"], {})[float(row["page_kb"])] = [(float(row["cached_percent"]) / 100, None)]
    return found


def _ratios(analysis: Analysis) -> Ratios:
    found: Ratios = {}
    for (workload, size), trials in _groups(analysis).items():
        found.setdefault(workload, {})[size / 1000] = [(hit_ratio_requests(o), o.limited_by) for o in trials]
    return found


def _table(analysis: Analysis) -> Table:
    study = {(row["workload"], float(row["page_kb"])): row for row in reference.read_rows("1.6")}
    groups = {(workload, size / 1000): trials for (workload, size), trials in _groups(analysis).items()}
    columns = [
        Column("workload", "workload", "text", left=True),
        Column("page_kb", "page, kB", "text"),
        Column("study_writes", "writes", "count", "the study"),
        Column("study_origin_requests", "at the origin", "count", "the study"),
        Column("study_hit_ratio", "hit ratio", "percent", "the study"),
        Column("iterations", "iterations", "count", "this run (means of the trials)"),
        Column("writes", "writes", "count", "this run (means of the trials)"),
        Column("origin_reads", "reads at the origin", "count", "this run (means of the trials)"),
        Column("origin_writes", "writes there", "count", "this run (means of the trials)"),
        Column("hit_ratio_requests", "hit ratio, all counted", "percent", "this run (means of the trials)"),
        Column("hit_ratio_reads", "reads only", "percent", "this run (means of the trials)"),
        Column("stale_share", "stale reads", "percent", "this run (means of the trials)"),
        Column("trials", "from trials", "text", "this run (means of the trials)", left=True),
    ]
    rows = []
    for key in sorted(study.keys() | groups.keys(), key=lambda k: (k[0] != "mixed", k[1])):
        trials, theirs = groups.get(key, []), study.get(key)
        row = {"workload": key[0], "page_kb": f"{key[1]:g}", "trials": trials_cell(o.number for o in trials)}
        if theirs:
            row |= {
                "study_writes": int(theirs["post_requests"]),
                "study_origin_requests": int(theirs["origin_requests"]),
                "study_hit_ratio": float(theirs["cached_percent"]) / 100,
            }
        if trials:
            row |= {
                "iterations": statistics.fmean(o.stats.iterations for o in trials),
                "writes": statistics.fmean(o.stats.writes for o in trials),
                "origin_reads": statistics.fmean(o.record.counter_reads for o in trials),
                "origin_writes": statistics.fmean(o.record.counter_writes for o in trials),
                "hit_ratio_requests": statistics.fmean(map(hit_ratio_requests, trials)),
                "hit_ratio_reads": mean(o.offload for o in trials),
                "stale_share": mean(o.stats.stale_ratio for o in trials),
            }
        rows.append(row)
    return Table(
        "table-1.6",
        "Table 1.6. Hit ratio under writes, by size of page.",
        "The study prints 1 − requests at the origin ÷ 10 000 and does not say whether its counter counted the "
        "writes. So both readings are here: all requests at the origin over the iterations, and reads at the "
        "origin over reads. A stale read returned a revision older than one that was acknowledged before the read "
        "was sent; the study did not measure stale reads.",
        columns,
        rows,
    )


def _origin_table(analysis: Analysis) -> Table:
    twins = {(size_of(o), o.block): o for o in analysis.valid if workload_of(o) == "get-only"}
    columns = [
        Column("page_kb", "page, kB", "text"),
        Column("repetition", "rep.", "text"),
        Column("origin_requests", "at the origin", "count"),
        Column("writes", "writes", "count"),
        Column("expiry", "reads, first or expired", "count"),
        Column("more_than_twin", "more reads than the twin", "count"),
        Column("ratio", "÷ without edits"),
        Column("hits_samples", "by the samples", "count", "served by the cache"),
        Column("hits_counter", "by the counter", "count", "served by the cache"),
        Column("hits_log", "by the origin's log", "count", "served by the cache"),
    ]
    rows = []
    for outcome in sorted(analysis.valid, key=lambda o: (size_of(o), o.repetition)):
        twin = twins.get((size_of(outcome), outcome.block))
        if workload_of(outcome) != "mixed":
            continue
        record, stats = outcome.record, outcome.stats
        log = record.log_lines.get("origin")
        row = {
            "page_kb": f"{size_of(outcome) / 1000:g}",
            "repetition": outcome.repetition,
            "origin_requests": Cell(record.counter_requests, trials=(outcome.number,)),
            "writes": record.counter_writes,
            "hits_samples": stats.served_by_cache,
            "hits_counter": stats.requests - record.counter_requests,
            "hits_log": None if log is None else stats.requests - log,
        }
        if twin:
            row |= {
                "expiry": Cell(twin.record.counter_reads, trials=(twin.number,)),
                "more_than_twin": record.counter_reads - twin.record.counter_reads,
                "ratio": share(record.counter_requests, twin.record.counter_requests),
            }
        rows.append(row)
    return Table(
        "table-1.6-origin",
        "Requests at the origin with edits, beside the twin without them.",
        "Reads that were first or expired are those of the twin without edits, which requests the same pages in "
        "the same order. With the policy ttl an edit purges nothing: further reads come from the longer run, in which "
        "more copies expire. The study sees about twice the requests at 5 % edits. The last columns count the hits in "
        "three ways: from the samples, as requests sent minus the counter, and as requests sent minus the lines of "
        "the origin's log.",
        columns,
        rows,
    )


def _fits(analysis: Analysis) -> list[expiry_model.Fit]:
    """The trials without edits beside the model of expiry, by size of page."""
    trials = [o for o in analysis.valid if workload_of(o) == "get-only"]
    return expiry_model.fit_trials(analysis, sorted(trials, key=lambda o: (size_of(o), o.repetition)))


def _draw_over_time(analysis: Analysis) -> MplFigure:
    lines = []
    sizes = sorted({size for _, size in _groups(analysis)})
    for (workload, size), trials in sorted(_groups(analysis).items(), key=lambda item: (item[0][1], item[0][0])):
        longest_us = max(o.stats.last_done_us - o.stats.first_sent_us for o in trials)
        bins: dict[int, tuple[int, int]] = {}
        for outcome in trials:
            rows = _bins(analysis, outcome, longest_us)
            for at, reads, served in rows:
                before = bins.get(at, (0, 0))
                bins[at] = (before[0] + reads, before[1] + served)
        lines.append(
            {
                "label": f"{size / 1000:g} kB, {'edits' if workload == 'mixed' else 'reads only'}",
                "seconds": [(at + 0.5) * longest_us / 1e6 / BINS for at in sorted(bins)],
                "ratios": [bins[at][1] / bins[at][0] for at in sorted(bins)],
                "colour": sizes.index(size),
                "second_kind": workload == "mixed",
            }
        )
    ttls = {o.record.number("ttl_s") for o in analysis.valid}
    return hits_over_time.draw(lines, ttls.pop() if len(ttls) == 1 else None)


def _bins(analysis: Analysis, outcome: MeasuredOutcome, longest_us: int) -> list[tuple[Any, ...]]:
    """(bin, reads, reads served by the cache) of one trial."""
    return analysis.samples.query(
        "SELECT CAST(floor((sent_at_us - $first) * $bins / ($longest + 1.0)) AS INTEGER) AS bin, count(*), "
        "count(*) FILTER (served) FROM {samples} WHERE is_read GROUP BY bin ORDER BY bin",
        [outcome.number],
        first=outcome.stats.first_sent_us,
        bins=BINS,
        longest=longest_us,
    )


def _range(ratios: dict[float, list[Point]]) -> str:
    means = [statistics.fmean(ratio for ratio, _ in points) for points in ratios.values()]
    if not means:
        return "–"
    texts = [f"{100 * mean:.1f}" for mean in (means[0], means[-1])]
    return f"{texts[0]} % → {texts[1]} %" if len(means) > 1 else f"{texts[0]} %"
