"""Which trials were valid, limited and disturbed, and why; drift; changed conditions."""

from collections.abc import Iterable, Sequence

from stevec_report import limits, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import Cell, Column, Table
from stevec_report.experiments.drift import Within, within_trials
from stevec_report.experiments.machine_use import TOO_SHORT
from stevec_report.outcomes import Outcome, cell_text, valid_of

NAMED_MAX = 12  # trials or cells that a sentence names
EVIDENCE_MAX = 5


def sentences(analysis: Analysis) -> list[str]:
    """Return the sentences on a run."""
    found = [
        _valid(analysis.outcomes),
        _limited(analysis.outcomes),
        _disturbed(analysis.outcomes),
        _drifting(within_trials(analysis)),
        *_conditions(analysis.outcomes),
    ]
    return [sentence for sentence in found if sentence]


def summary_table(outcomes: dict[str, Sequence[Outcome]], drifting: dict[str, int]) -> Table:
    """The table of a study, one row an experiment.

    Args:
        outcomes: {experiment: outcomes of its run}. drifting: {experiment: kinds of request that drift in a trial}.
    """
    columns = [
        Column("experiment", "experiment", "text", left=True),
        Column("trials", "trials", "count"),
        Column("valid", "valid", "count"),
        Column("limited", "limited", "count"),
        Column("limited_by", "by", "text", left=True),
        Column("disturbed", "disturbed", "text"),
        Column("drifting", "drift within trials", "count"),
        Column("conditions", "conditions", "count"),
    ]
    rows = [
        {
            "experiment": Cell(name, anchor=name),
            "trials": len(own),
            "valid": len(valid_of(own)),
            "limited": len(limits.limited(valid_of(own))),
            "limited_by": limits.by_words(valid_of(own)),
            "disturbed": _disturbed_text(own),
            "drifting": drifting[name],
            "conditions": len({o.conditions.number for o in own}),
        }
        for name, own in outcomes.items()
    ]
    note = (
        "Limited: the limit was not the server, so the times are in no verdict. Disturbed: other programs used the "
        "machine; such trials stay in verdicts, as their order is random. Drift: kinds of request whose first tenth "
        "differs from the last half of the trial. Conditions: more than 1 after a change of machine, programs or code."
    )
    return Table("trust", "Can the times be believed?", note, columns, rows)


def _valid(outcomes: Sequence[Outcome]) -> str:
    return f"{wording.part_of(len(valid_of(outcomes)), len(outcomes), 'trial')} are valid."


def _limited(outcomes: Sequence[Outcome]) -> str:
    valid = valid_of(outcomes)
    counted = limits.count_words(valid)
    if counted:
        text = f"{counted} ({_numbers(limits.limited(valid))}). {limits.CONSEQUENCE}"
    else:
        known = all(o.queued is not None for o in valid)
        text = f"No valid trial was limited by the load generator{', or by a queue in front of the door' * known}."
    return " ".join([text, *_unknown_queues(valid), *_unrecorded(valid)])


def _unknown_queues(valid: Sequence[Outcome]) -> list[str]:
    unknown = [o for o in valid if o.queued is None]
    if not unknown:
        return []
    return [
        f"Whether requests queued in front of the door is not known{_part(unknown, valid)}: this takes the log of the "
        "door, a lighter load beside it, and a profile that limits no uplink."
    ]


def _unrecorded(valid: Sequence[Outcome]) -> list[str]:
    missing = [o for o in valid if not o.saturation]
    if not missing:
        return []
    return [
        "Whether links or machine were a limit, and what disturbed the machine, is "
        f"{wording.NOT_RECORDED}{_part(missing, valid)}: the run is older, or {TOO_SHORT}."
    ]


def _part(some: Sequence[Outcome], valid: Sequence[Outcome]) -> str:
    return "" if len(some) == len(valid) else f" in {wording.part_of(len(some), len(valid), 'trial')}"


def _disturbed(outcomes: Sequence[Outcome]) -> str:
    valid = valid_of(outcomes)
    found = [o for o in valid if o.disturbed]
    if not found:
        return "No valid trial was disturbed." if any(o.saturation for o in valid) else ""
    were = "was" if len(found) == 1 else "were"
    reasons = "; ".join(f"trial {o.number}: {o.disturbed}" for o in found[:EVIDENCE_MAX])
    more = f"; and {len(found) - EVIDENCE_MAX} more" if len(found) > EVIDENCE_MAX else ""
    return (
        f"{wording.part_of(len(found), len(valid), 'valid trial')} {were} disturbed ({_numbers(found)}). They stay in "
        f"verdicts, as the order of trials is random. What disturbed: {reasons}{more}."
    )


def _disturbed_text(outcomes: Sequence[Outcome]) -> str:
    valid = valid_of(outcomes)
    return str(sum(bool(o.disturbed) for o in valid)) if any(o.saturation for o in valid) else wording.NOT_RECORDED


def _drifting(found: Sequence[Within]) -> str:
    drifting = [one for one in found if one.is_drift]
    if not drifting:
        return _no_drift(found)
    shown = [
        f"{one.kind}, {cell_text(one.cell)}: {wording.interval_text(one.ratio)}"
        for one in sorted(drifting, key=lambda one: -abs(one.ratio.centre - 1))[:EVIDENCE_MAX]
    ]
    more = f"; and {len(drifting) - EVIDENCE_MAX} more" if len(drifting) > EVIDENCE_MAX else ""
    return (
        f"Times drift within trials, in {wording.part_of(len(drifting), len(found), 'group')} of cell and kind of "
        f"request. First tenth of a trial ÷ its last half: {'; '.join(shown)}{more}."
    )


def _no_drift(found: Sequence[Within]) -> str:
    if not found:
        return "Drift within trials could not be tested."
    large = sum(one.is_large for one in found)
    if not large:
        return "No drift within trials was found."
    return (
        f"No drift within trials was found, but in {wording.part_of(large, len(found), 'group')} of cell and kind of "
        "request the first tenth of a trial differs from its last half by more than a tenth. So few trials cannot tell "
        "this from chance."
    )


def _conditions(outcomes: Iterable[Outcome]) -> list[str]:
    """What had changed for the trials that did not run as the run began, one sentence for each set of conditions."""
    groups: dict[int, list[Outcome]] = {}
    for o in outcomes:
        if o.conditions.number:
            groups.setdefault(o.conditions.number, []).append(o)
    return [
        f"{wording.count_of(len(own), 'trial')} ({_numbers(own)}) ran under other conditions ({number}), after the "
        f"run was resumed at {own[0].conditions.at}: {'; '.join(own[0].conditions.changes)}. Pairs are of trials of "
        "the same conditions."
        for number, own in sorted(groups.items())
    ]


def _numbers(outcomes: Sequence[Outcome]) -> str:
    shown = [str(o.number) for o in outcomes[:NAMED_MAX]] + ["…"] * (len(outcomes) > NAMED_MAX)
    return f"{'trial' if len(shown) == 1 else 'trials'} {', '.join(shown)}"
