"""What crawlers asked for in a trial, and what they got: trial.json's `crawl`, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stevec_report.json_fields import get_count, get_object, get_optional_number

STATUSES_MAX = 50


@dataclass(frozen=True)
class CrawlFacts:
    """Requests a second that the wiki can show, and that crawlers were to send and sent; {status: requests}."""

    capacity_per_s: float
    asked_per_s: float
    sent_per_s: float
    statuses: Mapping[str, int]

    @property
    def sent_times_capacity(self) -> float:
        """The sweep's rate ÷ the capacity."""
        return self.sent_per_s / self.capacity_per_s

    @property
    def requests(self) -> int:
        """All requests of the sweep."""
        return sum(self.statuses.values())

    def others(self, known: tuple[str, ...]) -> int:
        """Requests with none of the `known` statuses."""
        return sum(count for status, count in self.statuses.items() if status not in known)


def read_crawl(value: Any) -> CrawlFacts | None:
    """Return the field's `CrawlFacts`, None without it or without a capacity; ValueError names what is wrong."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("crawl is neither null nor an object")
    names = ("capacity_per_s", "asked_per_s", "sent_per_s")
    rates = [get_optional_number(value, name) for name in names]
    if rates[0] is None:
        return None
    capacity, asked, sent = (-1.0 if rate is None else rate for rate in rates)
    if capacity <= 0 or asked < 0 or sent < 0:
        raise ValueError(f"crawl has a rate that is none: {', '.join(names)}")
    statuses = get_object(value, "statuses")
    if len(statuses) > STATUSES_MAX or not all(status.isdecimal() and len(status) == 3 for status in statuses):
        raise ValueError("crawl.statuses are not those of HTTP")
    return CrawlFacts(capacity, asked, sent, {status: get_count(statuses, status) for status in statuses})
