"""What could be wrong with the answer of an experiment, in a few short sentences for the first page.

The details are in `trust.py` (why each trial is limited or disturbed) and `threats.py` (what no trial can show).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stevec_report import limits, wording
from stevec_report.analysis import Analysis
from stevec_report.experiments import drift
from stevec_report.json_fields import get_object
from stevec_report.outcomes import MeasuredOutcome

THRESHOLDS_MAX = 20


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
        *_origin(analysis),
    ]


def thresholds(experiment: dict[str, Any]) -> dict[str, str]:
    """Return {name: value as text} of the thresholds of an experiment's verdict, {} where they are not recorded."""
    found = get_object(experiment, "thresholds")
    return {str(name): str(value) for name, value in list(found.items())[:THRESHOLDS_MAX]}


def _law(analysis: Analysis) -> Iterator[Concern]:
    law = analysis.law
    if law.failures:
        trials = wording.part_of(len(law.failures), law.trials, "trial")
        yield Concern(f"In {trials}, the number of requests at the wiki is wrong.", f"{len(law.failures)} miscounted")


def _valid(analysis: Analysis) -> Concern:
    trials = wording.count_of(len(analysis.outcomes), "trial")
    invalid = len(analysis.outcomes) - len(analysis.valid)
    if not invalid:
        return Concern(f"All {trials} are valid: every request is accounted for.")
    are = "is" if invalid == 1 else "are"
    return Concern(f"{invalid} of {trials} {are} invalid and enter no result.", f"{invalid} of {trials} invalid")


def _limited(valid: Sequence[MeasuredOutcome]) -> Iterator[Concern]:
    counted, number = limits.count_words(valid), len(limits.limited(valid))
    if counted:
        trials = wording.part_of(number, len(valid), "trial")
        yield Concern(f"{counted}: their times enter no verdict.", f"{trials} limited")
    elif valid and all(o.saturation for o in valid):
        yield Concern("The load generator, the links and the machine limited no valid trial.")
    elif valid:
        yield Concern(f"Whether the machine or the links limited a trial is {wording.NOT_RECORDED} for some trials.")


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
        yield Concern(f"Times change within trials, for {groups}.", "times drift within trials")
    trend = drift.run_drift(drift.relative_means(analysis))
    if trend is not None and not drift.includes_no_change(trend):
        yield Concern(
            f"Times changed by {drift.change(trend)} over the run. Ratios suffer less, as the order of trials is random.",
            "times drift over the run",
        )


def _origin(analysis: Analysis) -> Iterator[Concern]:
    if analysis.run.origin.emulated:
        yield Concern("The origin was emulated: counts are valid, times are not.", "emulated origin")
    elif analysis.run.profile.get("name", "none") == "none" and not analysis.run.target:
        yield Concern("No profile: origin, caches and client are close together, so a cache saves little time.")
