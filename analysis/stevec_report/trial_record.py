"""Reads one trial.json into a checked `TrialRecord`."""

import json
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stevec_report.compact_form import Compact, read_compact
from stevec_report.crawl_facts import CrawlFacts, read_crawl
from stevec_report.fan_out_facts import FanOutFacts, read_fan_out
from stevec_report.json_fields import (
    get,
    get_count,
    get_object,
    get_optional_count,
    get_optional_number,
    get_time,
)
from stevec_report.levels import LEVEL_MAX_CHARS, level_text
from stevec_report.record_counts import RecordCounts, read_record_counts
from stevec_report.trial_fault import Fault, read_fault
from stevec_report.trial_lag import Lag, read_lag
from stevec_report.trial_saturation import Saturation, read_saturation
from stevec_report.wiki_totals import WikiTotals, read_wiki_totals

REPETITIONS_MAX = 2_000
REASONS_MAX = 20  # reasons kept per trial; the length of each is limited too, because a report is not a log
REASON_MAX_CHARS = 500
FACTORS_MAX = 16
PROOF_REQUESTS_MAX = 10_000
LOG_NAMES = ("edge", "origin", "local", *(f"edge-{number}" for number in range(2, 9)))


@dataclass(frozen=True)
class Background:
    """The checked part of trial.json's `background`. Times are microseconds since 1970."""

    vus: int
    requests_sent: int
    requests_failed: int
    served_by_cache: int
    rate_per_min: float | None
    generator_limited: bool


@dataclass(frozen=True)
class Purges:
    """The wiki's purges at the edge in a trial: calls, failed calls, and the numbers of URLs, tags and hosts purged."""

    calls: int
    failed: int
    urls: int
    tags: int
    hosts: int


@dataclass(frozen=True)
class TrialRecord:
    """The checked part of one trial.json. Counts are requests, of the probe unless the name says otherwise.

    `proof_statuses` are the cache statuses that the cold proof saw, one per request.
    `cell` is {factor: level as text}, `settings` the settings in effect. `clock_step_s` is the difference that
    arose between wall clock and monotonic clock during the trial (None if the trial does not record it).
    `stolen_cpu_share` is the share of all cores that the machine's host gave to other guests (None if not recorded).
    `never_sent` are planned requests of the open model that were not sent, for want of a free VU; `lag` is how late
    the others were sent (None in the closed model, and where it is not recorded).
    `generator_limited` is from before `saturation` was recorded; `limit` reads both.
    `compact` is None unless the trial is in its compact form.
    `refreshes` are the requests that the edge sent on its own; `purges` is None under a policy without purges.
    `wiki_totals` is None if not recorded, and where no wiki has totals.
    `records` is None but in trials of records, `fan_out` but in trials of watched pages,
    `crawl` but beside crawlers.
    `clock_skew_bound_ms`: two samples of different machines can be the wrong way round by so much; 0 for one machine.
    """

    repetition: int
    plan: str
    door: str
    cell: dict[str, str]
    settings: dict
    valid: bool
    invalid_reasons: tuple[str, ...]
    started_at: datetime
    finished_at: datetime
    clock_step_s: float | None
    requests_sent: int
    requests_failed: int
    reads_sent: int
    writes_sent: int
    distinct_pages: int
    counter_requests: int
    counter_reads: int
    counter_writes: int
    counter_expected: int | None
    served_by_cache: int
    log_lines: dict[str, int]
    never_sent: int
    lag: Lag | None
    wall_s: float | None
    generator_cpu_share: float | None
    generator_limited: bool
    background: Background | None
    overlap_proved: bool | None
    proof_statuses: tuple[str, ...]
    refreshes: int = 0
    purges: Purges | None = None
    fault: Fault | None = None
    stolen_cpu_share: float | None = None
    saturation: Saturation | None = None
    compact: Compact | None = None
    wiki_totals: WikiTotals | None = None
    clock_skew_bound_ms: float = 0.0
    records: RecordCounts | None = None
    fan_out: FanOutFacts | None = None
    crawl: CrawlFacts | None = None

    @property
    def limit(self) -> str | None:
        """What was the limit, one of `trial_saturation.LIMITS`; None if not recorded."""
        if self.saturation:
            return self.saturation.limit
        background_limited = self.background is not None and self.background.generator_limited
        return "generator" if self.generator_limited or background_limited else None

    @property
    def stolen_share(self) -> float | None:
        """Share of all cores that the machine's host gave to other guests; None if not recorded."""
        if self.stolen_cpu_share is None and self.saturation and self.saturation.stolen_cores is not None:
            return self.saturation.stolen_cores / self.saturation.cores
        return self.stolen_cpu_share

    def setting(self, name: str, default: Any = None) -> Any:
        """The value of a setting in this trial."""
        return self.settings.get(name, default)

    def number(self, name: str, default: float = 0) -> float:
        """The value of a numeric setting; `default` if it is not a number."""
        value = self.settings.get(name)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else default


