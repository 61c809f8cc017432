"""Reconciles Cloudflare's counts for a run (`cloudflare.json` in its folder) with the requests sent and answered.

`stevec cloudflare analytics` writes the file. Our own counts are recomputed from the samples; only the requests of
the cold proofs, which have no samples, come from trial.json.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from stevec_report import wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import Block, Cell, Column, Row, Table, Words, judged_cell
from stevec_report.json_fields import COUNT_MAX, get, get_time, read_json_object
from stevec_report.levels import door_sort_key
from stevec_report.outcomes import MeasuredOutcome

FILE_NAME = "cloudflare.json"
PAST = "source"  # the door that bypasses Cloudflare
FILE_MAX_BYTES = 20_000_000
SCHEMA_VERSION = 1
GROUPS_MAX = 100  # of one trial
STATUS_MAX_CHARS = 30
BYTES_MAX = 10**15


@dataclass
class Tally:
    """Requests and bytes; in our own counts, `bytes` are those of bodies only."""

    requests: int = 0
    bytes: int = 0

    def add(self, requests: int, size_bytes: int) -> None:
        """Add to both counts."""
        self.requests += requests
        self.bytes += size_bytes


@dataclass(frozen=True)
class TrialCount:
    """Cloudflare's counts for one trial. `interval` is the largest sampling interval, None without data so far."""

    number: int
    interval: float | None
    by_status: dict[str, Tally] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        """Requests with any status."""
        return sum(tally.requests for tally in self.by_status.values())

    @property
    def exact(self) -> bool:
        """Whether these are exact counts, not estimates from a sample."""
        return self.interval == 1


def blocks(analysis: Analysis) -> list[Block]:
    """The blocks on Cloudflare's counts; [] for a run that did not go through Cloudflare."""
    if analysis.run.target.get("kind") != "cloudflare" or analysis.run.doors.keys() <= {PAST}:
        return []
    path = analysis.run.path / FILE_NAME
    if not path.is_file():
        return [
            Words(
                "note",
                "Cloudflare's own count of these requests is not in the run's folder: `stevec cloudflare analytics "
                "--zone … --run …` fetches it, some minutes after the run.",
            )
        ]
    try:
        fetched_at, counts = _read(path)
    except (OSError, ValueError) as error:
        text = f"Cloudflare's own count cannot be read ({FILE_NAME}: {error}). Fetch it again."
        return [Words("p", text)]
    ours = {o.number: o for o in analysis.outcomes if isinstance(o, MeasuredOutcome)}
    known = [count for count in counts if count.number in ours]
    if not known:
        return [Words("note", "Cloudflare has counted none of the trials that can be read.")]
    answered = [count for count in known if count.interval is not None]
    words = _words(answered, known, ours, fetched_at)
    return [words, _status_table(analysis, answered, ours), _trial_table(known, ours)] if answered else [words]


def sent_in(outcome: MeasuredOutcome) -> int:
    """Requests of a trial that went to its door: probe, background, cold proof."""
    background = outcome.stats.background
    return outcome.stats.requests + (background.requests if background else 0) + len(outcome.record.proof_statuses)


def _read(path: Path) -> tuple[datetime, list[TrialCount]]:
    """Return (time of fetching, [TrialCount]); ValueError if the file is not from `stevec cloudflare analytics`."""
    value = read_json_object(path, FILE_MAX_BYTES)
    if get(value, "schema_version", int) != SCHEMA_VERSION:
        raise ValueError(f"schema version {value['schema_version']}, and this report reads {SCHEMA_VERSION}")
    fetched_at = get_time(value, "fetched_at")
    counts = [_read_trial(entry) for entry in get(value, "trials", list)]
    if len({count.number for count in counts}) < len(counts):
        raise ValueError("a trial is there twice")
    return fetched_at, counts


