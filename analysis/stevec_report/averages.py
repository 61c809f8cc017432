"""Averages of measurements that some trials lack: None values are left out; without any value the result is None."""

import statistics
from collections.abc import Iterable


def mean(values: Iterable[float | None]) -> float | None:
    """The arithmetic mean of those of `values` that are not None, or None."""
    there = _there(values)
    return statistics.fmean(there) if there else None


def median(values: Iterable[float | None]) -> float | None:
    """The median of those of `values` that are not None, or None."""
    there = _there(values)
    return statistics.median(there) if there else None


def _there(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
