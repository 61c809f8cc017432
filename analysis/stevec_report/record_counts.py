"""What a trial of records, or of saves of pages, found besides its samples: trial.json's `records`, checked."""

from dataclasses import dataclass
from typing import Any

from stevec_report.json_fields import get_count, get_optional_number

SIGNALS = ("SIGTERM", "SIGKILL")


@dataclass(frozen=True)
class RecordCounts:
    """Records or saves, and what they took. None where it is not known, or where the service was stopped.

    `extra_s` is from the last answer until all were stored; `database_cpu_share` is of one core; the processor times
    are of mongod, of the service or the wiki, and of Redis, until then; `signal` is that which stopped the service,
    `waiting` the records that it had accepted and not stored just before.
    """

    acknowledged: int
    stored: int
    lost: int
    extra_s: float | None
    ops_per_s: float | None
    database_cpu_s: float | None
    database_cpu_share: float | None
    service_cpu_s: float | None
    shared_cpu_s: float | None
    signal: str | None
    waiting: int | None

    @property
    def cpu_s(self) -> float | None:
        """Processor time of service, mongod and Redis, until all were stored."""
        if self.database_cpu_s is None or self.service_cpu_s is None:
            return None
        return self.database_cpu_s + self.service_cpu_s + (self.shared_cpu_s or 0)

    @property
    def cpu_ms_per_record(self) -> float | None:
        """That ÷ stored records, ms."""
        return 1000 * self.cpu_s / self.stored if self.cpu_s is not None and self.stored else None

    @property
    def lost_share(self) -> float | None:
        """Lost ÷ acknowledged records."""
        return self.lost / self.acknowledged if self.acknowledged else None


def read_record_counts(value: Any) -> RecordCounts | None:
    """Return the field's `RecordCounts`, None without it; ValueError names what is wrong."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("records is neither null nor an object")
    acknowledged, stored, lost = (get_count(value, name) for name in ("acknowledged", "stored", "lost"))
    if lost > acknowledged or acknowledged - lost > stored:
        raise ValueError(f"records has {lost} lost of {acknowledged} acknowledged, and {stored} stored")
    stop = value.get("stop")
    if stop is not None and (not isinstance(stop, dict) or stop.get("signal") not in SIGNALS):
        raise ValueError("records.stop is neither null nor a known signal")
    return RecordCounts(
        acknowledged=acknowledged,
        stored=stored,
        lost=lost,
        extra_s=get_optional_number(value, "extra_s"),
        ops_per_s=get_optional_number(value, "ops_per_s"),
        database_cpu_s=get_optional_number(value, "database_cpu_s"),
        database_cpu_share=get_optional_number(value, "database_cpu_share"),
        service_cpu_s=get_optional_number(value, "service_cpu_s"),
        shared_cpu_s=get_optional_number(value, "shared_cpu_s"),
        signal=None if stop is None else str(stop["signal"]),
        waiting=None if stop is None else get_count(stop, "waiting"),
    )