def read_record(value: dict[str, Any], number: int, doors: Container[str], plans: Container[str]) -> TrialRecord:
    """Return the record in a trial.json; ValueError names the field that is wrong.

    Args:
        value: the JSON object. number: of the folder. doors, plans: the manifest's names of doors and ids of plans.
    """
    if get(value, "trial", int) != number:
        raise ValueError(f"it says trial {value['trial']}, and lies in the folder of trial {number}")
    door = get(value, "door", str)
    if door not in doors:
        raise ValueError("its door is not one of the manifest's")
    plan = str(value.get("plan"))
    if plan not in plans:
        raise ValueError(f"manifest.json has no plan {json.dumps(plan)[:40]}")
    reasons = get(value, "invalid_reasons", list)
    k6, counter = get(value, "k6", dict), get(value, "counter", dict)
    started_at, finished_at = get_time(value, "started_at"), get_time(value, "finished_at")
    monotonic_s = get_optional_number(value, "monotonic_s")
    return TrialRecord(
        repetition=get_count(value, "repetition", REPETITIONS_MAX),
        plan=plan,
        door=door,
        cell=_read_cell(value),
        settings=get(value, "settings", dict),
        valid=get(value, "valid", bool),
        invalid_reasons=tuple(str(reason)[:REASON_MAX_CHARS] for reason in reasons[:REASONS_MAX]),
        started_at=started_at,
        finished_at=finished_at,
        clock_step_s=None if monotonic_s is None else (finished_at - started_at).total_seconds() - monotonic_s,
        requests_sent=get_count(value, "requests_sent"),
        requests_failed=get_count(value, "requests_failed"),
        reads_sent=get_count(value, "reads_sent"),
        writes_sent=get_count(value, "writes_sent"),
        distinct_pages=get_count(value, "distinct_pages"),
        counter_requests=get_count(counter, "requests"),
        counter_reads=get_count(counter, "reads"),
        counter_writes=get_count(counter, "writes"),
        counter_expected=get_optional_count(value, "counter_expected"),
        served_by_cache=get_count(value, "served_by_cache"),
        log_lines=_read_log_lines(value.get("log_lines") or {}),
        never_sent=_read_never_sent(value),
        lag=read_lag(value.get("schedule")),
        wall_s=get_optional_number(k6, "wall_s"),
        generator_cpu_share=get_optional_number(k6, "generator_cpu_share"),
        generator_limited=k6.get("generator_limited") is True,
        background=_read_background(value.get("background")),
        overlap_proved=_read_overlap(value.get("overlap")),
        proof_statuses=_read_proof(value.get("cold_proof")),
        refreshes=get_optional_count(value, "refreshes") or 0,
        purges=_read_purges(value.get("purges")),
        fault=read_fault(value.get("fault")),
        stolen_cpu_share=get_optional_number(k6, "stolen_cpu_share"),
        saturation=read_saturation(value.get("saturation")),
        compact=read_compact(value.get("compact")),
        wiki_totals=read_wiki_totals(value.get("wiki_totals")),
        clock_skew_bound_ms=_read_bound(value),
        records=read_record_counts(value.get("records")),
        fan_out=read_fan_out(value.get("fan_out")),
        crawl=read_crawl(value.get("crawl")),
    )


def _read_overlap(value: Any) -> bool | None:
    return value.get("proved") is True if isinstance(value, dict) else None


def _read_bound(value: dict[str, Any]) -> float:
    bound_ms = get_optional_number(value, "clock_skew_bound_ms") or 0.0
    if bound_ms < 0:
        raise ValueError("clock_skew_bound_ms is negative")
    return bound_ms


def _read_log_lines(value: Any) -> dict[str, int]:
    if not isinstance(value, dict) or not all(type(lines) is int for lines in value.values()):
        raise ValueError("log_lines is not an object of whole numbers")
    return {name: lines for name, lines in value.items() if name in LOG_NAMES}


def _read_never_sent(value: dict[str, Any]) -> int:
    """Planned requests of the open model that were not sent; older results have k6's dropped iterations.

    In the closed model k6 also counted iterations that a time limit cut off as dropped.
    """
    if isinstance(value.get("schedule"), dict):
        return get_count(value["schedule"], "never_sent")
    dropped = get_optional_count(get_object(value, "k6"), "dropped_iterations") or 0
    return dropped if get_object(value, "settings").get("model") == "open" else 0


def _read_proof(value: Any) -> tuple[str, ...]:
    observed = value.get("observed") if isinstance(value, dict) else None
    if not isinstance(observed, list) or len(observed) > PROOF_REQUESTS_MAX:
        return ()
    return tuple(str(status)[:LEVEL_MAX_CHARS].upper() for status in observed)


def _read_purges(value: Any) -> Purges | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("purges is neither null nor an object")
    return Purges(*(get_count(value, name) for name in ("calls", "failed", "urls", "tags", "hosts")))


def _read_cell(value: dict[str, Any]) -> dict[str, str]:
    cell = get(value, "cell", dict)
    if len(cell) > FACTORS_MAX:
        raise ValueError(f"cell has {len(cell)} factors, more than {FACTORS_MAX}")
    return {str(factor)[:LEVEL_MAX_CHARS]: level_text(level) for factor, level in cell.items()}


def _read_background(value: Any) -> Background | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("background is neither null nor an object")
    k6 = value.get("k6")
    return Background(
        vus=get_count(value, "vus"),
        requests_sent=get_count(value, "requests_sent"),
        requests_failed=get_count(value, "requests_failed"),
        served_by_cache=get_count(value, "served_by_cache"),
        rate_per_min=get_optional_number(value, "rate_per_min"),
        generator_limited=isinstance(k6, dict) and k6.get("generator_limited") is True,
    )
