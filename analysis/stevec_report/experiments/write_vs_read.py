"""E5 and E6, write-vs-read: the cost of a write against a read, directly and through the cache.

Tables 1.7 (E5) and 1.8 (E6), which table 1.9 and figure 1.9 join, and figures 1.7 and 1.8.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from stevec_report import measures, reference, thresholds, wording
from stevec_report.analysis import Analysis
from stevec_report.averages import mean
from stevec_report.block_values import block_test
from stevec_report.blocks import Block, Column, Figure, Row, Table
from stevec_report.claims import test_claim
from stevec_report.dependence import run_dependence
from stevec_report.experiments.beside_study import MEAN_ROW, by_repetition, run_label
from stevec_report.figures import figure_1_9, write_and_read
from stevec_report.figures.figure_1_9 import Means
from stevec_report.figures.ratios import Ratio
from stevec_report.hypothesis_tests import PairedTest, log_ratios
from stevec_report.intervals import Interval, geometric_centre
from stevec_report.outcomes import Outcome, valid_of
from stevec_report.verdicts import Evidence

STUDY_SETTINGS = {"requests": 200, "edit_size_chars": 1000, "pause_s": 0, "vus": 1, "repetitions": 8}
RULE_DIRECT = (
    "Dearer holds if the ratio of mean response times write ÷ read, one value a block, is above 1; only a little holds "
    "if it is below {0:g}. Both by two-sided sign-flip tests, the second of the ratios divided by {0:g}. Dearer is "
    "refuted if the ratio is clearly below 1, or shown to be near 1 (TOST), only a little if it is clearly above {0:g}."
)
RULE_CACHED = (
    "Far longer holds if the ratio of mean response times write ÷ read, one value a block, is above {0:g} by a "
    "two-sided sign-flip test: the ratios are divided by {0:g} first. It is refuted if it is clearly below."
)


def blocks(analysis: Analysis) -> list[Block]:
    """The table by repetition, the figure, and this run's side of table 1.9."""
    direct = _is_direct(analysis)
    number = "1.7" if direct else "1.8"  # of the table and of the figure
    study = reference.read_series(number, "mean_ms", series="method")
    ours = _by_operation(analysis.outcomes)
    depending = run_dependence(analysis)
    means = {name: depending.shown("mean_ms", valid_of(own)) for name, own in ours.items()}
    return [
        Figure(
            f"figure-{number}",
            f"Mean response time of writes and reads, {'without' if direct else 'with'} a cache",
            f"Figure {number}. Mean response time of a write and of a read, on one logarithmic scale. Each dot is one "
            "trial; the stroke and the number are their mean (the study's arithmetic, ours geometric), the line below "
            "its 95 % interval.",
            lambda: write_and_read.draw(study, means, direct, _ratio(analysis), _far(analysis), run_label(analysis)),
        ),
        by_repetition(
            f"table-{number}",
            f"Table {number}. Mean response time in milliseconds, by repetition.",
            "A number leads to its trial. " + MEAN_ROW,
            {"POST": study["POST"], "GET": study["GET"]},
            {"write": ours["write"], "read": ours["read"]},
            "mean_ms",
            study_show="count",
        ),
        means_table({direct: facts(analysis)["means"]}),
    ]


def facts(analysis: Analysis) -> dict[str, Any]:
    """This run's side of table 1.9."""
    own = _by_operation(analysis.valid)
    means = {}
    for operation, trials in own.items():
        means[operation] = mean(measures.by_block("mean_ms", valid_of(trials)).values())
    return {"direct": _is_direct(analysis), "means": means, "ratio": _ratio(analysis).ours}


def means_table(means: Means) -> Table:
    """Table 1.9: means of writes and reads, without and with the cache, for the runs that exist.

    Args:
        means: {True for direct access, False for the cache: {"write": mean in ms or None, "read": …}}.
    """
    ordered = sorted(means, reverse=True)
    study = _study_means()
    columns = [
        Column("method", "method", "text", left=True),
        *[Column(f"study_{_with(d)}_cache", f"{_with(d)} a cache", group="the study") for d in (True, False)],
        *[Column(f"run_{_with(d)}_cache", f"{_with(d)} a cache", group="this run") for d in ordered],
    ]
    rows = []
    for method, operation in write_and_read.METHODS.items():
        entry: Row = {"method": f"{operation} ({method})"}
        entry |= {f"study_{_with(direct)}_cache": own[operation] for direct, own in study.items()}
        entry |= {f"run_{_with(direct)}_cache": means[direct][operation] for direct in ordered}
        rows.append(entry)
    return Table(
        "table-1.9",
        "Table 1.9. Mean response times in milliseconds.",
        "Arithmetic means of the trial means, as in the study.",
        columns,
        rows,
    )


