"""The trials of the experiment write-batching, by what they write and how."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from stevec_report import hypothesis_tests, intervals
from stevec_report.analysis import Analysis
from stevec_report.intervals import Interval
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.record_counts import RecordCounts

STRATEGIES = (
    *("none", "sync", "group-commit", "async", "group", "bulk"),
    *("unsafe-async", "unsafe-group", "unsafe-bulk", "unsafe-write-behind"),
)
FRAMEWORKS = ("express", "koa", "fastify", "none")
TITLES = {"express": "Express", "koa": "Koa", "fastify": "Fastify", "none": "raw", "wiki": "wiki, a page"}
STUDY_CLIENTS = 100
Trials = Sequence[MeasuredOutcome]


@dataclass(frozen=True)
class Way:
    """A way to write, or not to, under one load. `signal` stopped the service, `gather_ms` is None for the default."""

    framework: str
    strategy: str
    is_read: bool
    clients: int
    gather_ms: int | None
    signal: str | None

    @property
    def title(self) -> str:
        """As the study names its tests."""
        return f"insert {self.strategy}" if self.strategy != "none" else "empty GET" if self.is_read else "empty POST"

    @property
    def place(self) -> tuple[int, int, int, int, float]:
        """The order of rows."""
        frameworks = ("none", *FRAMEWORKS[:-1], "wiki")
        gather = -1.0 if self.gather_ms is None else float(self.gather_ms)
        test = 0 if self.is_read else 1
        return (frameworks.index(self.framework), test, STRATEGIES.index(self.strategy), self.clients, gather)


Ways = Mapping[Way, list[MeasuredOutcome]]


def ways_of(analysis: Analysis) -> dict[Way, list[MeasuredOutcome]]:
    """{way: its valid trials}, in the order of rows."""
    found: dict[Way, list[MeasuredOutcome]] = {}
    for o in analysis.valid:
        strategy = str(o.record.setting("write_strategy", "sync"))
        is_page = o.record.setting("resource", "page") == "page"
        framework = "wiki" if is_page else str(o.record.setting("framework", "none"))
        if strategy not in STRATEGIES or framework not in TITLES:
            continue
        gather = o.record.setting("gather_ms")
        way = Way(
            framework,
            strategy,
            o.record.number("edit_ratio") == 0,
            int(o.record.number("vus", 1)),
            gather if isinstance(gather, int) else None,
            o.record.records.signal if o.record.records else None,
        )
        found.setdefault(way, []).append(o)
    return {way: sorted(found[way], key=lambda o: o.block) for way in sorted(found, key=lambda way: way.place)}


def figures(trials: Trials, of: Callable[[RecordCounts], float | None]) -> dict[int, float]:
    """{number of a trial: a positive figure of its records}; trials without it are left out."""
    found = {o.number: of(o.record.records) for o in trials if o.record.records}
    return {number: value for number, value in found.items() if value is not None and value > 0}


@dataclass(frozen=True)
class Comparison:
    """Processor time of a stored write ÷ that of sync under the same load. `p_holm` is None with one repetition."""

    ratio: Interval
    p_holm: float | None

    @property
    def is_shown(self) -> bool:
        """Whether the two differ beyond noise."""
        return self.p_holm is not None and self.p_holm < hypothesis_tests.ALPHA


def compare_to_sync(ways: Ways, compared: Iterable[Way]) -> dict[Way, Comparison]:
    """Without those that were not measured beside sync. p of a t test, after Holm's correction over all of them."""
    pairs = {way: ratios for way in compared if (ratios := _ratios_to_sync(ways, way))}
    corrected = hypothesis_tests.holm({way: hypothesis_tests.t_test(ratios) for way, ratios in pairs.items()})
    return {
        way: Comparison(intervals.geometric_mean(ratios), corrected[way] if len(ratios) > 1 else None)
        for way, ratios in pairs.items()
    }


def _ratios_to_sync(ways: Ways, way: Way) -> list[float]:
    """In each repetition that has both."""
    base = Way(way.framework, "sync", way.is_read, way.clients, None, None)
    first, own = (_costs(ways.get(base, [])), _costs(ways[way]))
    return [own[block] / first[block] for block in sorted(own.keys() & first.keys())]


def _costs(trials: Trials) -> dict[tuple[int, int], float]:
    found = figures(trials, lambda own: own.cpu_ms_per_record)
    return {o.block: found[o.number] for o in trials if o.number in found}
