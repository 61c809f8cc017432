"""What a trial of watched pages found besides its samples: trial.json's `fan_out`, checked."""

from dataclasses import dataclass
from typing import Any

from stevec_report.json_fields import get_count, get_optional_number

SHOWN_WITHIN_MS = 60_000.0  # so long a watcher looks for a change after the load


@dataclass(frozen=True)
class FanOutFacts:
    """The lists of the watchers that looked, what was written for all watchers, and the processor time of an edit.

    Delays are from the answer to a save until a list showed the change; None if no list showed any. `edit_cpu_ms` is
    the processor time of wiki and database ÷ edits, without the looks; `look_cpu_ms` is that of a look.
    """

    acknowledged: int
    shown: int
    never_shown: int
    delay_mean_ms: float | None
    delay_p50_ms: float | None
    delay_p95_ms: float | None
    delay_max_ms: float | None
    items_written: int
    looks: int
    looks_failed: int
    edit_cpu_ms: float | None
    look_cpu_ms: float | None

    @property
    def longest_ms(self) -> float | None:
        """The longest delay; a change that was never seen counts as long as the watchers looked."""
        if self.never_shown:
            return max(SHOWN_WITHIN_MS, self.delay_max_ms or 0.0)
        return self.delay_max_ms

    @property
    def items_per_edit(self) -> float | None:
        """Items written ÷ acknowledged edits."""
        return self.items_written / self.acknowledged if self.acknowledged else None


def read_fan_out(value: Any) -> FanOutFacts | None:
    """Return the field's `FanOutFacts`, None without it; ValueError names what is wrong."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("fan_out is neither null nor an object")
    counts = {
        name: get_count(value, name)
        for name in ("acknowledged", "shown", "never_shown", "items_written", "looks", "looks_failed")
    }
    numbers = {
        name: get_optional_number(value, name)
        for name in (
            *("delay_mean_ms", "delay_p50_ms", "delay_p95_ms", "delay_max_ms"),
            *("edit_cpu_ms", "look_cpu_ms"),
        )
    }
    if any(number is not None and number < 0 for number in numbers.values()):
        raise ValueError("fan_out has a negative time")
    if (counts["shown"] > 0) != (numbers["delay_max_ms"] is not None):
        raise ValueError(f"fan_out has {counts['shown']} shown, and delay_max_ms {numbers['delay_max_ms']}")
    return FanOutFacts(
        counts["acknowledged"],
        counts["shown"],
        counts["never_shown"],
        numbers["delay_mean_ms"],
        numbers["delay_p50_ms"],
        numbers["delay_p95_ms"],
        numbers["delay_max_ms"],
        counts["items_written"],
        counts["looks"],
        counts["looks_failed"],
        numbers["edit_cpu_ms"],
        numbers["look_cpu_ms"],
    )
