"""Compares a run's result with the study's and lists possible reasons for a difference, from facts of the run only."""

import math
from typing import Any

from stevec_report import limits, wording
from stevec_report.analysis import Analysis
from stevec_report.experiments.beside_study import deviations
from stevec_report.json_fields import get_texts
from stevec_report.verdicts import Evidence, Verdict

NEAR = 1.2  # "within 20 %"


def compare(evidence: Evidence) -> tuple[bool | None, str]:
    """Return (whether our result has the study's direction, one sentence); (None, sentence) without a comparison."""
    ours, study = evidence.effect, evidence.study_effect
    if ours is None or ours.ratio is None or study is None:
        return None, "There is nothing to compare with the study's value."
    centre = ours.ratio.centre
    if evidence.margin:
        bound = math.log(evidence.margin)
        same = abs(math.log(centre)) < bound
        pointing = "within the margin around 1, as in the study" if same else "outside the margin around 1"
    else:
        same = (centre > 1) == (study > 1)
        pointing = "in the same direction" if same else "in the other direction"
    off = wording.signed_percent(centre / study)
    return same, (
        f"{evidence.effect_name}: {wording.interval_text(ours.ratio)} here and {wording.three_digits(study)} in the "
        f"study. That is {pointing}; the size differs by {off}."
    )


def agrees(evidence: Evidence, verdict: Verdict) -> bool:
    """Whether no explanation is needed: confirmed, the study's direction, and within 20 % of its effect."""
    same, _ = compare(evidence)
    ours, study = evidence.effect, evidence.study_effect
    if verdict.result != "confirmed" or not same or ours is None or ours.ratio is None or study is None:
        return False
    return 1 / NEAR <= ours.ratio.centre / study <= NEAR


def reasons(analysis: Analysis, study_settings: dict[str, Any]) -> list[str]:
    """Return sentences on the differences between this run and the study, and on this run's limits."""
    run, found = analysis.run, []
    profile = run.profile
    name = str(profile.get("name", "none"))[:60]
    if name == "none":
        found.append(
            "Profile none: origin, caches and client share one fast machine, so a cache saves little work and no "
            "distance."
        )
    elif not profile.get("calibration"):
        found.append(f"Profile {name} was not calibrated against the study's E1.")
    for sentence in get_texts(profile, "missing"):
        found.append(f"Profile {name}: {sentence}")
    if left_out := limits.left_out(analysis.valid):
        found.append(left_out)
    differing = deviations(analysis, study_settings)
    if differing:
        found.append(f"Settings that differ from the study's: {'; '.join(differing)}.")
    invalid = sum(not o.valid for o in analysis.outcomes)
    if invalid:
        found.append(f"{wording.part_of(invalid, len(analysis.outcomes), 'trial')} are invalid and left out.")
    never_sent = sum(o.record.never_sent for o in analysis.valid)
    if never_sent:
        requests = wording.count_of(never_sent, "planned request")
        found.append(f"The load generator never sent {requests} of valid trials.")
    return found