def _read_trial(entry: Any) -> TrialCount:
    if not isinstance(entry, dict):
        raise ValueError("trials has an entry that is not an object")
    groups = get(entry, "groups", list)
    if len(groups) > GROUPS_MAX:
        raise ValueError(f"a trial has {len(groups)} groups, more than {GROUPS_MAX}")
    by_status: dict[str, Tally] = {}
    intervals = []
    for group in groups:
        if not isinstance(group, dict):
            raise ValueError("groups has an entry that is not an object")
        status = get(group, "cache_status", str)[:STATUS_MAX_CHARS]
        requests = _number(group, "requests", COUNT_MAX)
        size_bytes = _number(group, "edge_response_bytes", BYTES_MAX)
        intervals.append(_number(group, "sample_interval", COUNT_MAX))
        by_status.setdefault(status, Tally()).add(round(requests), round(size_bytes))
    return TrialCount(get(entry, "trial", int), max(intervals) if intervals else None, by_status)


def _number(value: dict[str, Any], key: str, maximum: float) -> float:
    number = value.get(key)
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number <= maximum:
        raise ValueError(f"{key} is missing or not 0 to {maximum}")
    return number


def _words(
    answered: Sequence[TrialCount], known: Sequence[TrialCount], ours: dict[int, MeasuredOutcome], fetched_at: datetime
) -> Words:
    silent = len(known) - len(answered)
    theirs, sent = sum(c.requests for c in answered), sum(sent_in(ours[c.number]) for c in answered)
    end = max(o.record.finished_at for o in ours.values())
    late_min = (fetched_at - end).total_seconds() / 60
    text = "Cloudflare's own count: "
    if answered:
        text += (
            f"of the {wording.grouped(sent)} requests that {wording.count_of(len(answered), 'trial')} sent through it, "
            f"it has counted {wording.grouped(theirs)}, {_signed(theirs - sent)}. "
        )
    estimates = [count for count in answered if not count.exact]
    if estimates:
        interval = wording.three_digits(max(count.interval for count in estimates if count.interval is not None))
        text += (
            f"It sampled in {wording.count_of(len(estimates), 'trial')} (one of up to {interval} requests stands for "
            "all), so these are estimates, and a difference proves nothing. "
        )
    elif answered:
        text += "It sampled nothing: each request is counted, and a difference is one. "
    if silent:
        text += f"{'Of' if answered else 'of'} {wording.count_of(silent, 'trial')} it said nothing yet. "
    missing = sum(outcome.door != PAST for outcome in ours.values()) - len(known)
    if missing > 0:
        text += f"{wording.count_of(missing, 'trial')} through it are not in {FILE_NAME}. "
    text += (
        f"Fetched {late_min:.0f} minutes after the last trial; its count is complete some minutes after the requests."
    )
    return Words("p", text)


def _status_table(analysis: Analysis, answered: Sequence[TrialCount], ours: dict[int, MeasuredOutcome]) -> Table:
    """Requests and bytes by door and cache status, both sides."""
    doors: dict[str, dict[str, Any]] = {}
    for count in answered:
        outcome = ours[count.number]
        entry = doors.setdefault(outcome.door, {"theirs": {}, "ours": {}, "numbers": [], "intervals": []})
        entry["numbers"].append(count.number)
        entry["intervals"].append(count.interval)
        for status, tally in count.by_status.items():
            entry["theirs"].setdefault(status, Tally()).add(tally.requests, tally.bytes)
        for status in outcome.record.proof_statuses:
            entry["ours"].setdefault(status, Tally()).add(1, 0)
    rows = []
    for door in sorted(doors, key=door_sort_key):
        entry = doors[door]
        for status, requests, size_bytes in _answers(analysis, entry["numbers"]):
            entry["ours"].setdefault(status, Tally()).add(requests, size_bytes)
        interval = max(entry["intervals"])
        statuses = sorted(entry["theirs"].keys() | entry["ours"].keys())
        rows += [_status_row(door, s, entry["theirs"].get(s), entry["ours"].get(s), interval) for s in statuses]
    columns = [
        Column("door", "door", "text", left=True),
        Column("cache_status", "cache status", "text", left=True),
        Column("requests_cloudflare", "Cloudflare", "count", "requests"),
        Column("requests_ours", "ours", "count", "requests"),
        Column("requests_difference", "difference", "text", "requests"),
        Column("bytes_cloudflare", "Cloudflare", "count", "bytes"),
        Column("bytes_ours", "ours, bodies of the load", "count", "bytes"),
        Column("sample_interval", "sampling interval"),
    ]
    note = (
        "Over the trials that Cloudflare has counted, valid or not: requests of probe, background and cold proof. "
        "Ours are by the CF-Cache-Status at the client; “none” had no such header. Cloudflare’s bytes are whole "
        "responses, ours only bodies of the load. With a sampling interval other than 1 its numbers are estimates."
    )
    return Table("cloudflare", "Cloudflare's count beside ours.", note, columns, rows)


