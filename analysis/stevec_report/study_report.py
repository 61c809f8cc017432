"""The content of a study's report above its parts: verdicts, calibration and prediction, and what joins two runs."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stevec_report import explain, wording
from stevec_report.blocks import Cell, Column, Figure, Row, Table, judged_cell
from stevec_report.experiments.write_vs_read import means_figure, means_table
from stevec_report.figures.figure_1_9 import Means
from stevec_report.intervals import Interval
from stevec_report.json_fields import get_object
from stevec_report.parts import Part
from stevec_report.verdicts import STUDY_EXPERIMENTS, Verdict

ANSWERS = "hypotheses"  # the table of the first page
NEAR = explain.NEAR
TOP_LEVEL = 250
JOINED = ("write-vs-read-direct", "write-vs-read-cached")  # the runs of table 1.9 and figure 1.9
JOINED_FIGURE = "figure-1.9"
SOURCE_ABOVE_MS, CACHED_BELOW_MS = 2000.0, 1000.0


def verdict_table(parts: Sequence[Part], verdicts: dict[str, Verdict]) -> Table:
    """One row per hypothesis: the study's value, ours, the effect, p, p after Holm's correction, and the verdict."""
    columns = [
        Column("id", "no.", "text", left=True),
        Column("hypothesis", "hypothesis", "text", left=True, wrap=True),
        Column("verdict", "verdict", "text", left=True),
        Column("why", "because", "text", left=True, wrap=True, on_page=False),
        Column("study", "the study", "text", left=True, wrap=True, on_page=False),
        Column("ours", "this study", "text", left=True, wrap=True, on_page=False),
        Column("effect_name", "ratio", "text", left=True, wrap=True),
        Column("effect", "here (95 % interval)", "interval"),
        Column("study_effect", "the study"),
        Column("p", "p", "p", on_page=False),
        Column("p_holm", "p, corrected", "p"),
        Column("doubts", "what could be wrong", "text", left=True, wrap=True),
    ]
    by_name = {part.name: part for part in parts}
    rows = []
    for name, identity in STUDY_EXPERIMENTS.items():
        part, verdict = by_name.get(name), verdicts.get(name)
        row: Row = {"id": Cell(identity, anchor=name if part else "")}
        if verdict is None or part is None:
            why = part.problem if part and part.problem else "the study has no run of it."
            row |= {"hypothesis": name, "verdict": Cell("undecided", mark="undecided"), "why": why}
        else:
            evidence = verdict.evidence
            row |= {
                "hypothesis": _hypothesis(part),
                "verdict": Cell(verdict.result, mark=verdict.result),
                "study": evidence.study,
                "ours": evidence.ours,
                "effect_name": evidence.effect_name,
                "study_effect": evidence.study_effect,
                "effect": evidence.effect.ratio if evidence.effect else None,
                "p": verdict.p,
                "p_holm": verdict.p_holm,
                "why": verdict.why,
                "doubts": "; ".join(concern.short for concern in part.concerns if concern.short),
            }
        rows.append(row)
    return Table(
        ANSWERS,
        "The six hypotheses.",
        "p is that of a hypothesis' weakest claim, after Holm's correction for six. Confirmed: all its claims hold and "
        "p is below 0.05. Refuted: a claim clearly fails.",
        columns,
        rows,
        stacks=True,
    )


def concerns(parts: Sequence[Part]) -> list[str]:
    """Sentences on what could be wrong with a study as a whole; those of single experiments are in the table."""
    outcomes = [outcome for part in parts for outcome in part.outcomes]
    valid = sum(outcome.valid for outcome in outcomes)
    texts = [{concern.text for concern in part.concerns if not concern.short} for part in parts if part.run]
    shared = set.intersection(*texts) if texts else set()
    first = next((part for part in parts if part.run), None)
    unrecorded = [part.id for part in parts if part.evidence and not part.evidence.thresholds.recorded]
    return [
        f"{wording.part_of(valid, len(outcomes), 'trial')} are valid: in these, every request is accounted for.",
        *[concern.text for concern in (first.concerns if first else []) if concern.text in shared],
        *([f"The thresholds of {wording.join_words(unrecorded)} are {wording.NOT_RECORDED}."] if unrecorded else []),
    ]


def calibration_table(parts: Sequence[Part], profile: dict[str, Any]) -> Table:
    """Calibration and prediction, shown separately: the fitted values, and the results that were not fitted."""
    calibration = get_object(profile, "calibration")
    fitted = str(calibration.get("experiment"))[:40] if calibration else None
    by_name = {part.name: part for part in parts}
    rows = [
        *_ratio_rows(parts, fitted),
        *_effect_rows(by_name, fitted),
        *_overload_rows(by_name.get("overload"), fitted),
    ]
    columns = [
        Column("what", "what", "text", left=True, wrap=True),
        Column("kind", "kind", "text", left=True),
        Column("study", "the study"),
        Column("ours", "ours (95 % interval)", "interval"),
        Column("asked", "asked for", "text", left=True),
        Column("met", "met", "text", left=True),
    ]
    if fitted:
        note = (
            f"The profile {str(profile.get('name'))[:40]} was fitted on {fitted} only (run "
            f"{str(calibration.get('run'))[:80]}). Rows of that experiment are calibration and prove nothing. The "
            "others are predictions: no setting was changed after they were seen."
        )
    else:
        note = (
            "No profile was calibrated for this study, so nothing here was fitted. Compare the directions of effects, "
            "not milliseconds."
        )
    note += " “Met” is open where the interval is neither wholly as asked nor wholly not."
    return Table("calibration", "Calibration and prediction.", note, columns, rows)


def _ratio_rows(parts: Sequence[Part], fitted: str | None) -> Iterator[Row]:
    """E1's ratios of response times."""
    for part in parts:
        for entry in part.facts.get("ratios", []):
            ratio = entry["ratio"]
            study = entry["study"]
            yield {
                "what": f"E1: {entry['name']} in mean response time",
                "kind": _kind(part.name, fitted),
                "study": study,
                "ours": ratio,
                "asked": "within 20 %",
                "met": _met(ratio, study / NEAR, study * NEAR),
            }


