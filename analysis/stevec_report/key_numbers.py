"""The few numbers that carry the answer of an experiment, with their intervals and the study's values.

The effect that the verdict is about comes first. An experiment outside the study shows the measures of which it states
expectations, in the cells that they name; one without expectations shows its extreme cells.
"""

import itertools
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stevec_report import measures, outcomes, reference, staleness, wording
from stevec_report.analysis import Analysis
from stevec_report.dependence import run_dependence
from stevec_report.intervals import Interval, clipped, t_interval
from stevec_report.measure_intervals import interval_of
from stevec_report.measures import MEASURES
from stevec_report.outcomes import CellKey, MeasuredOutcome
from stevec_report.stated_expectations import Expectation, Levels, read
from stevec_report.verdicts import Evidence

NUMBERS_MAX = 4
NAMES = {  # of measures: label and unit; shares are shown in per cent
    "hit_ratio": ("hit ratio", "%"),
    "cache_hits": ("requests that the cache served", ""),
    "origin_offload": ("reads kept from the origin", "%"),
    "origin_requests": ("requests at the origin", ""),
    "origin_reads": ("reads at the origin", ""),
    "stale_ratio": ("stale reads", "%"),
    "mean_ms": ("mean response time", "ms"),
    "wait_ms": ("mean wait", "ms"),
    "p50_ms": ("median response time", "ms"),
    "p95_ms": ("p95 of response times", "ms"),
    "p99_ms": ("p99 of response times", "ms"),
    "read_p99_ms": ("p99 of response times of reads", "ms"),
    "write_p95_ms": ("p95 of response times of writes", "ms"),
    "answered_per_s": ("requests answered", "1/s"),
    "requests_per_cpu_s": ("requests answered in a CPU second", ""),
    "requests_per_wiki_cpu_s": ("requests answered in a CPU second of the wiki", ""),
    "edit_cpu_ms": ("processor time of an edit", "ms"),
    "feed_delay_max_ms": ("longest until a list shows a change", "ms"),
    "staleness_max_s": ("most outdated read", "s"),
    "failures": ("failed requests", ""),
    "failed_ratio": ("failed requests", "%"),
}
STUDY_REQUESTS = {"read-hot": 1000, "read-sparse": 100}  # of a repetition
Trials = Sequence[MeasuredOutcome]


@dataclass(frozen=True)
class KeyNumber:
    """`ours` and `study` are in `unit`, which is '' for a ratio; None: unknown, or not in the study.

    `limited` is whether all trials of `ours` were limited, so that it says nothing of the system under test.
    """

    label: str
    ours: Interval | None
    unit: str = ""
    study: float | None = None
    limited: bool = False

    @property
    def text(self) -> tuple[str, str]:
        """(value with its unit, bounds): `12.3 ms`, `11.9 … 12.7`; bounds are '' where there are none."""
        if self.ours is None:
            return "–", ""
        value, _, rest = wording.interval_text(self.ours).partition(" (")
        if not rest:
            return self._plain(self.ours.centre), ""
        return f"{value} {self.unit}".rstrip(), rest.removesuffix(")")

    @property
    def study_text(self) -> str:
        """The study's value with its unit, '' if it has none."""
        return "" if self.study is None else self._plain(self.study)

    def _plain(self, value: float) -> str:
        """A value without an interval; a share has no zeros at its end."""
        text = f"{value:.3g}" if self.unit == "%" else wording.three_digits(value)
        return f"{text} {self.unit}".rstrip()


def of(analysis: Analysis, evidence: Evidence | None) -> list[KeyNumber]:
    """Return at most NUMBERS_MAX numbers."""
    own = _OF_EXPERIMENT.get(analysis.name)
    if evidence is None or own is None:
        expected = list(itertools.islice(_of_expectations(analysis, _expected(analysis)), NUMBERS_MAX))
        return expected or list(itertools.islice(_extremes(analysis), NUMBERS_MAX))
    effect = KeyNumber(
        evidence.effect_name, evidence.effect.ratio if evidence.effect else None, study=evidence.study_effect
    )
    return [effect, *own(analysis)][:NUMBERS_MAX]


