"""The fault that was caused in a trial, as trial.json records it."""

import json
from dataclasses import dataclass
from typing import Any

from stevec_report.json_fields import get, get_count

TIME_MAX_US = 10**16
LINK_TIMES = ("cut_began", "cut", "mending_began", "mended")
FAULT_TIMES = {  # {kind: names of the times of a `Fault`, in their order}
    "origin-down": ("kill_began", "dead", "started", "answering"),
    "edge-parted": LINK_TIMES,
    "purges-lost": LINK_TIMES,
}


@dataclass(frozen=True)
class Fault:
    """A fault that was caused in a trial: what failed, and when, in microseconds since 1970.

    Everything worked before `began_us`, and what is to fail had failed at `complete_us`; it was mended from `ending_us`
    on, and everything worked again at `ended_us`. `cut_off` are requests without an answer that the wiki may have
    counted.
    """

    kind: str
    began_us: int
    complete_us: int
    ending_us: int
    ended_us: int
    cut_off: int

    @property
    def hides_requests(self) -> bool:
        """Whether the wiki may have counted a request that a client takes for failed. A lost purge hides none."""
        return self.kind != "purges-lost"

    @property
    def cut_us(self) -> tuple[int, int]:
        """Requests in flight in this time may be cut off.

        An edge may send a request again when it is no longer parted from the origin.
        """
        return (self.began_us, self.complete_us if self.kind == "origin-down" else self.ended_us)


def read_fault(value: Any) -> Fault | None:
    """Return the fault in a trial.json, None if there was none; ValueError names what is wrong."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("fault is neither null nor an object")
    kind = get(value, "kind", str)
    names = FAULT_TIMES.get(kind)
    if names is None:
        raise ValueError(f"fault has a kind that is not known: {json.dumps(kind)[:40]}")
    moments = [get_count(value, f"{name}_at_us", TIME_MAX_US) for name in names]
    if moments != sorted(moments):
        raise ValueError("fault has times that are not in their order")
    began_us, complete_us, ending_us, ended_us = moments
    return Fault(kind, began_us, complete_us, ending_us, ended_us, get_count(value, "cut_off"))
