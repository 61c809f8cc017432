"""Doors and levels of factors: as text, and in the order in which every table and figure shows them."""

import json
from collections.abc import Sequence

# As in the study: without a cache first.
DOOR_ORDER = ("source", "nocache", "local", "cached")
LEVEL_MAX_CHARS = 60


def place_in(order: Sequence[str], name: str) -> tuple[int, str]:
    """Sort key that puts names in the given order, then the others by the alphabet."""
    return (order.index(name) if name in order else len(order), name)


def door_sort_key(name: str) -> tuple[int, str]:
    """Sort key that puts doors in `DOOR_ORDER`, then the others by name."""
    return place_in(DOOR_ORDER, name)


def level_text(level: object) -> str:
    """Return a level of a factor as one short text: `source`, `250`, `100–10000` for a range."""
    if isinstance(level, str):
        return level[:LEVEL_MAX_CHARS]
    if isinstance(level, list) and len(level) == 2 and all(isinstance(end, int | float) for end in level):
        return f"{level[0]}–{level[1]}"
    return json.dumps(level, ensure_ascii=False)[:LEVEL_MAX_CHARS]


def level_sort_key(level: object) -> tuple[int, float, str]:
    """Sort key of a level, as a value or as text: numbers by size, then the others by their text."""
    if isinstance(level, int | float | str) and not isinstance(level, bool):
        try:
            return (0, float(level), "")
        except ValueError:
            pass
    return (1, 0.0, str(level))
