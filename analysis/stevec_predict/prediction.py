"""What is predicted, and the assumptions behind it in words."""

from dataclasses import asdict, dataclass, field
from typing import Any

INDEPENDENT = "reads and edits arrive at random (Poisson) and independently; caches are never full"
ENDLESS = "the caches have been in use for a long time"
COLD_START = "the run begins with empty caches"
COLLAPSING = "the caches collapse requests"
UNCOLLAPSED = "reads that come during a fetch are forwarded too, and the last of them leaves the copy"


@dataclass(frozen=True)
class Prediction:
    """The expected values. Ratios are of reads; `None` where nothing is stale.

    `origin_per_s` are reads that reach the origin; `offload_bytes` counts a 304 as no bytes and any other response as
    a whole page. `binning_error` bounds the error of `hit_ratio` from grouping pages into classes.
    `race_stale_ratio` is to be added where a cache stores a response that was in flight when the purge arrived.
    """

    hit_ratio: float
    offload_requests: float
    offload_bytes: float
    stale_ratio: float
    staleness_p50_s: float | None
    staleness_p95_s: float | None
    reads_per_s: float
    origin_per_s: float
    edits_per_s: float
    purges_per_s: float
    race_stale_ratio: float
    binning_error: float
    seldom_miss_share: float
    model: str
    assumptions: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Return it as an object of plain values."""
        return asdict(self)
