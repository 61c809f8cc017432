"""What could be wrong with the answer of an experiment, in a few short sentences for the first page.

The details are in `trust.py` (why each trial is limited or disturbed) and `threats.py` (what no trial can show).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stevec_report import limits, wording
from stevec_report.analysis import Analysis
from stevec_report.claims import Claim, detectable_ratio
from stevec_report.experiments import drift
from stevec_report.experiments.edit_costs import size_of
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.verdicts import Evidence

TESTS_MAX = 4  # named on the first page


@dataclass(frozen=True)
class Concern:
    """`text` is a sentence. `short` is for the table of a study; '' if it is no reason for doubt."""

    text: str
    short: str = ""


def of(analysis: Analysis) -> list[Concern]:
    """Return the concerns about a run; what is in order is said, too."""
    return [
        *_law(analysis),
        _valid(analysis),
        *_limited(analysis.valid),
        *_disturbed(analysis.valid),
        *_drift(analysis),
        *_pace(analysis),
        *_origin(analysis),
    ]


def of_tests(evidence: Evidence, hypotheses: int) -> list[Concern]:
    """Return what the tests of a hypothesis could have found, where p is corrected for so many `hypotheses`."""
    tested = [claim for claim in evidence.claims if claim.test]
    found = {claim.name: detectable_ratio(claim, evidence.thresholds.alpha / hypotheses) for claim in tested}
    blind = [name for name, ratio in found.items() if ratio is None]
    if blind:
        return [Concern(f"Too few valid repetitions for a test: {wording.join_words(blind)}.", "too few repetitions")]
    if not tested:
        return []
    texts = "; ".join(_finds(claim, found[claim.name]) for claim in tested[:TESTS_MAX])
    return [Concern(f"With 80 % power, the tests detect these ratios or their inverses: {texts}.")]


def _finds(claim: Claim, ratio: float | None) -> str:
    shown = wording.three_digits(ratio)
    return f"{claim.name}, equivalence within {shown}" if claim.is_equivalence else f"{claim.name}, {shown}"


def _law(analysis: Analysis) -> Iterator[Concern]:
    law = analysis.law
    if law.failures:
        trials = wording.part_of(len(law.failures), law.trials, "trial")
        yield Concern(f"In {trials}, the number of requests at the wiki is wrong.", f"{len(law.failures)} miscounted")


def _valid(analysis: Analysis) -> Concern:
    trials = wording.count_of(len(analysis.outcomes), "trial")
    invalid = len(analysis.outcomes) - len(analysis.valid)
    if not invalid:
        all_are = "The only trial is" if len(analysis.outcomes) == 1 else f"All {trials} are"
        return Concern(f"{all_are} valid: every request is accounted for.")
    are = "is" if invalid == 1 else "are"
    return Concern(f"{invalid} of {trials} {are} invalid and enter no result.", f"{invalid} of {trials} invalid")


def _limited(valid: Sequence[MeasuredOutcome]) -> Iterator[Concern]:
    counted, number = limits.count_words(valid), len(limits.limited(valid))
    if counted:
        yield Concern(f"{counted}: their times enter no verdict.", f"{number} of {len(valid)} limited")
    elif valid and all(o.saturation for o in valid):
        yield Concern("The load generator, the links and the machine limited no valid trial.")
    elif valid:
        some = " for some trials" if any(o.saturation for o in valid) else ""
        yield Concern(f"Whether the machine or the links limited a trial is {wording.NOT_RECORDED}{some}.")


def _disturbed(valid: Sequence[MeasuredOutcome]) -> Iterator[Concern]:
    number = sum(bool(o.disturbed) for o in valid)
    if number:
        trials = wording.part_of(number, len(valid), "valid trial")
        yield Concern(f"Other programs used the machine in {trials}.", f"{number} disturbed")


def _drift(analysis: Analysis) -> Iterator[Concern]:
    found = drift.within_trials(analysis)
    drifting = sum(one.is_drift for one in found)
    if drifting:
        groups = f"{drifting} of {wording.count_of(len(found), 'kind')} of request"
        yield Concern(f"Times change within trials, for {groups}.", "drift within trials")
    trend = drift.run_drift(drift.relative_means(analysis))
    if trend is not None and not drift.includes_no_change(trend):
        yield Concern(
            f"Times changed by {drift.change(trend)} over the run; ratios suffer less, as the order is random.",
            "drift over the run",
        )


def _pace(analysis: Analysis) -> Iterator[Concern]:
    """Of E4: whether the definition sets the pauses by page size."""
    paces = {(size_of(o), o.record.number("pause_s")) for o in analysis.valid}
    if analysis.name == "mixed-write" and len({pause_s for _, pause_s in paces}) > 1:
        yield Concern(
            "The page size sets the pace between requests, as the study's runs imply: “larger pages cost more” is "
            "about longer runs, in which more copies expire.",
            "pace set by page size",
        )


def _origin(analysis: Analysis) -> Iterator[Concern]:
    if analysis.run.origin.emulated:
        yield Concern("The origin was emulated: counts are valid, times are not.", "emulated origin")
    elif analysis.run.profile.get("name", "none") == "none" and not analysis.run.target:
        yield Concern("No profile: origin, caches and client are close together, so a cache saves little time.")