def _effect_rows(by_name: dict[str, Part], fitted: str | None) -> Iterator[Row]:
    """The effect of each hypothesis."""
    for name, identity in STUDY_EXPERIMENTS.items():
        part = by_name.get(name)
        if part is None or part.evidence is None:
            continue
        same, _ = explain.compare(part.evidence)
        ratio = part.evidence.effect.ratio if part.evidence.effect else None
        yield {
            "what": f"{identity}: {part.evidence.effect_name}",
            "kind": _kind(name, fitted),
            "study": part.evidence.study_effect,
            "ours": ratio,
            "asked": "near 1" if part.evidence.margin else "direction",
            "met": _yes_no(same, "open" if ratio else "unknown"),
        }


def _overload_rows(overload: Part | None, fitted: str | None) -> Iterator[Row]:
    """E3's means at the study's highest load."""
    for door, asked, bounds_ms in (
        ("source", f"above {SOURCE_ABOVE_MS:g} ms", (SOURCE_ABOVE_MS, math.inf)),
        ("cached", f"below {CACHED_BELOW_MS:g} ms", (0.0, CACHED_BELOW_MS)),
    ):
        found = overload.facts.get("at_top", {}).get(door) if overload and overload.run else None
        if found is None:
            continue
        yield {
            "what": f"E3: mean at {door} with {TOP_LEVEL} background requesters, ms",
            "kind": _kind("overload", fitted),
            "study": found["study"],
            "ours": found["ms"],
            "asked": asked,
            "met": _met(found["ms"], *bounds_ms),
        }


def joined_tables(parts: Sequence[Part]) -> list[Table]:
    """Table 1.9, if E5 or E6 has a run."""
    means = _means(part.facts for part in parts)
    return [means_table(means)] if means else []


def joined_figures(facts: Iterable[dict[str, Any]]) -> list[Figure]:
    """Figure 1.9, if both E5 and E6 have a run. `facts` are those of the parts."""
    known = [own for own in facts if "direct" in own]
    means = _means(known)
    return [means_figure(means, {own["direct"]: own["ratio"] for own in known})] if len(means) == 2 else []


def _means(facts: Iterable[dict[str, Any]]) -> Means:
    return {own["direct"]: own["means"] for own in facts if "direct" in own}


def _kind(name: str, fitted: str | None) -> str:
    if fitted is None:
        return "measured"
    return "calibration" if name == fitted or STUDY_EXPERIMENTS.get(name) == fitted else "prediction"


def _hypothesis(part: Part) -> str:
    text = part.run.experiment.get("hypothesis") if part.run else None
    return text if isinstance(text, str) and text else part.title


def _met(ours: Interval | None, low: float, high: float) -> Cell:
    """Whether the whole interval is between `low` and `high`."""
    return _yes_no(ours.is_within(low, high), "open") if ours else _yes_no(None, "unknown")


def _yes_no(value: bool | None, otherwise: str) -> Cell:
    return Cell(otherwise, mark="undecided") if value is None else judged_cell(value, "yes", "no")


def disagreement(part: Part, verdict: Verdict) -> tuple[str, list[str]]:
    """Return (sentence comparing the effect with the study's, possible reasons for a difference: [] if it agrees)."""
    _, sentence = explain.compare(verdict.evidence)
    if explain.agrees(verdict.evidence, verdict):
        return sentence, []
    return sentence, part.explanations or ["Nothing in the run's own facts explains it."]


def count_words(parts: Sequence[Part], verdicts: dict[str, Verdict]) -> str:
    """`4 confirmed, 1 refuted, 1 undecided`."""
    counts = {"confirmed": 0, "refuted": 0, "undecided": 0}
    for name in STUDY_EXPERIMENTS:
        counts[verdicts[name].result if name in verdicts else "undecided"] += 1
    return wording.join_words([f"{number} {result}" for result, number in counts.items()])
