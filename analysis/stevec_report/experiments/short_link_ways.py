"""Ways to find a short link, under each load: their trials, and what a request costs each process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stevec_report import hypothesis_tests, intervals, processor_time
from stevec_report.analysis import Analysis
from stevec_report.intervals import Interval
from stevec_report.measures import MEASURES, judged
from stevec_report.outcomes import BlockKey, MeasuredOutcome

SERVERS = ("wiki", "mongod", "redis")  # what differs between two ways to find a link
COMPARED = {"server_ms": "processor time", "mongod_ms": "processor time of mongod", "mean_ms": "response time"}
Load = tuple[str, int]  # read, write or both; clients at once


@dataclass(frozen=True)
class Way:
    """One way to find a link under one load: its label, the valid trials, and {number of a trial: {kind of process:
    ms of processor time per request}}."""

    label: str
    trials: list[MeasuredOutcome]
    costs: dict[int, dict[str, float]]

    def values(self, name: str) -> dict[BlockKey, float]:
        """{block: value} of one of COMPARED, of the trials that may be judged by it."""
        if name in MEASURES:
            found = {o.block: MEASURES[name].of(o) for o in judged(name, self.trials)}
        else:
            found = {o.block: self.cost(o.number, name) for o in self.trials}
        return {block: value for block, value in found.items() if value}

    def cost(self, number: int, name: str) -> float | None:
        """Processor time of a trial, ms per request: `server_ms`, or of one kind, such as `mongod_ms`."""
        own = self.costs.get(number)
        if not own:
            return None
        return sum(own[kind] for kind in SERVERS) if name == "server_ms" else own[name.removesuffix("_ms")]


def loads_of(analysis: Analysis) -> dict[Load, list[Way]]:
    """The ways of each load, of valid trials, in the order of the experiment."""
    found: dict[Load, dict[str, list[MeasuredOutcome]]] = {}
    for o in analysis.valid:
        ratio = o.record.number("edit_ratio")
        operation = "read" if ratio == 0 else "write" if ratio == 1 else "both"
        load = (operation, int(o.record.number("vus", 1)))
        found.setdefault(load, {}).setdefault(_label(o), []).append(o)
    return {
        load: [_way(analysis, label, ways[label]) for label in sorted(ways, key=_place)]
        for load, ways in sorted(found.items())
    }


def _label(o: MeasuredOutcome) -> str:
    if o.record.setting("short_link_reads") == "redis":
        return str(o.record.setting("shared"))
    return str(o.record.setting("short_link_index", "id"))


def _place(label: str) -> tuple[int, str]:
    order = ("id", "btree", "hashed", "redis", "redis-replicated")
    return (order.index(label) if label in order else len(order), label)


def _way(analysis: Analysis, label: str, trials: list[MeasuredOutcome]) -> Way:
    costs = {}
    for o in trials:

        def count_done(begin_us: int, end_us: int, number: int = o.number) -> int:
            sql = "SELECT count(*) FROM {samples} WHERE sent_at_us + 1000 * duration_ms BETWEEN $begin AND $end"
            return int(analysis.samples.query(sql, [number], begin=begin_us, end=end_us)[0][0])

        folder = analysis.run.path / o.folder
        costs[o.number] = processor_time.per_request_ms(folder, o.stats.first_sent_us, o.stats.last_done_us, count_done)
    return Way(label, sorted(trials, key=lambda o: o.block), costs)


def title_of(load: Load) -> str:
    """The load in words."""
    operation, clients = load
    what = {"read": "Reads", "write": "Writes"}.get(operation, "Reads and writes")
    return f"{what}, {clients} at once"


@dataclass(frozen=True)
class Difference:
    """A way against the first one of its load: the ratio of a measure, and p after Holm's correction over the run."""

    load: Load
    way: str
    base: str
    measure: str
    ratio: Interval
    p: float | None

    @property
    def verdict(self) -> str:
        """`less`, `more`, or `within noise`."""
        if self.p is None or self.p >= hypothesis_tests.ALPHA:
            return "within noise"
        return "less" if self.ratio.centre < 1 else "more"


def differences_of(loads: Mapping[Load, Sequence[Way]]) -> list[Difference]:
    """Each way against the first one of its load, by each measure of COMPARED that both have."""
    found: dict[tuple[Load, str, str, str], list[float]] = {}
    for load, (base, *others) in loads.items():
        for way in others:
            for name in COMPARED:
                first, own = base.values(name), way.values(name)
                ratios = [own[block] / first[block] for block in sorted(own.keys() & first.keys())]
                if ratios:
                    found[load, way.label, base.label, name] = ratios
    corrected = hypothesis_tests.holm({key: hypothesis_tests.t_test(ratios) for key, ratios in found.items()})
    return [
        Difference(*key, intervals.geometric_mean(ratios), corrected[key] if len(ratios) > 1 else None)
        for key, ratios in found.items()
    ]
