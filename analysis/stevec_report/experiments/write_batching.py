"""R1, write-batching: a study's fifteen rows beside ours, what is lost, how long writers wait, which batches pay."""

from collections.abc import Sequence

from stevec_report import dependence, limits, reference, rows, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Cell, Column, Row, Table, Words, trials_cell
from stevec_report.dependence import Dependence
from stevec_report.experiments import batching_losses, batching_pages
from stevec_report.experiments.batching_ways import (
    STUDY_CLIENTS,
    TITLES,
    Trials,
    Way,
    Ways,
    compare_to_sync,
    figures,
    ways_of,
)
from stevec_report.intervals import Interval
from stevec_report.percentiles import over_trials

STUDY = "1-batching"
STUDY_COLUMNS = (
    *("http_s", "extra_s", "http_per_s", "ops_per_s", "mean_ms", "min_ms", "max_ms", "p95_ms"),
    "mongod_cpu_percent",
)
FIGURES = [
    Column("requests", "requests", "count"),
    Column("http_s", "HTTP, s"),
    Column("extra_s", "extra, s"),
    Column("http_per_s", "HTTP/s", "interval"),
    Column("ops_per_s", "ops/s", "interval"),
    Column("mean_ms", "mean, ms", "interval"),
    Column("min_ms", "min"),
    Column("max_ms", "max"),
    Column("p95_ms", "p95", "interval"),
    Column("mongod_cpu_percent", "mongod, % of a core", "interval"),
    Column("cpu_ms", "processor time, ms a request", "interval"),
]
STUDY_REQUESTS = 100_000


def blocks(analysis: Analysis) -> list[Block]:
    """The study's table beside ours, losses, waits, pages by strategy, and the times of gathering."""
    ways, depending = ways_of(analysis), dependence.run_dependence(analysis)
    return [
        *_study_table(analysis, ways, depending),
        *batching_losses.losses(ways),
        *_waits_table(ways, depending),
        *batching_pages.against_sync(ways),
        *_gathering(ways),
    ]


def evidence(analysis: Analysis) -> None:
    """Not one of the study's hypotheses."""
    return None


def _study_table(analysis: Analysis, ways: Ways, depending: Dependence) -> list[Block]:
    ours = {
        (TITLES[way.framework], way.title): (way, trials)
        for way, trials in ways.items()
        if way.clients == STUDY_CLIENTS and way.gather_ms is None and way.signal is None
    }
    if not ours:
        return []
    study = {(row["framework"], row["test"]): row for row in reference.read_related(STUDY)}
    found: list[Row] = []
    for key in [*study, *(key for key in ours if key not in study)]:
        name = {"framework": key[0], "test": key[1]}
        if key in study:
            values = {column: float(study[key][column]) if study[key][column] else None for column in STUDY_COLUMNS}
            rates = {column: _exactly(values[column]) for column in STUDY_COLUMNS if _is_interval(column)}
            found.append(name | {"row": study[key]["row"], "of": "study", "requests": STUDY_REQUESTS} | values | rates)
        if key in ours:
            found.append(name | {"of": "here"} | _own_row(analysis, *ours[key], depending))
    return [
        Table(
            "study-rows",
            "The study's fifteen rows beside ours.",
            "HTTP: from the first request to the last answer; extra: from then until everything is in the database; "
            "ops/s: stored records ÷ both times together. Rows of here: geometric means over trials with their 95 % "
            f"interval, {depending.words}; seconds are medians, min and max those of all trials. Of raw inserts the "
            "times are from handing a record over until it is stored, and ops/s counts from the first to the last. "
            "Processor time is of service and mongod together (of a page: wiki, mongod and Redis) until all is stored, "
            "and has less of other programs in it than times have. "
            "The study had 100 000 requests, about 100 connections, another machine and an unstated write concern; "
            "here an insert is on disk, and a group is complete after 1000 records or 1 s, not after the last request. "
            f"{rows.LIMITED_NOTE}",
            [
                Column("row", "#", "text"),
                Column("framework", "framework", "text", left=True),
                Column("test", "test", "text", left=True),
                Column("of", "", "text", left=True),
                *FIGURES,
                rows.FAILED,
                rows.LIMITED,
                TRIALS_COLUMN,
            ],
            found,
        )
    ]


def _is_interval(name: str) -> bool:
    return any(column.key == name and column.show == "interval" for column in FIGURES)


def _exactly(value: float | None) -> Interval | None:
    return None if value is None else Interval(value, None, None, 1)


def _extra_s(timed: Trials) -> float | None:
    """Median of the seconds from the last answer until all was stored."""
    counts = [o.record.records for o in timed if o.record.records]
    return _median([c.extra_s for c in counts if c.extra_s is not None and c.stored])


def _own_row(analysis: Analysis, way: Way, trials: Trials, depending: Dependence) -> Row:
    timed = limits.believed(trials)
    raw = way.framework == "none"
    shortest = [analysis.samples.query("SELECT min(response_ms) FROM {samples} WHERE answered", [o.number])[0][0]
                for o in timed]  # fmt: skip
    return {
        "requests": round(_median([o.stats.requests for o in timed]) or 0),
        "http_s": None if raw else _median([o.stats.span_s for o in timed]),
        "extra_s": _median([o.stats.span_s for o in timed]) if raw else _extra_s(timed),
        "http_per_s": None if raw else depending.mean("answered_per_s", timed),
        "ops_per_s": depending.geometric(figures(timed, lambda own: own.ops_per_s)),
        "mean_ms": depending.mean("mean_ms", timed),
        "min_ms": min((value for value in shortest if value is not None), default=None),
        "max_ms": rows.longest_ms(timed),
        "p95_ms": over_trials(timed, 0.95, depending),
        "mongod_cpu_percent": None
        if way.strategy == "none"
        else depending.geometric(
            figures(timed, lambda own: None if own.database_cpu_share is None else 100 * own.database_cpu_share)
        ),
        "cpu_ms": depending.geometric(_cpu_ms(trials)),
        "failed_share": rows.failed_share(timed),
        "limited_by": rows.limited_by(trials),
        "trials": trials_cell(o.number for o in timed),
    }


