"""Compares a run's result with the study's and lists possible reasons for a difference, from facts of the run only."""

import math
from typing import Any

from stevec_report import limits, wording
from stevec_report.analysis import Analysis
from stevec_report.experiments.beside_study import deviations
from stevec_report.json_fields import get_texts
from stevec_report.verdicts import Evidence, Verdict

NEAR = 1.2  # "within 20 %"
Words = dict[bool | None, str]


def compare(evidence: Evidence) -> tuple[bool | None, str]:
    """Return (whether our interval is on the study's side of 1, or within the margin; one sentence).

    None: the interval reaches to both sides, or there is none, or nothing to compare with.
    """
    ours, study = evidence.effect, evidence.study_effect
    if ours is None or ours.ratio is None or study is None:
        return None, "There is nothing to compare with the study's value."
    if evidence.margin:
        same = ours.ratio.is_within(1 / evidence.margin, evidence.margin)
        words: Words = {
            True: "within the margin around 1, as in the study",
            False: "outside the margin around 1",
            None: "open: the interval is not wholly within the margin around 1, nor outside",
        }
    else:
        same = ours.ratio.is_within(*((1, math.inf) if study > 1 else (0, 1)))
        words = {
            True: "in the same direction",
            False: "in the other direction",
            None: "open: there is no interval on one side of 1",
        }
    off = wording.signed_percent(ours.ratio.centre / study)
    return same, (
        f"{evidence.effect_name}: {wording.interval_text(ours.ratio)} here and {wording.three_digits(study)} in the "
        f"study. That is {words[same]}; the size differs by {off}."
    )


def agrees(evidence: Evidence, verdict: Verdict) -> bool:
    """Whether no explanation is needed: confirmed, not against the study, and within 20 % of its effect."""
    same, _ = compare(evidence)
    ours, study = evidence.effect, evidence.study_effect
    if verdict.result != "confirmed" or same is False or ours is None or ours.ratio is None or study is None:
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
        part = wording.part_of(invalid, len(analysis.outcomes), "trial")
        found.append(f"{part} {wording.is_or_are(invalid)} invalid and left out.")
    never_sent = sum(o.record.never_sent for o in analysis.valid)
    if never_sent:
        requests = wording.count_of(never_sent, "planned request")
        found.append(f"The load generator never sent {requests} of valid trials.")
    return found
