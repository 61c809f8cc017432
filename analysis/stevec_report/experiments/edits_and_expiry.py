"""E4: what edits add to the origin's share, and the requests that expiry explains, as the study argues about them."""

from collections.abc import Iterable, Mapping, Sequence

from stevec_report import reference
from stevec_report.averages import mean
from stevec_report.blocks import Column, Row, Table, trials_cell
from stevec_report.intervals import Interval, t_interval
from stevec_report.outcomes import BlockKey, MeasuredOutcome
from stevec_report.rows import share

Groups = Mapping[tuple[str, float], Sequence[MeasuredOutcome]]  # {(workload, size in characters): valid trials}
STUDY_ITERATIONS = 10_000
# {kB: pages * duration ÷ max age}. The study gives the duration of one run only: about an hour.
STUDY_EXPECTED = {50.0: 100 * 3600 / 180}


def edits_table(groups: Groups) -> Table:
    """The origin's share with edits minus that without, by size of page, in percentage points."""
    study = {workload: _study_requests(workload) for workload in ("mixed", "get-only")}
    ours = "this run (means of the trials)"
    columns = [
        Column("page_kb", "page, kB", "text"),
        Column("study_mixed", "with edits", "percent", "the study"),
        Column("study_get_only", "reads only", "percent", "the study"),
        Column("study_points", "difference, points", group="the study"),
        Column("mixed", "with edits", "percent", ours),
        Column("get_only", "reads only", "percent", ours),
        Column("points", "difference, points", "interval", ours),
        Column("read_points", "from reads", "interval", ours),
        Column("trials", "from trials", "text", ours, left=True),
    ]
    rows: list[Row] = []
    for kb in _sizes(groups, study["mixed"]):
        mixed, plain = (groups.get((workload, 1000 * kb), []) for workload in ("mixed", "get-only"))
        row: Row = {"page_kb": f"{kb:g}", "trials": trials_cell(o.number for o in (*mixed, *plain))}
        if kb in study["mixed"]:
            theirs = [study[workload][kb] / STUDY_ITERATIONS for workload in ("mixed", "get-only")]
            row |= {
                "study_mixed": theirs[0],
                "study_get_only": theirs[1],
                "study_points": 100 * (theirs[0] - theirs[1]),
            }
        row |= {
            "mixed": mean(_shares(mixed).values()),
            "get_only": mean(_shares(plain).values()),
            "points": _points(_shares(mixed), _shares(plain)),
            "read_points": _points(_read_shares(mixed), _read_shares(plain)),
        }
        rows.append(row)
    return Table(
        "table-1.6-edits",
        "What edits add at the origin.",
        "Shares are requests at the origin ÷ iterations, as in the study. A difference is that of a trial with "
        "edits and its twin without them. “From reads” leaves out the writes, which always reach the origin.",
        columns,
        rows,
    )


def expiry_table(groups: Groups) -> Table:
    """The requests that would have come if each page were requested again at once when it expires, and those that came.

    Trials without edits only.
    """
    study = _study_requests("get-only")
    ours = "this run (means of the trials)"
    columns = [
        Column("page_kb", "page, kB", "text"),
        Column("study_expected", "expected", "count", "the study"),
        Column("study_came", "came", "count", "the study"),
        Column("study_ratio", "came ÷ expected", group="the study"),
        Column("span_s", "lasted, s", group=ours),
        Column("max_age_s", "max-age, s", group=ours),
        Column("expected", "expected", group=ours),
        Column("came", "came", group=ours),
        Column("ratio", "came ÷ expected", "interval", ours),
        Column("trials", "from trials", "text", ours, left=True),
    ]
    rows: list[Row] = []
    for kb in _sizes(groups, study):
        trials = [o for o in groups.get(("get-only", 1000 * kb), []) if o.record.number("ttl_s") > 0]
        expected = [_expected(o) for o in trials]
        ratios = [o.record.counter_requests / n for o, n in zip(trials, expected, strict=True) if n]
        rows.append(
            {
                "page_kb": f"{kb:g}",
                "study_expected": STUDY_EXPECTED.get(kb),
                "study_came": study.get(kb),
                "study_ratio": share(study[kb], STUDY_EXPECTED[kb]) if kb in study.keys() & STUDY_EXPECTED else None,
                "span_s": mean(o.stats.span_s for o in trials),
                "max_age_s": mean(o.record.number("ttl_s") for o in trials),
                "expected": mean(expected),
                "came": mean(o.record.counter_requests for o in trials),
                "ratio": t_interval(ratios) if ratios else None,
                "trials": trials_cell(o.number for o in trials),
            }
        )
    return Table(
        "table-1.6-expiry",
        "Reads only: requests expected from expiry, and those that came.",
        "Expected is pages × duration ÷ max age, the study’s own estimate. It is not a model: a page that expires "
        "is requested again only later (fewer requests), and each page has a first request (more of them). The "
        "model of expiry below takes both into account.",
        columns,
        rows,
    )


def _sizes(groups: Groups, study: Iterable[float]) -> list[float]:
    return sorted({size / 1000 for _, size in groups} | set(study))


def _study_requests(workload: str) -> dict[float, int]:
    rows = reference.read_rows("1.6")
    return {float(row["page_kb"]): int(row["origin_requests"]) for row in rows if row["workload"] == workload}


def _shares(trials: Iterable[MeasuredOutcome]) -> dict[BlockKey, float]:
    return {o.block: o.record.counter_requests / o.stats.iterations for o in trials}


def _read_shares(trials: Iterable[MeasuredOutcome]) -> dict[BlockKey, float]:
    return {o.block: o.record.counter_reads / o.stats.iterations for o in trials}


def _points(mixed: Mapping[BlockKey, float], plain: Mapping[BlockKey, float]) -> Interval | None:
    shared = sorted(mixed.keys() & plain.keys())
    return t_interval([100 * (mixed[block] - plain[block]) for block in shared]) if shared else None


def _expected(outcome: MeasuredOutcome) -> float:
    return outcome.record.number("pages") * outcome.stats.span_s / outcome.record.number("ttl_s")
