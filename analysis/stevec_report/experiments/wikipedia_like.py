"""Reads as in an encyclopaedia: how page popularity affects a cache, and how rare edits affect freshness."""

import itertools
import statistics
from collections.abc import Sequence
from typing import Any

from stevec_report import limits, measures, percentiles, rows, staleness, wording
from stevec_report.analysis import Analysis
from stevec_report.averages import mean
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Row, Table, Words, trials_cell
from stevec_report.dependence import Dependence, run_dependence
from stevec_report.figures import hits_by_rank
from stevec_report.outcomes import BlockKey, MeasuredOutcome

STALE_MAX = 0.01  # of the reads, in the hypothesis
UNIFORM = 0.0


def blocks(analysis: Analysis) -> list[Block]:
    """The result for the hypothesis, the table by popularity, and the hit ratio by a page's rank."""
    found = [_of_exponent(analysis, exponent) for exponent in _exponents(analysis)]
    return [
        Words("p", _say(found)),
        _table(found, run_dependence(analysis)),
        Figure(
            "hits-by-rank",
            "Hit ratio by the rank of a page",
            "Share of reads that the cache served, by the rank of the page (1 is the page with most reads), in "
            "classes that double.",
            lambda: hits_by_rank.draw([_line(analysis, own) for own in found]),
        ),
    ]


def evidence(analysis: Analysis) -> None:
    """Decides none of the study's hypotheses: the study drew its pages uniformly."""
    return None


def exponent_of(outcome: MeasuredOutcome) -> float:
    """The Zipf exponent of the reads of a trial, 0 where they are uniform."""
    popularity = outcome.record.setting("popularity", "uniform")
    return float(popularity.get("zipf", UNIFORM)) if isinstance(popularity, dict) else UNIFORM


def _exponents(analysis: Analysis) -> list[float]:
    return sorted({exponent_of(o) for o in analysis.valid})


def _of_exponent(analysis: Analysis, exponent: float) -> dict[str, Any]:
    trials = [o for o in analysis.valid if exponent_of(o) == exponent and o.stats.reads]
    return {
        "name": "uniform" if exponent == UNIFORM else f"Zipf {exponent:g}",
        "exponent": exponent,
        "trials": trials,
        "hits": measures.by_block("hit_ratio", trials),
        "bytes": [_bytes_spared(analysis, o) for o in trials],
        "staleness": staleness.of_trials(trials),
    }


def _bytes_spared(analysis: Analysis, outcome: MeasuredOutcome) -> float | None:
    """Share of the bytes of reads' responses that did not come from the origin. A 304 carries none."""
    found = analysis.samples.query(
        "SELECT sum(size_bytes) FILTER (served OR cache_status = 'REVALIDATED'), sum(size_bytes) "
        "FROM {samples} WHERE is_read AND answered",
        [outcome.number],
    )
    spared, total = found[0] if found else (None, None)
    return (spared or 0) / total if total else None


def _say(found: Sequence[dict[str, Any]]) -> str:
    if not found:
        return "There is no valid trial."
    hits = [(own["name"], statistics.fmean(own["hits"].values())) for own in found]
    text = "The cache served " + wording.join_words(
        f"{wording.percent(ratio)} of reads ({name})" for name, ratio in hits
    )
    if len(found) > 1:
        text += f"; {_say_growth([own['hits'] for own in found])}"
    edited = [own["trials"] for own in found if own["staleness"]]
    ratios = [ratio for trials in edited for ratio in measures.by_block("stale_ratio", trials).values()]
    if ratios:
        below = sum(ratio < STALE_MAX for ratio in ratios)
        text += (
            f". At most {wording.percent(max(ratios))} of reads were stale; in "
            f"{wording.part_of(below, len(ratios), 'trial')} it was less than {wording.percent(STALE_MAX)}"
        )
    return f"{text}."


def _say_growth(hits: Sequence[dict[BlockKey, float]]) -> str:
    """`hits` are {block: hit ratio} by rising exponent; neighbours are compared in the blocks that both have."""
    pairs = [
        [(low[block], high[block]) for block in low.keys() & high.keys()] for low, high in itertools.pairwise(hits)
    ]
    if not all(pairs):
        return "whether the share grows with the exponent is not known: two popularities have no repetition in common"
    grows = all(low < high for own in pairs for low, high in own)
    return f"the share {'grows' if grows else 'does not grow'} with the exponent in every repetition"


def _table(found: Sequence[dict[str, Any]], depending: Dependence) -> Table:
    columns = [
        Column("popularity", "popularity", "text", left=True),
        Column("pages", "pages", "count"),
        Column("distinct_pages", "of them asked for", "count"),
        Column("reads", "reads", "count"),
        Column("edits", "edits", "count"),
        Column("hit_ratio", "hit ratio of reads", "percent"),
        Column("offload_bytes", "bytes spared the origin", "percent"),
        Column("stale_percent", "stale reads, %", "interval"),
        Column("staleness_p95_s", "stale by p95, s"),
        rows.P50,
        rows.P99,
        rows.LIMITED,
        TRIALS_COLUMN,
    ]
    return Table(
        "popularity",
        "What the popularity of pages is worth to a cache.",
        "Means over the trials. All rows of a repetition have the same pages and random draws; they differ in the "
        "popularity that turns a draw into a page. A read is stale if it returned an older revision than the newest "
        "one acknowledged before it was sent. " + percentiles.NOTE + rows.LIMITED_NOTE,
        columns,
        [_row(own, depending) for own in found],
    )


def _row(own: dict[str, Any], depending: Dependence) -> Row:
    trials = own["trials"]
    old = own["staleness"]
    return {
        "popularity": own["name"],
        "pages": trials[0].record.number("pages"),
        "distinct_pages": statistics.fmean(o.stats.distinct_pages for o in trials),
        "reads": statistics.fmean(o.stats.reads for o in trials),
        "edits": statistics.fmean(o.stats.writes for o in trials),
        "hit_ratio": statistics.fmean(own["hits"].values()),
        "offload_bytes": mean(own["bytes"]),
        "stale_percent": old.ratio.in_percent() if old else None,
        "staleness_p95_s": old.seconds["p95"] if old else None,
        **rows.percentiles(limits.believed(trials), depending),
        "limited_by": rows.limited_by(trials),
        "trials": trials_cell(o.number for o in trials),
    }


def _line(analysis: Analysis, own: dict[str, Any]) -> dict[str, Any]:
    classes = analysis.samples.query(
        "SELECT CAST(floor(log2(CAST(regexp_extract(page, '[0-9]+$') AS BIGINT))) AS INTEGER) AS class, "
        "count(*), count(*) FILTER (served) FROM {samples} "
        "WHERE is_read AND answered AND regexp_matches(page, '^page-0*[1-9][0-9]*$') GROUP BY 1 ORDER BY 1",
        [o.number for o in own["trials"]],
    )
    # The middle of the ranks from 2^k to below 2^(k+1), on a logarithmic axis.
    return {
        "label": own["name"],
        "ranks": [2 ** (k + 0.5) if k else 1 for k, _, _ in classes],
        "ratios": [served / reads for _, reads, served in classes],
    }