def means_figure(means: Means, ratios: Mapping[bool, Interval | None]) -> Figure:
    """Figure 1.9: the means of table 1.9 and the ratios write ÷ read. `means` has both True and False."""
    return Figure(
        "figure-1.9",
        "Mean response time of writes and reads, without and with a cache",
        "Figure 1.9. Mean response time of a write and of a read, without a cache (E5) and with one (E6): what table "
        "1.9 says, drawn on one logarithmic scale. The means are arithmetic, as in the study; our ratios are geometric "
        "means over the repetitions, with 95 % intervals.",
        lambda: figure_1_9.draw(_study_means(), means, ratios, "This study: E5 and E6"),
    )


def evidence(analysis: Analysis) -> Evidence:
    """Claims on the ratio of write times to read times: above 1 and below `far_more_ratio` (E5), or above it (E6)."""
    direct, stated = _is_direct(analysis), thresholds.read(analysis.run.experiment)
    own = _by_operation(analysis.valid)
    writes, reads = (measures.by_block("mean_ms", valid_of(own[name])) for name in ("write", "read"))
    far = stated.far_more_ratio
    effect = _effect(analysis, 1.0 if direct else far)
    study = _study_means()[direct]
    write_ms, read_ms = study["write"], study["read"]
    centres = [wording.three_digits(geometric_centre(own.values())) for own in (writes, reads)]
    what, what_far = "write ÷ read in mean response time", f"write ÷ read (p against {far:g})"
    if direct:
        claims = [
            test_claim("Dearer", "mean_ms", effect, "above", what, stated),
            test_claim("Only a little", "mean_ms", _effect(analysis, far), "below", what_far, stated),
        ]
    else:
        claims = [test_claim("Far longer", "mean_ms", effect, "above", what_far, stated)]
    return Evidence(
        claims=claims,
        rule=(RULE_DIRECT if direct else RULE_CACHED).format(far),
        study=f"{write_ms:.1f} ms write, {read_ms:.1f} ms read",
        ours=f"{' ms write, '.join(centres)} ms read",
        study_effect=write_ms / read_ms,
        effect=effect,
        effect_name="write ÷ read",
        thresholds=stated,
    )


def _far(analysis: Analysis) -> float:
    """The ratio that the hypothesis speaks of: from it on, a write takes far longer, and below, a little."""
    return thresholds.read(analysis.run.experiment).far_more_ratio


def _ratio(analysis: Analysis) -> Ratio:
    """Write ÷ read, the study's and ours."""
    direct = _is_direct(analysis)
    study = _study_means()[direct]
    ours = _effect(analysis, 1.0).ratio
    return Ratio("write ÷ read", study["write"] / study["read"], ours, write_and_read.DOORS[direct])


def _effect(analysis: Analysis, against: float) -> PairedTest:
    own = _by_operation(analysis.valid)
    writes, reads = (measures.by_block("mean_ms", valid_of(own[name])) for name in ("write", "read"))
    return block_test(analysis, log_ratios(writes, reads), against)


def study_settings(analysis: Analysis) -> dict[str, Any]:
    """The study's settings: its writes without a cache used more pages."""
    return STUDY_SETTINGS | {"pages": (100, 30) if _is_direct(analysis) else 30}


def _by_operation(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {"write": [], "read": []}
    for outcome in outcomes:
        if outcome.record:
            found["write" if outcome.record.number("edit_ratio") > 0 else "read"].append(outcome)
    return {name: sorted(own, key=lambda o: o.repetition or 0) for name, own in found.items()}


def _study_means() -> dict[bool, dict[str, float]]:
    """The study's side of table 1.9, in the shape of `Means`."""
    rows = {write_and_read.METHODS[row["method"]]: row for row in reference.read_rows("1.9")}
    columns = {True: "without_cache_mean_ms", False: "with_cache_mean_ms"}
    return {d: {name: float(row[column]) for name, row in rows.items()} for d, column in columns.items()}


def _with(direct: bool) -> str:
    return "without" if direct else "with"


def _is_direct(analysis: Analysis) -> bool:
    return analysis.name != "write-vs-read-cached"