def _expected(analysis: Analysis) -> list[Expectation]:
    try:
        return read(analysis.run.experiment)
    except ValueError:  # its table says so
        return []


def _read_hot(analysis: Analysis) -> Iterator[KeyNumber]:
    study = _study_means("1.2")
    base = next((door for door in ("source", "nocache") if door in analysis.run.doors), None)
    for door, path in ((base, "without"), ("cached", "cdn")):
        if door:
            yield _mean_ms(analysis, f"mean response time, {door}", analysis.select(door=door), study[path])
    study_requests = statistics.fmean(reference.read_series("1.1", "origin_requests")["with"].values())
    yield _share(
        "requests that reach the origin, cached",
        [o.record.counter_requests / o.stats.requests for o in analysis.select(door="cached")],
        study_requests / STUDY_REQUESTS[analysis.name],
    )


def _read_sparse(analysis: Analysis) -> Iterator[KeyNumber]:
    study = _study_means("1.3")
    for door, path in (("nocache", "without"), ("cached", "with")):
        yield _mean_ms(analysis, f"mean response time, {door}", analysis.select(door=door), study[path])
    hits = statistics.fmean(reference.read_series("1.3", "cached_requests")["with"].values())
    yield _share(
        "requests that the cache serves, cached",
        [o.stats.served_by_cache / o.stats.requests for o in analysis.select(door="cached")],
        hits / STUDY_REQUESTS[analysis.name],
    )


def _overload(analysis: Analysis) -> Iterator[KeyNumber]:
    levels = [level for level in analysis.levels("background_vus") if isinstance(level, int)]
    if not levels:
        return
    idle, top = min(levels), max(levels)
    for door, table, path, level in (
        ("source", "1.4", "without", idle),
        ("source", "1.4", "without", top),
        ("cached", "1.5", "with", top),
    ):
        study = reference.read_series(table, "mean_ms", index="parallel")[path].get(level)
        trials = analysis.select(door=door, background_vus=level)
        yield _mean_ms(analysis, f"mean response time, {door}, beside {level} readers", trials, study, "wait_ms")


def _mixed_write(analysis: Analysis) -> Iterator[KeyNumber]:
    ratios: dict[tuple[str, float], list[float]] = {}
    for o in analysis.valid:
        workload = "mixed" if o.record.number("edit_ratio") > 0 else "get-only"
        ratio = 1 - o.record.counter_requests / o.stats.iterations
        ratios.setdefault((workload, o.record.number("page_size_chars") / 1000), []).append(ratio)
    sizes = sorted({size for _, size in ratios})
    study = {
        (row["workload"], float(row["page_kb"])): float(row["cached_percent"]) / 100
        for row in reference.read_rows("1.6")
    }
    wanted = [("mixed", sizes[0]), ("mixed", sizes[-1]), ("get-only", sizes[-1])] if sizes else []
    for key in dict.fromkeys(wanted):
        edits = "with edits" if key[0] == "mixed" else "without edits"
        yield _share(f"hit ratio, {edits}, pages of {key[1]:g} kB", ratios.get(key, []), study.get(key))


def _write_vs_read(analysis: Analysis) -> Iterator[KeyNumber]:
    table = "1.7" if analysis.name == "write-vs-read-direct" else "1.8"
    series = reference.read_series(table, "mean_ms", series="method")
    study = {name: statistics.fmean(series[method].values()) for name, method in (("write", "POST"), ("read", "GET"))}
    trials = {
        "write": [o for o in analysis.valid if o.record.number("edit_ratio") > 0],
        "read": [o for o in analysis.valid if not o.record.number("edit_ratio") > 0],
    }
    for name, own in trials.items():
        yield _mean_ms(analysis, f"mean response time of a {name}", own, study[name])
    writes, reads = (measures.by_block("mean_ms", own) for own in trials.values())
    gaps = [writes[block] - reads[block] for block in sorted(writes.keys() & reads.keys())]
    yield KeyNumber("write − read", t_interval(gaps) if gaps else None, "ms", study["write"] - study["read"])


