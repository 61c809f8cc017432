"""Under which conditions the trials of a run ran: it may be resumed on another machine, or with other programs or code.

`manifest.resumptions` says for each resumption which trials it still had to run, and what had changed since the run
began. So the same changes mean the same conditions, and no changes those of the beginning.
"""

from dataclasses import dataclass
from typing import Any

from stevec_report.json_fields import TEXT_MAX_CHARS, get_texts

RESUMPTIONS_MAX = 1000


@dataclass(frozen=True)
class Conditions:
    """Conditions that some trials ran under. `number` is 0 for those of the beginning, which have no `changes`.

    `at` is the time of the first resumption under them, as text; '' for the beginning.
    """

    number: int
    at: str
    changes: tuple[str, ...]


BEGINNING = Conditions(0, "", ())


def read_conditions(manifest: dict[str, Any]) -> dict[int, Conditions]:
    """Return {number of a trial: `Conditions`} of the trials that ran after a change; all others ran as it began."""
    value = manifest.get("resumptions")
    found: dict[int, Conditions] = {}
    known = {BEGINNING.changes: BEGINNING}
    for resumption in value[:RESUMPTIONS_MAX] if isinstance(value, list) else []:
        if not isinstance(resumption, dict):
            continue
        changes = tuple(get_texts(resumption, "changes"))
        if changes not in known:
            known[changes] = Conditions(len(known), str(resumption.get("at") or "")[:TEXT_MAX_CHARS], changes)
        trials = resumption.get("trials")
        # A trial that an earlier resumption did not come to is in this one, too.
        found |= {trial: known[changes] for trial in (trials if isinstance(trials, list) else []) if type(trial) is int}
    return {trial: own for trial, own in found.items() if own.number}