def _cpu_ms(trials: Trials) -> dict[int, float]:
    """{number of a trial: processor time of service, mongod and Redis ÷ requests, ms}."""
    found = {}
    for o in trials:
        own = o.record.records
        if own and own.service_cpu_s and own.cpu_s is not None and o.stats.requests:
            found[o.number] = 1000 * own.cpu_s / o.stats.requests
    return found


def _median(values: Sequence[float]) -> float | None:
    ordered = sorted(values)
    if not ordered:
        return None
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _waits_table(ways: Ways, depending: Dependence) -> list[Block]:
    found: list[Row] = []
    for way, trials in ways.items():
        if way.strategy == "none" or way.framework not in ("fastify", "wiki") or way.signal is not None:
            continue
        timed = limits.believed(trials)
        found.append(
            {
                "what": "record" if way.framework == "fastify" else "page of the wiki",
                "strategy": way.strategy,
                "gather_ms": way.gather_ms,
                "clients": way.clients,
                **rows.percentiles(timed, depending),
                "http_s": _median([o.stats.span_s for o in timed]),
                "extra_s": _extra_s(timed),
                "http_per_s": depending.mean("answered_per_s", timed),
                "ops_per_s": depending.geometric(figures(timed, lambda own: own.ops_per_s)),
                "cpu_ms": depending.geometric(figures(trials, lambda own: own.cpu_ms_per_record)),
                "failed_share": rows.failed_share(timed),
                "limited_by": rows.limited_by(trials),
                "trials": trials_cell(o.number for o in timed),
            }
        )
    if not found:
        return []
    return [
        Table(
            "writers",
            "How long writers wait, and what a write takes.",
            "Fastify and the wiki. Gathering: a time that is set; a dash: the default of the strategy, 1 s, and for "
            "group-commit only as long as the write before it takes. HTTP: from the first request to the last answer; "
            "extra: from then until everything is in the database; ops/s: stored ÷ both times together. Processor "
            "time: of service (or wiki), mongod and Redis for a stored record or page, until everything is stored. The "
            "unsafe strategies answer before they store: their waits leave out the time until then. Geometric means of "
            "the trials with their 95 % interval, seconds are medians. A dash: p99 needs 1000 requests.",
            [
                Column("what", "written", "text", left=True),
                Column("strategy", "strategy", "text", left=True),
                Column("gather_ms", "gathering, ms", "count"),
                Column("clients", "writers", "count"),
                rows.P50,
                rows.P99,
                Column("http_s", "HTTP, s"),
                Column("extra_s", "extra, s"),
                Column("http_per_s", "HTTP/s", "interval"),
                Column("ops_per_s", "ops/s", "interval"),
                Column("cpu_ms", "processor time, ms a write", "interval"),
                rows.FAILED,
                rows.LIMITED,
                TRIALS_COLUMN,
            ],
            found,
        )
    ]


def _gathering(ways: Ways) -> list[Block]:
    """The times of gathering against sync under the same load: processor time of a record in the same repetition."""
    compared = compare_to_sync(ways, (way for way in ways if way.gather_ms is not None))
    if not compared:
        return []
    found: list[Row] = []
    paying: dict[str, float] = {}
    for way, own in compared.items():
        ms = float(way.gather_ms or 0)
        pays = own.is_shown and own.ratio.centre < 1
        if pays:
            paying[way.strategy] = min(ms, paying.get(way.strategy, ms))
        found.append(
            {
                "strategy": way.strategy,
                "clients": way.clients,
                "gather_ms": ms,
                "ratio": own.ratio,
                "p_holm": own.p_holm,
                "verdict": Cell("pays" if pays else "not shown to pay", mark="confirmed" if pays else ""),
                "trials": trials_cell(o.number for o in ways[way]),
            }
        )
    strategies = dict.fromkeys(way.strategy for way in compared)
    said = [
        f"of {name} it is {paying[name]:g} ms" if name in paying else f"of {name} none is shown to pay"
        for name in strategies
    ]
    return [
        Words("p", f"The smallest time of gathering that pays: {wording.join_words(said)}."),
        Table(
            "gathering",
            "Which time of gathering pays.",
            "Processor time of service and mongod for a stored record, ÷ that of sync with as many writers in the "
            "same repetition; geometric means with their 95 % interval, p of a t test after Holm's correction over all "
            "rows. It pays where it takes less than sync beyond noise.",
            [
                Column("strategy", "strategy", "text", left=True),
                Column("clients", "writers", "count"),
                Column("gather_ms", "gathering, ms", "count"),
                Column("ratio", "÷ sync", "interval"),
                Column("p_holm", "p, Holm", "p"),
                Column("verdict", "", "text", left=True),
                TRIALS_COLUMN,
            ],
            found,
        ),
    ]
