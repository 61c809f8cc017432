"""The same requests through different caches: hit ratio, freshness, latency, throughput."""

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stevec_report import limits, measures, percentiles, rows, staleness, wording
from stevec_report.analysis import Analysis
from stevec_report.averages import mean, median
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Row, Table, Words, trials_cell
from stevec_report.dependence import Dependence, run_dependence
from stevec_report.figures import beside_each_other

NAMES = {
    "edge": "our edge",
    "nginx": "nginx",
    "varnish": "Varnish",
    "trafficserver": "Traffic Server",
    "squid": "Squid",
}


def blocks(analysis: Analysis) -> list[Block]:
    """What was left out, the result for the hypothesis, the table by cache, and its figure."""
    found = [_row(analysis, cache) for cache in _caches(analysis)]
    return [
        *[Words("note", f"Left out: {text}.") for text in _left_out(analysis)],
        Words("p", _say(found)),
        _table(found, run_dependence(analysis)),
        Figure(
            "caches-figure",
            "Hit ratio, stale reads and throughput by cache",
            "Paced trials above and in the middle, trials at full speed below. Each dot is one trial; of a limited "
            "one (hollow) only the counts hold.",
            lambda: beside_each_other.draw(_panels(found)),
        ),
    ]


def evidence(analysis: Analysis) -> None:
    """Not one of the study's hypotheses: the study had one CDN."""
    return None


def _left_out(analysis: Analysis) -> list[str]:
    value = analysis.run.experiment.get("left_out")
    entries = value[: len(NAMES)] if isinstance(value, list) else []
    return [str(entry.get("reason"))[:300] for entry in entries if isinstance(entry, dict)]


def _caches(analysis: Analysis) -> list[str]:
    there = {o.record.setting("cache", "edge") for o in analysis.valid}
    return [name for name in NAMES if name in there]


def _row(analysis: Analysis, cache: str) -> dict[str, Any]:
    own = [o for o in analysis.valid if o.record.setting("cache", "edge") == cache]
    paced = [o for o in own if o.record.setting("model") == "open"]
    fast = [o for o in own if o.record.setting("model") == "closed"]
    old = staleness.of_trials(paced)
    return {
        "cache": NAMES[cache],
        "hits": [o.stats.hit_ratio for o in paced if o.stats.hit_ratio is not None],
        "stale": old.ratio if old else None,
        "paced": paced,
        "fast": fast,
        "staleness_p95_s": old.seconds["p95"] if old else None,
        "trials": trials_cell(o.number for o in own),
    }


def _say(found: Sequence[dict[str, Any]]) -> str:
    hits = [statistics.fmean(row["hits"]) for row in found if row["hits"]]
    stale = [(row["cache"], row["stale"].centre) for row in found if row["stale"]]
    if not hits:
        return "There is no valid trial with a pace."
    apart = 100 * (max(hits) - min(hits))
    text = f"Hit ratios of {wording.count_of(len(hits), 'cache')} lie within {apart:.1f} points"
    if stale:
        parts = wording.join_words(f"{name} {wording.percent(ratio)}" for name, ratio in stale)
        text += f"; the share of stale reads is {parts}"
    return f"{text}."


def _table(found: Sequence[dict[str, Any]], depending: Dependence) -> Table:
    columns = [
        Column("cache", "cache", "text", left=True),
        Column("hit_ratio", "hit ratio of reads", "percent", group="paced"),
        Column("origin_reads", "reads at the origin", "count", group="paced"),
        Column("stale_percent", "stale reads, %", "interval", group="paced"),
        Column("staleness_p95_s", "stale by p95, s", group="paced"),
        replace(rows.P50, group="paced"),
        replace(rows.P99, group="paced"),
        Column("failed_share", "failed", "percent", group="paced"),
        Column("per_s", "answered, 1/s", group="full speed"),
        replace(rows.P50, key="fast_p50_ms", group="full speed"),
        replace(rows.P99, key="fast_p99_ms", group="full speed"),
        replace(rows.LIMITED, group="full speed"),
        TRIALS_COLUMN,
    ]
    return Table(
        "caches",
        "The same requests through different caches.",
        "Means over the trials; rates are medians. Served: the cache answered without a request to the origin. A "
        "read is stale if it returned an older revision than the newest one acknowledged before it was sent. "
        + percentiles.NOTE
        + rows.LIMITED_NOTE,
        columns,
        [_shown(row, depending) for row in found],
    )


def _shown(row: dict[str, Any], depending: Dependence) -> Row:
    paced, fast = row["paced"], row["fast"]
    return {
        "cache": row["cache"],
        "hit_ratio": mean(row["hits"]),
        "origin_reads": mean([o.record.counter_reads for o in paced]),
        "stale_percent": row["stale"].in_percent() if row["stale"] else None,
        "staleness_p95_s": row["staleness_p95_s"],
        **rows.percentiles(limits.believed(paced), depending),
        "failed_share": rows.failed_share(limits.believed(paced)),
        "per_s": median(o.stats.completed_per_s for o in limits.believed(fast)),
        **{f"fast_{name}": value for name, value in rows.percentiles(limits.believed(fast), depending).items()},
        "limited_by": rows.limited_by(fast),
        "trials": row["trials"],
    }


def _panels(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    panels = (
        ("Hit ratio of reads, %", "paced", "hit_ratio", 100),
        ("Stale reads, %", "paced", "stale_ratio", 100),
        ("Answered a second at full speed", "fast", "answered_per_s", 1),
    )
    return [
        {
            "title": title,
            "names": [row["cache"] for row in found],
            "points": [
                [(scale * value, limit) for value, limit in measures.points(measure, row[trials])] for row in found
            ],
        }
        for title, trials, measure, scale in panels
    ]
