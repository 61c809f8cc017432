"""E4's claims: whether edits, and larger pages, cost reads at the origin."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from stevec_report import measures, reference, wording
from stevec_report.analysis import Analysis
from stevec_report.block_values import block_means, block_test
from stevec_report.claims import Claim, test_claim
from stevec_report.outcomes import BlockKey, MeasuredOutcome
from stevec_report.thresholds import Thresholds

LogKey = tuple[str, float, BlockKey]  # workload, size, block
WORKLOADS = ("mixed", "get-only")
# Added to each count of reads: the log ratio of two counts then has less bias, and a count may be 0 (F. J. Anscombe,
# "On estimating binomial response relations", Biometrika 43, 1956).
HALF = 0.5
RULE = (
    "Reads alone are judged, as each edit reaches the origin whatever a cache does. Edits cost reads: the origin sees "
    "more reads with edits than in the twin without them (the mean over the page sizes). Larger pages cost more: it "
    "sees more reads with the largest pages than with the smallest (the mean over both workloads). Each block gives "
    "one value, the mean of its log ratios, and needs all its cells. Both by a two-sided sign-flip test; each is "
    "refuted if its ratio is below 1, or shown to be near 1 (TOST)."
)


def claims(analysis: Analysis, stated: Thresholds) -> list[Claim]:
    """The two claims; the first one's test is the effect that is shown beside the study's."""
    found = measures.values("origin_reads", analysis.valid, lambda o: (workload_of(o), size_of(o), o.block))
    logs = {key: math.log(reads + HALF) for key, reads in found.items()}
    sizes = sorted({size_of(o) for o in analysis.outcomes if isinstance(o, MeasuredOutcome)})
    by_workload = {name: {(size, b): x for (w, size, b), x in logs.items() if w == name} for name in WORKLOADS}
    edits = block_test(analysis, block_means(_log_ratios(by_workload, *WORKLOADS), sizes))
    return [
        test_claim("Edits cost reads", "origin_reads", edits, "above", "reads, with edits ÷ without", stated),
        _larger_costs_more(analysis, logs, sizes, stated),
    ]


def workload_of(outcome: MeasuredOutcome) -> str:
    """mixed or get-only."""
    return "mixed" if outcome.record.number("edit_ratio") > 0 else "get-only"


def size_of(outcome: MeasuredOutcome) -> float:
    """Characters of a page."""
    return outcome.record.number("page_size_chars")


def writes_pass(trials: Sequence[MeasuredOutcome]) -> Claim:
    """A fact, and no claim of the hypothesis: no cache answers a write."""
    sent, came = sum(o.stats.writes for o in trials), sum(o.record.counter_writes for o in trials)
    text = f"{wording.grouped(came)} of {wording.grouped(sent)} edits reached the origin, as no cache answers them."
    return Claim("Edits themselves", text, came == sent if sent else None)


def study_effect() -> float:
    """The study's requests with edits, without the edits themselves, ÷ those without edits, over its sizes."""
    rows = {(row["workload"], row["page_kb"]): row for row in reference.read_rows("1.6")}
    return math.exp(
        statistics.fmean(
            math.log(
                (int(row["origin_requests"]) - int(row["post_requests"]))
                / int(rows["get-only", size]["origin_requests"])
            )
            for (workload, size), row in rows.items()
            if workload == "mixed"
        )
    )


def _larger_costs_more(
    analysis: Analysis, logs: Mapping[LogKey, float], sizes: Sequence[float], stated: Thresholds
) -> Claim:
    name = "Larger pages cost more"
    if len(sizes) < 2:
        return Claim(name, "fewer than two sizes of page.", None)
    by_size = {size: {(w, b): x for (w, own, b), x in logs.items() if own == size} for size in sizes}
    test = block_test(analysis, block_means(_log_ratios(by_size, sizes[-1], sizes[0]), WORKLOADS))
    what = f"reads, pages of {sizes[-1] / 1000:g} kB ÷ {sizes[0] / 1000:g} kB"
    return test_claim(name, "origin_reads", test, "above", what, stated)


def _log_ratios(
    logs: Mapping[Any, Mapping[tuple[Any, BlockKey], float]], numerator: Any, denominator: Any
) -> dict[tuple[Any, BlockKey], float]:
    """{(other level, block): log ratio} where both are."""
    own, other = logs[numerator], logs[denominator]
    return {key: own[key] - other[key] for key in own.keys() & other.keys()}
