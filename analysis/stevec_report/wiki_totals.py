"""Reads trial.json's `wiki_totals`: what each wiki counted, from totals that no reading resets."""

from dataclasses import dataclass
from typing import Any

from stevec_report.json_fields import get, get_count

WIKIS_MAX = 64
NAMES = ("requests", "reads", "writes")

Count = tuple[int, int, int]  # as NAMES


@dataclass(frozen=True)
class WikiTotals:
    """What each wiki counted; None for one that has no totals. `lost` are the numbers, from 1, of the wikis that were
    started again, so that their count is lost."""

    each: tuple[Count | None, ...]
    lost: tuple[int, ...]

    @property
    def counts(self) -> tuple[Count, ...] | None:
        """The count of each wiki; None unless all have one."""
        known = tuple(count for count in self.each if count is not None)
        return known if len(known) == len(self.each) else None


@dataclass(frozen=True)
class TotalsOfTrials:
    """Requests that each wiki counted over several trials, and those of the counter that each reading resets."""

    trials: int
    each: tuple[int, ...]
    counter: int

    def add(self, counts: tuple[Count, ...], counter: int) -> "TotalsOfTrials":
        """With one more trial."""
        each = tuple(before + count[0] for before, count in zip(self.each, counts, strict=True))
        return TotalsOfTrials(self.trials + 1, each, self.counter + counter)


def read_wiki_totals(value: Any) -> WikiTotals | None:
    """Return the field's `WikiTotals`, None without it; ValueError names what is wrong."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("wiki_totals is neither null nor an object")
    entries = get(value, "each", list)
    if not 1 <= len(entries) <= WIKIS_MAX:
        raise ValueError(f"wiki_totals has {len(entries)} wikis, not 1 to {WIKIS_MAX}")
    each: list[Count | None] = []
    lost: list[int] = []
    for number, entry in enumerate(entries, start=1):
        if entry is not None and not isinstance(entry, dict):
            raise ValueError("wiki_totals has a wiki that is neither null nor an object")
        count = None if entry is None else entry.get("count")
        if entry is not None and count is None:
            lost.append(number)
        each.append(_read_count(count))
    return WikiTotals(tuple(each), tuple(lost))


def check_totals(totals: WikiTotals | None, counter: Count) -> list[str]:
    """Compare the sum over the wikis with the counter that each reading resets; return a sentence for each fault."""
    if totals is None:
        return []
    found = [f"wiki {number} was started again during the trial, so its count is lost" for number in totals.lost]
    if totals.counts is not None:
        sums = [sum(counts) for counts in zip(*totals.counts, strict=True)]
        for name, counted, count in zip(NAMES, counter, sums, strict=True):
            if counted != count:
                found.append(f"the wikis' totals have {count} {name}, but the counter says {counted}")
    return found


def _read_count(value: Any) -> Count | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("wiki_totals has a count that is neither null nor an object")
    requests, reads, writes = (get_count(value, name) for name in NAMES)
    return requests, reads, writes
