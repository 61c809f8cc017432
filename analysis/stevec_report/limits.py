"""Limits of trials in words: what limited them, what disturbed them, and what is left for verdicts on times.

A trial is limited if the load generator, the links or the whole machine was the limit, or if requests queued in front
of the door. Its times say nothing of the system under test
(docs/decisions/0024-limited-trials-enter-no-verdict-on-times.md).
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from stevec_report import wording
from stevec_report.outcomes import AnyOutcome, MeasuredOutcome, Outcome

WORDS = {
    "generator": "the load generator",
    "links": "the links",
    "machine": "the whole machine",
    "queue": "a queue in front of the door",
}
CONSEQUENCE = "Such times are in no verdict, and hollow in figures; counts hold."
ADVICE = "Take a slower origin (--profile), more cores or a lower rate."


def limited(outcomes: Iterable[AnyOutcome]) -> list[AnyOutcome]:
    """Those of `outcomes` whose times say nothing of the system under test."""
    return [outcome for outcome in outcomes if outcome.limited]


def believed(trials: Sequence[MeasuredOutcome]) -> list[MeasuredOutcome]:
    """The trials whose times a table or figure shows: those that were not limited, or all if there are no others."""
    return [trial for trial in trials if not trial.limited] or list(trials)


def apart(trials: Sequence[MeasuredOutcome]) -> list[list[MeasuredOutcome]]:
    """The trials in up to two groups, none of them empty: those that were not limited, and those that were."""
    groups = ([trial for trial in trials if not trial.limited], limited(trials))
    return [group for group in groups if group]


def by_words(outcomes: Iterable[Outcome]) -> str:
    """What limited `outcomes`: `the load generator`, or `the load generator (3) and the links (1)`; '' without any."""
    counts = Counter(outcome.limited_by for outcome in outcomes if outcome.limited_by)
    if len(counts) == 1:
        return WORDS[next(iter(counts))]
    return wording.join_words(f"{words} ({counts[limit]})" for limit, words in WORDS.items() if counts[limit])


def cell_text(trials: Sequence[Outcome]) -> str:
    """The entry of a table: `generator`, `generator, queue (2 of 3 trials)`; '' if none was limited."""
    found = limited(trials)
    names = ", ".join(name for name in WORDS if any(trial.limited_by == name for trial in found))
    if not found or len(found) == len(trials):
        return names
    return f"{names} ({wording.part_of(len(found), len(trials), 'trial')})"


def count_words(valid: Sequence[Outcome]) -> str:
    """`1 of 12 valid trials was limited by the links`; '' if none was."""
    found = limited(valid)
    were = "was" if len(found) == 1 else "were"
    trials = wording.part_of(len(found), len(valid), "valid trial")
    return f"{trials} {were} limited by {by_words(found)}" if found else ""


def left_out(valid: Sequence[Outcome]) -> str:
    """Sentences on valid trials that are in no verdict on times, and what to do about it; '' if none was limited."""
    counted = count_words(valid)
    return f"{counted}. {CONSEQUENCE} {ADVICE}" if counted else ""
