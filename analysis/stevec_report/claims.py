"""Claims, of which a hypothesis is made, and what the test of one could have found."""

from dataclasses import dataclass

from stevec_report import power, wording
from stevec_report.hypothesis_tests import PairedTest, equivalence_p
from stevec_report.measures import MEASURES
from stevec_report.thresholds import DEFAULT, Thresholds

NO_BLOCK = "no block has all the trials that it needs"


@dataclass(frozen=True)
class Claim:
    """One part of a hypothesis.

    `holds` is true if the data point the expected way, false if they point the other way, None without data. `test` is
    None for a count. `opposite_p` is the p of "the other way" where it differs from the test's own p. `no_effect_p` is
    the p of equivalence of a claim that there is a difference; a claim of equivalence has `is_equivalence` instead.
    `measure` is one of `measures.MEASURES` where the claim is about one.
    """

    name: str
    text: str
    holds: bool | None
    test: PairedTest | None = None
    opposite_p: float | None = None
    trials: tuple[int, ...] = ()
    measure: str | None = None
    no_effect_p: float | None = None
    is_equivalence: bool = False

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


def test_claim(
    name: str,
    measure: str,
    test: PairedTest,
    expected: str,
    what: str,
    thresholds: Thresholds = DEFAULT,
    is_difference: bool = True,
) -> Claim:
    """A `Claim` from a `PairedTest` of a measure; `expected` is "below" or "above" the ratio that the test is against.

    A claim of a difference, which is one against 1, is refuted by equivalence, too. A claim against another ratio, such
    as "more than twice", needs no margin: where there is no effect, the ratio is clearly on the other side. Nor does
    one about a limit (`is_difference` false): near a limit is beyond it or not. `what` is the ratio in words.
    """
    if test.ratio is None:
        return Claim(name, f"{what}: {NO_BLOCK}.", None, test, measure=measure)
    centre = test.ratio.centre
    holds = centre < test.against if expected == "below" else centre > test.against
    is_margin_needed = is_difference and test.against == 1
    no_effect = equivalence_p(test.logs, thresholds.equivalence_ratio) if is_margin_needed else None
    return Claim(name, f"{what}: {describe_test(test)}.", holds, test, measure=measure, no_effect_p=no_effect)


def describe_test(test: PairedTest) -> str:
    """`0.45 (0.42 to 0.48), p = 0.0078, 8 blocks`."""
    text = wording.interval_text(test.ratio)
    if test.p is not None:
        text += f", p {'=' if test.exact else '≈'} {wording.p_text(test.p)}"
    return f"{text}, {wording.count_of(test.n, 'block')}{_left_out(test)}"


def _left_out(test: PairedTest) -> str:
    return f" ({test.left_out} left out: a trial that it needs is missing, invalid or limited)" if test.left_out else ""


def detectable_ratio(claim: Claim, alpha: float) -> float | None:
    """The ratio that the claim's test finds with 80 % power at `alpha` (corrected) and the spread seen.

    Of a claim of equivalence it is the narrowest margin that the test could have shown. None where no p can be below
    alpha, or the spread is not known.
    """
    test = claim.test
    if test is None or test.spread is None:
        return None
    if claim.is_equivalence:
        return power.ratio_of(power.detectable_by_equivalence(test.n, alpha), test.spread)
    return power.ratio_of(power.detectable_by_sign_flips(test.n, alpha), test.spread, test.against)


def needed(claim: Claim, thresholds: Thresholds, factor: int) -> int | None:
    """Repetitions of a new run that has 80 % power to decide the claim; None for too many, or if it is not known.

    The effect to find is the one that was seen, or the margin of equivalence if that is larger. Without a spread it is
    the least number whose p can be small enough.
    """
    alpha, test = thresholds.alpha / factor, claim.test
    if test is None:
        return None
    if test.spread is None or test.ratio is None:
        return power.least_repetitions(alpha)
    if claim.is_equivalence:
        return power.repetitions_needed(test.against, test.spread, alpha, power.detectable_by_equivalence)
    seen = test.ratio.centre / test.against
    effect = max(seen, 1 / seen, thresholds.equivalence_ratio)
    return power.repetitions_needed(effect, test.spread, alpha, power.detectable_by_sign_flips)


def say_needed(claim: Claim, thresholds: Thresholds, factor: int) -> str:
    """A sentence on the repetitions of a new run. Adding some to this one would make wrong verdicts more frequent."""
    number = needed(claim, thresholds, factor)
    many = f"about {number}" if number else f"more than {power.BLOCKS_MAX}"
    return f"The number of repetitions is fixed before a run; a new run needs {many}."
