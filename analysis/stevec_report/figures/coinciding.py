"""Lines that nearly coincide become one with a note: of several on top of each other only the last is seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NEAR = 0.06  # of the height of the axis: typical distance of noisy lines that count as alike
NAMES_MAX = 4  # labels that one line lists

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Merged:
    """The lines that are alike: their mean, least and greatest values, and the first of them, for its look."""

    first: dict[str, Any]
    label: str
    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    count: int


def merge(lines: Sequence[dict[str, Any]], x: str, y: str, height: float, near: float = NEAR) -> list[Merged]:
    """Return the lines, those that are alike as one.

    Args:
        lines: {"label", x, y, …}; x and y of shape (n,), x rising. height: of the axis, in the unit of y.
        near: the distance up to which lines are alike, as a share of the height.
    """
    groups: list[list[dict[str, Any]]] = []
    for line in lines:
        alike = (group for group in groups if _distance(group[0], line, x, y) <= near * height)
        group = next(alike, None)
        if group is None:
            groups.append([line])
        else:
            group.append(line)
    return [_merged(group, x, y, len(lines)) for group in groups]


def _shared(group: Sequence[dict[str, Any]], x: str) -> Floats:
    """The places of the first line that all lines reach, beside half a step."""
    places = np.asarray(group[0][x], dtype=float)
    half = float(np.diff(places).min()) / 2 if places.size > 1 else 0.0
    begin, end = max(line[x][0] for line in group) - half, min(line[x][-1] for line in group) + half
    return places[(places >= begin) & (places <= end)]


def _distance(one: dict[str, Any], other: dict[str, Any], x: str, y: str) -> float:
    """Root of the mean squared distance of two lines; infinite if they share less than half of the first."""
    if not len(one[x]) or not len(other[x]):
        return float("inf")
    at = _shared([one, other], x)
    if 2 * at.size < len(one[x]):
        return float("inf")
    return float(np.sqrt(np.mean((np.interp(at, one[x], one[y]) - np.interp(at, other[x], other[y])) ** 2)))


def _merged(group: Sequence[dict[str, Any]], x: str, y: str, count: int) -> Merged:
    at = _shared(group, x) if len(group) > 1 else np.asarray(group[0][x], dtype=float)
    values = np.array([np.interp(at, line[x], line[y]) if at.size else [] for line in group])
    return Merged(
        group[0], _label(group, count), at, values.mean(axis=0), values.min(axis=0), values.max(axis=0), len(group)
    )


def _label(group: Sequence[dict[str, Any]], count: int) -> str:
    labels = [str(line["label"]) for line in group]
    if 2 < len(labels) == count:
        return f"all {count} alike: their mean and their range"
    if len(labels) > NAMES_MAX:
        labels = [*labels[: NAMES_MAX - 1], f"{len(labels) - NAMES_MAX + 1} others"]
    return ",\n".join(labels)