def _of_expectations(analysis: Analysis, expected: Sequence[Expectation]) -> Iterator[KeyNumber]:
    """The measures of what the experiment expects, in the cells that it names: of each measure a comparison first."""
    ranks: Counter[tuple[str, bool]] = Counter()
    order: list[tuple[bool, int, int]] = []  # counts last, then by rank within the measure
    for one in expected:
        is_count = one.than is None
        order.append((is_count, ranks[one.measure, is_count], len(order)))
        ranks[one.measure, is_count] += 1
    cells = outcomes.cells(analysis.valid)
    wanted = [(expected[at].measure, cell) for *_, at in sorted(order) for cell in _cells_of(expected[at], list(cells))]
    for measure, cell in dict.fromkeys(wanted):
        yield _of_measure(analysis, measure, cell, cells[cell])


def _cells_of(one: Expectation, cells: Sequence[CellKey]) -> list[CellKey]:
    """The cells of a count; of a comparison two that differ in what it names only, at the last levels of the rest."""
    named = [cell for cell in cells if _is_in(cell, one.levels)]
    if one.than is None:
        return named
    for cell in reversed(named):
        for other in cells:
            if _is_in(other, one.than) and _rest(other, one.than) == _rest(cell, one.levels):
                return [cell, other]
    return []


def _is_in(cell: CellKey, levels: Levels) -> bool:
    return all(dict(cell).get(factor) in wanted for factor, wanted in levels.items())


def _rest(cell: CellKey, levels: Levels) -> CellKey:
    return tuple(item for item in cell if item[0] not in levels)


def _extremes(analysis: Analysis) -> Iterator[KeyNumber]:
    """Where pages are edited, what was kept from the origin and what was stale; else times and hit ratios."""
    cells = outcomes.cells(analysis.valid)
    with_edits = {cell: own for cell, own in cells.items() if staleness.of_trials(own)}
    if with_edits:
        for measure in ("origin_offload", "stale_ratio"):
            yield from _ends(analysis, measure, with_edits, ("most", "fewest"))
        return
    yield from _ends(analysis, "mean_ms", cells, ("longest", "shortest"))
    yield from _ends(analysis, "hit_ratio", cells, ("highest",))


def _ends(
    analysis: Analysis, measure: str, cells: Mapping[CellKey, Trials], words: Sequence[str]
) -> Iterator[KeyNumber]:
    """The cells in which the measure is largest and, with two `words`, smallest."""
    found = {cell: one.centre for cell, own in cells.items() if (one := interval_of(analysis, measure, own))}
    ordered = sorted(found, key=found.__getitem__, reverse=True)
    if ordered:
        for word, cell in zip(words, (ordered[0], ordered[-1]), strict=False):
            number = _of_measure(analysis, measure, cell, cells[cell])
            yield replace(number, label=f"{word} {number.label}")


def _of_measure(analysis: Analysis, measure: str, cell: CellKey, trials: Trials) -> KeyNumber:
    name, unit = NAMES[measure]
    ours = interval_of(analysis, measure, trials)
    limited = MEASURES[measure].is_time and all(o.limited for o in trials)
    ours = ours.in_percent() if ours and unit == "%" else ours
    return KeyNumber(f"{name}: {outcomes.cell_text(cell)}", ours, unit, limited=limited)


def _mean_ms(
    analysis: Analysis, label: str, trials: Trials, study: float | None = None, measure: str = "mean_ms"
) -> KeyNumber:
    points, mean = run_dependence(analysis).shown(measure, trials)
    return KeyNumber(label, mean, "ms", study, limited=bool(points) and all(limit for _, limit in points))


def _share(label: str, shares: Sequence[float], study: float | None) -> KeyNumber:
    ours = clipped(t_interval(shares)).in_percent() if shares else None
    return KeyNumber(label, ours, "%", None if study is None else 100 * study)


def _study_means(table: str) -> dict[str, float]:
    return {path: statistics.fmean(own.values()) for path, own in reference.read_series(table, "mean_ms").items()}


_OF_EXPERIMENT: dict[str, Callable[[Analysis], Iterator[KeyNumber]]] = {
    "read-hot": _read_hot,
    "read-sparse": _read_sparse,
    "overload": _overload,
    "mixed-write": _mixed_write,
    "write-vs-read-direct": _write_vs_read,
    "write-vs-read-cached": _write_vs_read,
}
