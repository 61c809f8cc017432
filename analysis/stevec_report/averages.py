"""Averages of measurements that some trials lack: None values are left out; without any value the result is None."""

import statistics


def mean(values):
    """The arithmetic mean of those of `values` that are not None, or None."""
    there = _there(values)
    return statistics.fmean(there) if there else None


def median(values):
    """The median of those of `values` that are not None, or None."""
    there = _there(values)
    return statistics.median(there) if there else None


def _there(values):
    return [value for value in values if value is not None]
