"""Whether the run confirms the hypothesis of E1, by a rule that was fixed before the data."""

from dataclasses import dataclass

from stevec_report import wording
from stevec_report.intervals import paired_ratio
from stevec_report.outcomes import mean_ms_by_repetition, valid_of_door

BASE_DOOR = "source"
MOST = 0.5  # "the cache answers most": the origin sees less than this share


@dataclass(frozen=True)
class Part:
    """One claim about one door: `result` is confirmed, refuted or undecided, `text` says it with numbers."""

    result: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """The whole hypothesis, the parts it follows from, and what was expected besides but decides nothing."""

    result: str
    parts: list[Part]
    asides: list[Part]


def decide(analysis):
    """Decide on "the cache answers most requests and unburdens the origin".

    The rule. For every door with a cache, over its valid trials:

    - *Offload*: confirmed if the origin saw less than half of the requests in every trial, refuted if half
      or more in every trial, else undecided. Counts are exact, so no interval is needed.
    - *Time*: the ratio of its mean response time to that of `source`, paired by repetition. Confirmed if
      the whole 95 % interval lies below 1, refuted if it lies above 1, undecided if it contains 1 or fewer
      than two pairs exist.

    The hypothesis is confirmed if all parts are, refuted if one is, else undecided. That all parts must
    hold makes a
    correction for several tests unnecessary: each keeps its own 5 % (R. L. Berger, "Multiparameter
    hypothesis testing and acceptance sampling", Technometrics 24(4), 1982, intersection-union tests).

    That `local` is faster than `cached` was expected too, but depends on the distances between client, edge
    and origin
    and not on caching: it is tested in the same way, and reported as an aside.
    """
    parts = []
    for door in analysis.run.doors.values():
        if door.caching:
            parts.append(_decide_offload(analysis, door.name))
            parts.append(_decide_time(analysis, door.name, BASE_DOOR))
    asides = []
    if {"local", "cached"} <= analysis.run.doors.keys():
        asides.append(_decide_time(analysis, "local", "cached"))
    results = {part.result for part in parts}
    if results == {"confirmed"}:
        return Verdict("confirmed", parts, asides)
    return Verdict("refuted" if "refuted" in results else "undecided", parts, asides)


def _decide_offload(analysis, door):
    trials = valid_of_door(analysis.outcomes, door)
    if not trials:
        return Part("undecided", f"Offload at {door}: no valid trial.")
    shares = [trial.record.counter_requests / trial.stats.requests for trial in trials]
    low, high = wording.percent(min(shares)), wording.percent(max(shares))
    saw = low if low == high else f"{low} to {high}"
    number = wording.count_of(len(trials), "valid trial")
    result = "confirmed" if max(shares) < MOST else "refuted" if min(shares) >= MOST else "undecided"
    return Part(result, f"Offload at {door}: the origin saw {saw} of the requests ({number}).")


def _decide_time(analysis, door, base):
    ratio = paired_ratio(
        mean_ms_by_repetition(analysis.outcomes, door), mean_ms_by_repetition(analysis.outcomes, base)
    )
    if ratio is None or ratio.low is None:
        return Part("undecided", f"Time at {door}: fewer than two valid pairs of trials with {base}.")
    result = "confirmed" if ratio.high < 1 else "refuted" if ratio.low > 1 else "undecided"
    return Part(
        result,
        f"Time at {door}: {wording.three_digits(ratio.centre)} × that of {base} "
        f"(95 % interval {wording.bounds_text(ratio)}, {ratio.n} pairs).",
    )
