"""Measures a cache's offload in one trial, in reads and in bytes. Edits reach the origin under every policy."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

from stevec_report.analysis import Analysis
from stevec_report.outcomes import MeasuredOutcome

READS = ("GET", "HEAD")


@dataclass(frozen=True)
class Offload:
    """Shares of the reads: answered by a cache (`hit_ratio`), kept from the origin in requests, and in bytes of bodies.

    `requests` is below `hit_ratio` by the requests that the edge sent on its own. `bytes` is None if the origin's log
    does not have them. `read_bytes` is the mean size of a read's body.
    """

    hit_ratio: float
    requests: float
    bytes: float | None
    read_bytes: float


def measure_offload(analysis: Analysis, outcome: MeasuredOutcome) -> Offload | None:
    """Return the `Offload` of a valid trial without a background, or None if the trial has no reads."""
    stats = outcome.stats
    hit_ratio, offload = stats.hit_ratio, outcome.offload
    if stats.background is not None or hit_ratio is None or offload is None:
        return None
    ((client_bytes,),) = analysis.samples.query(
        "SELECT coalesce(sum(size_bytes) FILTER (is_read AND answered), 0) FROM {samples}", [outcome.number]
    )
    compact = outcome.record.compact
    origin_bytes = (
        compact.origin_read_bytes if compact else bytes_of_reads(analysis.run.path / outcome.folder / "origin.log.gz")
    )
    return Offload(
        hit_ratio=hit_ratio,
        requests=offload,
        bytes=1 - origin_bytes / client_bytes if client_bytes and origin_bytes is not None else None,
        read_bytes=client_bytes / stats.reads,
    )


def bytes_of_reads(log: Path) -> int | None:
    """Bytes of bodies that the nginx in front of the wiki sent for reads; None if a line of its log lacks the size."""
    total = 0
    try:
        with gzip.open(log, "rb") as lines:
            for line in lines:
                entry = json.loads(line)
                if entry["method"] in READS:
                    total += int(entry["sent_bytes"])
    except (OSError, EOFError, ValueError, TypeError, KeyError):
        return None
    return total
