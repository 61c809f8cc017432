"""Derives verdicts from claims, by rules that were fixed before the data existed.

A hypothesis is made of claims. A claim is a *count*, which is exact and needs no test, or a *test* with a p. All claims
must hold, so the hypothesis' p is the largest of its claims' (R. L. Berger, "Multiparameter hypothesis testing and
acceptance sampling", Technometrics 24(4), 1982, intersection-union tests), and the claims need no correction
among themselves. Over the six hypotheses of the study p is corrected by Holm's procedure.

- confirmed: every count holds, every test points the expected way, and p after Holm is below 0.05;
- refuted: a count fails, or a test points the other way with a p (corrected for six by Bonferroni) below 0.05;
- undecided: anything else, with the reason.

Limited trials are in no test of times (`measures.py`). Where too few others are left, the reason says so, and what to
do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from stevec_report import wording
from stevec_report.hypothesis_tests import ALPHA, PairedTest, holm
from stevec_report.measures import MEASURES

NO_PAIR = "no pair of trials that can be compared"
CANNOT = "it cannot be decided"
# Fixed: the study has six, even if some have no run.
STUDY_HYPOTHESES = 6
STUDY_EXPERIMENTS = {
    "read-hot": "E1",
    "read-sparse": "E2",
    "overload": "E3",
    "mixed-write": "E4",
    "write-vs-read-direct": "E5",
    "write-vs-read-cached": "E6",
}


@dataclass(frozen=True)
class Claim:
    """One part of a hypothesis.

    `holds` is true if the data point the expected way, false if they point the other way, None without data. `test` is
    None for a count. `opposite_p` is the p of "the other way" where it differs from the test's own p. `measure` is one
    of `measures.MEASURES` where the claim is about one.
    """

    name: str
    text: str
    holds: bool | None
    test: PairedTest | None = None
    opposite_p: float | None = None
    trials: tuple[int, ...] = ()
    measure: str | None = None

    @property
    def is_of_times(self) -> bool:
        """Whether limited trials are left out of it."""
        return self.measure is not None and MEASURES[self.measure].is_time

    @property
    def p(self) -> float | None:
        """The p of the test, 0 for a count that holds, None without data."""
        if self.holds is None:
            return None
        return self.test.p if self.test else 0.0


@dataclass(frozen=True)
class Evidence:
    """The evidence of one run on its hypothesis: the claims, and the headline numbers beside the study's.

    `effect` is the test whose ratio is shown, `study` and `ours` are texts; `margin` is set where the claim is that the
    effect lies within 1 ÷ margin to margin; `asides` are further expectations that do not affect the verdict.
    `left_out` are sentences on the limited trials of the run (`limits.left_out`), '' without any.
    """

    claims: list[Claim]
    rule: str
    study: str
    ours: str
    study_effect: float | None = None
    effect: PairedTest | None = None
    effect_name: str = ""
    margin: float | None = None
    asides: list[Claim] = field(default_factory=list)
    left_out: str = ""

    @property
    def p(self) -> float | None:
        """The largest p of the tests among the claims; None if one has no p."""
        values = [claim.p for claim in self.claims]
        known = [value for value in values if value is not None]
        return max(known) if known and len(known) == len(values) else None


@dataclass(frozen=True)
class Verdict:
    """`result` is confirmed, refuted or undecided, `why` one sentence. `p_holm` is None for a run outside a study."""

    result: str
    why: str
    evidence: Evidence
    p: float | None
    p_holm: float | None


def decide_one(evidence: Evidence) -> Verdict:
    """The `Verdict` on a hypothesis alone, without a correction."""
    return _decide(evidence, evidence.p, None)


def decide_study(by_experiment: dict[str, Evidence]) -> dict[str, Verdict]:
    """{experiment: Evidence} → {experiment: Verdict} with Holm's correction over the study's six hypotheses.

    A hypothesis that has no run takes part with p = 1, so leaving a run out never helps another.
    """
    p_values = dict.fromkeys(STUDY_EXPERIMENTS)
    p_values |= {name: evidence.p for name, evidence in by_experiment.items() if name in p_values}
    corrected = holm(p_values)
    return {name: _decide(evidence, evidence.p, corrected.get(name)) for name, evidence in by_experiment.items()}


def claim_status(claim: Claim) -> str:
    """The status of one claim alone: holds, fails, or open."""
    if claim.holds is None:
        return "undecided"
    if claim.test is None:
        return "confirmed" if claim.holds else "refuted"
    if claim.holds and claim.p is not None and claim.p < ALPHA:
        return "confirmed"
    return "refuted" if _is_opposite(claim, 1) else "undecided"


def _decide(evidence: Evidence, p: float | None, p_holm: float | None) -> Verdict:
    compared = p if p_holm is None else p_holm
    factor = 1 if p_holm is None else STUDY_HYPOTHESES
    for claim in evidence.claims:
        if _is_opposite(claim, factor):
            return Verdict("refuted", f"{claim.name}: the other way.", evidence, p, p_holm)
    if evidence.left_out:
        starved = [claim for claim in evidence.claims if claim.is_of_times and _has_too_few(claim, factor)]
        if starved:
            return Verdict("undecided", _say_starved(starved, evidence.left_out), evidence, p, p_holm)
    unseen = [claim.name for claim in evidence.claims if claim.holds is None]
    if not evidence.claims or unseen:
        named = wording.join_words(unseen) or "the claims"
        return Verdict("undecided", f"no valid trials for {named}.", evidence, p, p_holm)
    against = [claim.name for claim in evidence.claims if not claim.holds]
    if against:
        why = f"{wording.join_words(against)}: points the other way, but not clearly."
        return Verdict("undecided", why, evidence, p, p_holm)
    if compared is not None and compared < ALPHA:
        return Verdict("confirmed", "all of its claims hold.", evidence, p, p_holm)
    return Verdict("undecided", _say_why_open(evidence, factor), evidence, p, p_holm)


def _is_opposite(claim: Claim, factor: int) -> bool:
    if claim.test is None:
        return claim.holds is False
    if claim.opposite_p is not None:
        return claim.opposite_p * factor < ALPHA
    return claim.holds is False and claim.p is not None and claim.p * factor < ALPHA


def _has_too_few(claim: Claim, factor: int) -> bool:
    """Whether no data of so few pairs could confirm the claim."""
    return claim.test is None or claim.test.n < 2 or claim.test.least_p * factor >= ALPHA


def _say_starved(claims: Sequence[Claim], left_out: str) -> str:
    left = [f"{claim.name} ({wording.count_of(claim.test.n if claim.test else 0, 'pair')})" for claim in claims]
    return f"{CANNOT}: too few pairs of trials are left for {wording.join_words(left)}. {left_out}"


def _say_why_open(evidence: Evidence, factor: int) -> str:
    """Explain whether more pairs could have decided it, or whether the data themselves leave it open."""
    open_claims = [(c, c.test) for c in evidence.claims if c.test and (c.p is None or c.p * factor >= ALPHA)]
    if not open_claims:
        return "not below 0.05 after the correction for six hypotheses."
    worst, test = max(open_claims, key=lambda entry: 1.0 if entry[0].p is None else entry[0].p)
    pairs = wording.count_of(test.n, "pair")
    if _has_too_few(worst, factor):
        corrected = f", times {factor} for the study's hypotheses" if factor > 1 else ""
        return (
            f"{worst.name} points the expected way, but {pairs} of trials cannot decide: the smallest possible p is "
            f"{wording.p_text(test.least_p)}{corrected}. More repetitions can."
        )
    return f"{worst.name}: {pairs} of trials, p {wording.p_text(worst.p)}, is not clear enough."


def test_claim(name: str, measure: str, test: PairedTest, expected: str, what: str) -> Claim:
    """A `Claim` from a `PairedTest` of a measure; `expected` is "below" or "above" 1, `what` the ratio in words."""
    if test.ratio is None:
        return Claim(name, f"{what}: {NO_PAIR}.", None, test, measure=measure)
    centre = test.ratio.centre
    holds = centre < 1 if expected == "below" else centre > 1
    return Claim(name, f"{what}: {describe_test(test)}.", holds, test, measure=measure)


def describe_test(test: PairedTest) -> str:
    """`0.45 (0.42 to 0.48), p = 0.0078, 8 pairs`."""
    text = wording.interval_text(test.ratio)
    if test.p is not None:
        text += f", p {'=' if test.exact else '≤'} {wording.p_text(test.p)}"
    return f"{text}, {wording.count_of(test.n, 'pair')}"
