"""The limits that advice has to keep, as a person writes them."""

import re
from dataclasses import dataclass

SECONDS = {"ms": 0.001, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400}
SHARE = re.compile(r"\s*(\d{1,3}(?:\.\d{1,6})?)\s*%\s*(?:of\s+(?:the\s+)?reads)?\s*")
DURATION = re.compile(r"\s*(\d{1,9}(?:\.\d{1,6})?)\s*(ms|s|min|m|h|d)\s*")
CONFIDENCE = 0.99
OLDEST_MAX_S = 366 * 86_400


class LimitError(Exception):
    """A limit cannot be used; `str(error)` says why and what would do."""


@dataclass(frozen=True)
class Limits:
    """Of each class: at most the share `stale_max` of its reads (0 to 1) may be stale, and none may have been outdated
    for more than `oldest_max_s`; None: no limit. Advice keeps the share in the next log, too, with the chance
    `confidence`; None: in this log."""

    stale_max: float | None
    oldest_max_s: float | None
    confidence: float | None = CONFIDENCE

    def __post_init__(self) -> None:
        """Raise LimitError without any limit."""
        if self.stale_max is None and self.oldest_max_s is None:
            raise LimitError("without a limit a cache would keep everything: give --stale '1%', --max-age 2s, or both")


def share_of(text: str) -> float:
    """`1%`, `0.5 % of reads` → 0 to 1. LimitError if it is no share."""
    match = SHARE.fullmatch(text)
    if match is None or not 0 <= float(match[1]) <= 100:
        raise LimitError(f"--stale is a share such as '1% of reads', not {text[:60]!r}")
    return float(match[1]) / 100


def seconds_of(text: str, option: str, most_s: float = OLDEST_MAX_S) -> float:
    """`500ms`, `2s`, `5 min`, `1d` → seconds. LimitError if it is no duration, or more than `most_s`."""
    match = DURATION.fullmatch(text)
    if match is None:
        raise LimitError(f"{option} is a time such as 500ms, 2s, 5min or 1d, not {text[:60]!r}")
    seconds = float(match[1]) * SECONDS[match[2]]
    if not 0 <= seconds <= most_s:
        raise LimitError(f"{option} is {text.strip()}, and at most {most_s:g} s")
    return seconds
