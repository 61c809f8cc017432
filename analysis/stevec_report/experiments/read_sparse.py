"""E2, read-sparse: few reads over many pages (table 1.3; the study draws no figure of it)."""

import statistics
from collections.abc import Iterable, Sequence

from matplotlib.figure import Figure as MplFigure

from stevec_report import measures, reference, thresholds, wording
from stevec_report.analysis import Analysis
from stevec_report.averages import mean
from stevec_report.blocks import Block, Cell, Column, Figure, Row, Table, judged_cell
from stevec_report.claims import NO_BLOCK, Claim, describe_test
from stevec_report.dependence import run_dependence
from stevec_report.experiments.beside_study import beside_each_other, by_repetition, run_label
from stevec_report.figures import sparse_read_times
from stevec_report.figures.ratios import Ratio
from stevec_report.hypothesis_tests import PairedTest, equivalence, ratio_test
from stevec_report.intervals import geometric_centre
from stevec_report.outcomes import MeasuredOutcome, Outcome
from stevec_report.verdicts import Evidence

STUDY_SETTINGS = {
    "requests": 100,
    "pages": 1000,
    "page_size_chars": 5000,
    "vus": 1,
    "repetitions": 8,
}
STUDY_LABELS = {"without": "cache bypassed", "with": "cached"}
BASE, CACHED = "nocache", "cached"
RULE = (
    "“No difference” is a claim of its own, which a test that finds nothing does not prove. So time holds if the "
    "ratio of mean response times cached ÷ nocache, one value a block, is shown to lie within 1/{0:g} to {0:g} (two "
    "one-sided t tests on the logarithms, TOST), and is refuted if a sign-flip test shows that it lies outside; rare "
    "hits holds if a cache served less than {1:.0f} % of the requests of every valid trial, an exact count."
)


def blocks(analysis: Analysis) -> list[Block]:
    """Table 1.3, its hits beside the repeats of the plan, and a figure of the times."""
    ours = {door: [o for o in analysis.outcomes if o.door == door] for door in (BASE, CACHED)}
    return [
        _table(ours),
        _repeats_table(ours[CACHED], _expected_hits(analysis)),
        Figure(
            "sparse-read-times",
            "Mean response time with and without a cache, few reads over many pages",
            "E2: mean response time with the cache bypassed and used, on one logarithmic scale. Each dot is one "
            "trial; the stroke and the number are their mean (the study's arithmetic, ours geometric), the line below "
            "its 95 % interval. In the shaded range of the ratio, the two count as equal.",
            lambda: _draw_times(analysis),
        ),
    ]


def _draw_times(analysis: Analysis) -> MplFigure:
    depending = run_dependence(analysis)
    trials = {door: depending.shown("mean_ms", analysis.select(door=door)) for door in (BASE, CACHED)}
    study, means = reference.read_series("1.3", "mean_ms"), _study_means()
    margin = thresholds.read(analysis.run.experiment).equivalence_ratio
    ratio = Ratio(f"{CACHED} ÷ {BASE}", means["with"] / means["without"], _effect(analysis, margin).ratio, CACHED)
    return sparse_read_times.draw(study, trials, ratio, margin, run_label(analysis))


def evidence(analysis: Analysis) -> Evidence:
    """Claims: the times are equivalent, and hits are rare."""
    base, cached = (measures.by_block("mean_ms", analysis.select(door=door)) for door in (BASE, CACHED))
    stated = thresholds.read(analysis.run.experiment)
    test = _effect(analysis, stated.equivalence_ratio)
    means = _study_means()
    trials = analysis.select(door=CACHED)
    centres = [wording.three_digits(geometric_centre(own.values())) for own in (cached, base)]
    return Evidence(
        claims=[_same_time(test), _rare_hits(trials, stated.hit_ratio_max)],
        rule=RULE.format(stated.equivalence_ratio, 100 * stated.hit_ratio_max),
        study=f"{means['with']:.1f} ms cached, {means['without']:.1f} ms not; 2.75 hits of 100",
        ours=f"{' ms cached, '.join(centres)} ms not; "
        f"{wording.three_digits(mean(o.stats.served_by_cache for o in trials))} hits of "
        f"{wording.three_digits(mean(o.stats.requests for o in trials))}",
        study_effect=means["with"] / means["without"],
        effect=test,
        effect_name="cached ÷ nocache",
        margin=stated.equivalence_ratio,
        thresholds=stated,
    )