def _status_row(door: str, status: str, theirs: Tally | None, ours: Tally | None, interval: float) -> Row:
    theirs, ours = theirs or Tally(), ours or Tally()
    return {
        "door": door,
        "cache_status": status or "none",
        "requests_cloudflare": theirs.requests,
        "requests_ours": ours.requests,
        "requests_difference": _difference(theirs.requests - ours.requests, interval == 1),
        "bytes_cloudflare": theirs.bytes,
        "bytes_ours": ours.bytes,
        "sample_interval": interval,
    }


def _answers(analysis: Analysis, numbers: Iterable[int]) -> list[tuple[Any, ...]]:
    """Rows (cache status, requests, bytes of bodies) of the loads of these trials."""
    files = [analysis.samples.path(n, kind) for n in numbers for kind in ("samples", "background")]
    present = [str(file) for file in files if file.is_file()]
    if not present:
        return []
    return analysis.samples.database.execute(
        "SELECT upper(cache_status), count(*), coalesce(sum(size_bytes), 0) FROM read_parquet(?) GROUP BY 1", [present]
    ).fetchall()


def _trial_table(known: Sequence[TrialCount], ours: dict[int, MeasuredOutcome]) -> Table:
    rows = []
    for count in known:
        outcome = ours[count.number]
        sent = sent_in(outcome)
        silent = count.interval is None
        rows.append(
            {
                "trial": Cell(count.number, trials=(count.number,)),
                "door": outcome.door,
                "state": judged_cell(outcome.valid),
                "requests_cloudflare": None if silent else count.requests,
                "requests_ours": sent,
                "unanswered": outcome.stats.unanswered,
                "requests_difference": None if silent else _difference(count.requests - sent, count.exact),
                "sample_interval": count.interval,
                "means": _meaning(count, count.requests - sent, outcome.stats.unanswered),
            }
        )
    columns = [
        Column("trial", "trial", "text"),
        Column("door", "door", "text", left=True),
        Column("state", "state", "text", left=True),
        Column("requests_cloudflare", "Cloudflare", "count"),
        Column("requests_ours", "ours", "count"),
        Column("unanswered", "of it unanswered", "count"),
        Column("requests_difference", "difference", "text"),
        Column("sample_interval", "sampling interval"),
        Column("means", "which means", "text", left=True),
    ]
    note = "Requests in each trial's time, both ends in whole seconds; no two trials of a run share a second."
    return Table("cloudflare-trials", "Cloudflare's count, by trial.", note, columns, rows)


def _meaning(count: TrialCount, difference: int, unanswered: int) -> str:
    if count.interval is None:
        return "it says nothing yet"
    if not count.exact:
        return "an estimate: proves nothing"
    if difference == 0:
        return "the same"
    if difference > 0:
        return "others asked, too"
    return "what had no answer may not have come there" if unanswered >= -difference else "not all counted yet, or lost"


def _difference(difference: int, exact: bool) -> Cell:
    # The difference of an estimate is marked with ≈, so that it is not read as an exact one.
    return Cell(difference, text=_signed(difference) if exact else f"≈ {_signed(difference)}")


def _signed(difference: int) -> str:
    if difference == 0:
        return "no difference"
    return f"{'+' if difference > 0 else '−'}{wording.grouped(abs(difference))}"
