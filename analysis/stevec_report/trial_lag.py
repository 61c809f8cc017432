"""How late a trial's requests were sent, against their plan."""

from dataclasses import dataclass
from typing import Any

from stevec_report.json_fields import get_optional_number


@dataclass(frozen=True)
class Lag:
    """How late the requests of the open model were sent: quantiles over the probe's requests, in ms."""

    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None


def read_lag(schedule: Any) -> Lag | None:
    """From trial.json's `schedule`."""
    if not isinstance(schedule, dict):
        return None
    return Lag(*(get_optional_number(schedule, f"lag_{name}_ms") for name in ("p50", "p99", "max")))