def _study_means() -> dict[str, float]:
    """{path: mean of the study's repetitions in ms}: without, with."""
    return {path: statistics.fmean(own.values()) for path, own in reference.read_series("1.3", "mean_ms").items()}


def _effect(analysis: Analysis, margin: float) -> PairedTest:
    base, cached = (measures.by_block("mean_ms", analysis.select(door=door)) for door in (BASE, CACHED))
    return equivalence(cached, base, margin)


def _same_time(test: PairedTest) -> Claim:
    name = "Same time"
    if test.ratio is None:
        return Claim(name, f"{NO_BLOCK}.", None, test, measure="mean_ms")
    margin, centre = test.against, test.ratio.centre
    text = f"cached ÷ nocache in mean response time: {describe_test(test)} of “not within 1/{margin:g} to {margin:g}”."
    outside_p = 1.0
    if not 1 / margin < centre < margin:
        outside_p = ratio_test(dict(enumerate(test.logs)), margin if centre > 1 else 1 / margin).p or 1.0
    return Claim(
        name,
        text,
        1 / margin < centre < margin,
        test,
        opposite_p=outside_p,
        measure="mean_ms",
        is_equivalence=True,
    )


def _rare_hits(trials: Sequence[MeasuredOutcome], few: float) -> Claim:
    name = "Rare hits"
    if not trials:
        return Claim(name, "no valid trial.", None)
    shares = [o.stats.served_by_cache / o.stats.requests for o in trials]
    text = f"a cache served {wording.percent(min(shares))} to {wording.percent(max(shares))} of the requests."
    holds = True if max(shares) < few else False if min(shares) >= few else None
    return Claim(name, text, holds, trials=tuple(o.number for o in trials))


def _table(ours: dict[str, list[Outcome]]) -> Table:
    """Table 1.3. `ours`: {door: outcomes, invalid ones too}."""
    study_hits = {"hits": reference.read_series("1.3", "cached_requests")["with"]}
    times = by_repetition(
        "table-1.3",
        "Table 1.3. Mean response time in milliseconds and requests that the cache served, by repetition.",
        "Both paths go through the CDN; hits are those of the path that is cached. A number leads to its trial. The "
        "last row is the arithmetic mean, as in the study, of the times without limited trials.",
        {STUDY_LABELS[path]: v for path, v in reference.read_series("1.3", "mean_ms").items()},
        ours,
        "mean_ms",
        study_show="count",
    )
    hits = by_repetition("", "", "", study_hits, {"hits": ours[CACHED]}, "cache_hits", "count", "count")
    return beside_each_other(times, hits)


def _repeats_table(outcomes: Iterable[Outcome], expected: float | None) -> Table:
    columns = [
        Column("repetition", "rep.", "text"),
        Column("hits", "hits", "count"),
        Column("repeats", "repeats in the plan", "count"),
        Column("exact", "equal", "text"),
    ]
    rows: list[Row] = []
    for outcome in sorted((o for o in outcomes if o.repetition is not None), key=lambda o: o.repetition or 0):
        row: Row = {"repetition": outcome.repetition}
        if isinstance(outcome, MeasuredOutcome):
            hits = outcome.stats.served_by_cache
            repeats = outcome.stats.requests - outcome.stats.distinct_pages
            row |= {
                "hits": Cell(hits, trials=(outcome.number,), off="" if outcome.valid else "invalid"),
                "repeats": repeats,
                "exact": judged_cell(hits == repeats, "yes", "no"),
            }
        rows.append(row)
    note = (
        "A page that was asked for before is a hit, and nothing else is: hits and repeats must be equal. Chance "
        f"gives {wording.three_digits(expected)} repeats for this run's plans and 4.8 for the study's, which had "
        "2.75 hits on average and does not say why they were fewer."
    )
    return Table("table-1.3-repeats", "Hits beside the repeats of the plan.", note, columns, rows)


def _expected_hits(analysis: Analysis) -> float | None:
    """n − m (1 − (1 − 1/m)^n), the mean number of repeats among n draws of m pages."""
    record = next((o.record for o in analysis.outcomes if o.record), None)
    if record is None or record.number("pages") < 1:
        return None
    n, m = record.number("requests"), record.number("pages")
    return n - m * (1 - (1 - 1 / m) ** n)
