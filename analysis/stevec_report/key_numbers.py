"""The few numbers that carry the answer of an experiment, with their intervals and the study's values.

The effect that the verdict is about comes first. Where an experiment has no effect of its own, these are the extreme
cells: the shortest and the longest mean time, the highest hit ratio, the most stale reads.
"""

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from stevec_report import measures, outcomes, reference, staleness, wording
from stevec_report.analysis import Analysis
from stevec_report.dependence import run_dependence
from stevec_report.intervals import Interval, clipped, t_interval
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.verdicts import Evidence

NUMBERS_MAX = 4
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
        return list(_extremes(analysis))[:NUMBERS_MAX]
    effect = KeyNumber(
        evidence.effect_name, evidence.effect.ratio if evidence.effect else None, study=evidence.study_effect
    )
    return [effect, *own(analysis)][:NUMBERS_MAX]


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


def _extremes(analysis: Analysis) -> Iterator[KeyNumber]:
    cells = list(outcomes.cells(analysis.valid).items())
    depending = run_dependence(analysis)
    times = {cell: mean.centre for cell, trials in cells if (mean := depending.mean("mean_ms", trials))}
    if times:
        ordered = sorted(times, key=times.__getitem__)
        for word, cell in (("shortest", ordered[0]), ("longest", ordered[-1])):
            yield _mean_ms(analysis, f"{word} mean response time: {outcomes.cell_text(cell)}", dict(cells)[cell])
    hits = [(cell, own) for cell, trials in cells if (own := _known(o.stats.hit_ratio for o in trials))]
    if hits:
        cell, shares = max(hits, key=lambda entry: statistics.fmean(entry[1]))
        yield _share(f"highest hit ratio: {outcomes.cell_text(cell)}", shares, None)
    stale = [(cell, found.ratio) for cell, trials in cells if (found := staleness.of_trials(trials))]
    if stale:
        cell, ratio = max(stale, key=lambda entry: entry[1].centre)
        yield KeyNumber(f"most stale reads: {outcomes.cell_text(cell)}", ratio.in_percent(), "%")


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


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
