"""Derives verdicts from claims, by rules that were fixed before the data existed.

A hypothesis is made of claims. A claim is a *count*, which is exact and needs no test, or a *test* with a p. All claims
must hold, so the hypothesis' p is the largest of its claims' (R. L. Berger, "Multiparameter hypothesis testing and
acceptance sampling", Technometrics 24(4), 1982, intersection-union tests), and the claims need no correction
among themselves. Over the six hypotheses of the study p is corrected by Holm's procedure.

- confirmed: every count holds, every test points the expected way, and p after Holm is below alpha;
- refuted: a count fails; or a test points the other way with a p, times six (Bonferroni) and times half the number of
  the hypothesis' tests, below alpha; or a claimed difference is shown to be none: the ratio is within the margin of
  equivalence (TOST), with a p, times six and times the number of those tests, below alpha, while it is not
  significantly beyond 1;
- undecided: anything else, with the reason.

One claim is enough to refute, so both p are corrected for the number of claims; that of the other way is two-sided,
which covers two of them. No claim is decided by fewer blocks than could confirm it. Limited trials are in no test of
times (`measures.py`). Where too few others are left, the reason says so, and what to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from stevec_report import wording
from stevec_report.claims import Claim, say_needed
from stevec_report.hypothesis_tests import PairedTest, holm
from stevec_report.thresholds import DEFAULT, Thresholds

CANNOT = "it cannot be decided"
STUDY_EXPERIMENTS = {
    "read-hot": "E1",
    "read-sparse": "E2",
    "overload": "E3",
    "mixed-write": "E4",
    "write-vs-read-direct": "E5",
    "write-vs-read-cached": "E6",
}


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
    thresholds: Thresholds = DEFAULT

    @property
    def p(self) -> float | None:
        """The largest p of the tests among the claims; None if one has no p."""
        values = [claim.p for claim in self.claims]
        known = [value for value in values if value is not None]
        return max(known) if known and len(known) == len(values) else None

    @property
    def tests(self) -> int:
        """The number of claims that are tests."""
        return sum(claim.test is not None for claim in self.claims)


@dataclass(frozen=True)
class Verdict:
    """`result` is confirmed, refuted or undecided, `why` one sentence. `p_holm` is None for a run outside a study.

    `factor` is the number of hypotheses that p is corrected for, 1 for a run outside a study.
    """

    result: str
    why: str
    evidence: Evidence
    p: float | None
    p_holm: float | None
    factor: int = 1


def decide_one(evidence: Evidence) -> Verdict:
    """The `Verdict` on a hypothesis alone, without a correction."""
    return _decide(evidence, None)


def decide_study(by_experiment: dict[str, Evidence]) -> dict[str, Verdict]:
    """{experiment: Evidence} → {experiment: Verdict} with Holm's correction over the study's hypotheses.

    A hypothesis that has no run takes part with p = 1, so leaving a run out never helps another.
    """
    p_values: dict[str, float | None] = dict.fromkeys(STUDY_EXPERIMENTS)
    p_values |= {name: evidence.p for name, evidence in by_experiment.items() if name in p_values}
    most = max((evidence.thresholds.hypotheses for evidence in by_experiment.values()), default=0)
    p_values |= dict.fromkeys(f"hypothesis {number}" for number in range(len(p_values) + 1, most + 1))
    corrected = holm(p_values)
    return {name: _decide(evidence, corrected.get(name)) for name, evidence in by_experiment.items()}


def claim_status(claim: Claim, alpha: float = DEFAULT.alpha, factor: int = 1, tests: int = 1) -> str:
    """The status of one claim alone: confirmed, refuted or undecided.

    Args:
        alpha: level; factor: number of hypotheses that p is corrected for; tests: number of tests of the hypothesis.
    """
    if claim.holds is None:
        return "undecided"
    if claim.test is None:
        return "confirmed" if claim.holds else "refuted"
    if _is_opposite(claim, _opposite_alpha(alpha / factor, tests)) or _is_none(claim, alpha, alpha / (factor * tests)):
        return "refuted"
    significant = claim.p is not None and claim.p * factor < alpha and not _has_too_few(claim, alpha)
    return "confirmed" if claim.holds and significant else "undecided"


def _decide(evidence: Evidence, p_holm: float | None) -> Verdict:
    factor = 1 if p_holm is None else evidence.thresholds.hypotheses
    result, why = _result(evidence, evidence.p if p_holm is None else p_holm, factor)
    return Verdict(result, why, evidence, evidence.p, p_holm, factor)


def _result(evidence: Evidence, compared: float | None, factor: int) -> tuple[str, str]:
    alpha = evidence.thresholds.alpha
    for claim in evidence.claims:
        if _is_opposite(claim, _opposite_alpha(alpha / factor, evidence.tests)):
            return "refuted", f"{claim.name}: the other way."
        if _is_none(claim, alpha, alpha / (factor * evidence.tests)):
            margin = wording.three_digits(evidence.thresholds.equivalence_ratio)
            return "refuted", f"{claim.name}: no difference, as the ratio is within 1/{margin} to {margin}."
    if evidence.left_out:
        starved = [claim for claim in evidence.claims if claim.is_of_times and _has_too_few(claim, alpha / factor)]
        if starved:
            return "undecided", _say_starved(starved, evidence.left_out)
    unseen = [claim.name for claim in evidence.claims if claim.holds is None]
    if not evidence.claims or unseen:
        return "undecided", f"no valid trials for {wording.join_words(unseen) or 'the claims'}."
    against = [claim for claim in evidence.claims if not claim.holds]
    if against:
        names = wording.join_words(claim.name for claim in against)
        advice = say_needed(against[0], evidence.thresholds, factor)
        return "undecided", f"{names}: points the other way, but not clearly. {advice}"
    enough = not any(claim.test and _has_too_few(claim, alpha) for claim in evidence.claims)
    if enough and compared is not None and compared < alpha:
        return "confirmed", "all of its claims hold."
    return "undecided", _say_why_open(evidence, factor)


def _opposite_alpha(alpha: float, tests: int) -> float:
    """The level of the other way of one of so many tests: two-sided, so that two tests err as often as one."""
    return alpha / max(1.0, tests / 2)


def _is_opposite(claim: Claim, alpha: float) -> bool:
    if claim.test is None:
        return claim.holds is False
    if claim.opposite_p is not None:
        return claim.opposite_p < alpha
    return claim.holds is False and claim.p is not None and claim.p < alpha


def _is_none(claim: Claim, alpha: float, alpha_corrected: float) -> bool:
    """Whether the claimed difference is shown to be none, while it is not significantly there."""
    if claim.no_effect_p is None or claim.no_effect_p >= alpha_corrected or _has_too_few(claim, alpha):
        return False
    return not (claim.holds and claim.p is not None and claim.p < alpha)


def _has_too_few(claim: Claim, alpha: float) -> bool:
    """Whether no data of so few blocks could confirm the claim."""
    return claim.test is None or claim.test.n < 2 or claim.test.least_p >= alpha


def _say_starved(claims: Sequence[Claim], left_out: str) -> str:
    left = [f"{claim.name} ({wording.count_of(claim.test.n if claim.test else 0, 'block')})" for claim in claims]
    return f"{CANNOT}: too few blocks are left for {wording.join_words(left)}. {left_out}"


def _say_why_open(evidence: Evidence, factor: int) -> str:
    """Explain whether so many blocks could have decided it, and how many a new run needs."""
    alpha = evidence.thresholds.alpha / factor
    open_claims = [
        (c, c.test)
        for c in evidence.claims
        if c.test and (c.p is None or c.p >= alpha or _has_too_few(c, evidence.thresholds.alpha))
    ]
    if not open_claims:
        return f"not below {evidence.thresholds.alpha:g} after the correction for {factor} hypotheses."
    worst, test = max(open_claims, key=lambda entry: 1.0 if entry[0].p is None else entry[0].p)
    blocks = wording.count_of(test.n, "block")
    advice = say_needed(worst, evidence.thresholds, factor)
    if _has_too_few(worst, alpha):
        corrected = f", times {factor} for the study's hypotheses" if factor > 1 else ""
        return (
            f"{worst.name} points the expected way, but {blocks} cannot decide: the smallest possible p is "
            f"{wording.p_text(test.least_p)}{corrected}. {advice}"
        )
    return f"{worst.name}: {blocks}, p {wording.p_text(worst.p)}, is not clear enough. {advice}"
