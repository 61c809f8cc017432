"""Reads the expectations that an experiment states (`expectations` in loadgen/experiments/*.json)."""

import math
from dataclasses import dataclass
from typing import Any

from stevec_report.levels import level_text
from stevec_report.measures import MEASURES

EXPECTATIONS_MAX = 30
Levels = dict[str, tuple[str, ...]]
TEXT_MAX_CHARS = 300
COUNTS = ("at_most", "at_least")
TESTS = ("below", "above", "within")


@dataclass(frozen=True)
class Expectation:
    """One entry of `expectations`. `levels`, `than` are {factor: levels as text}; exactly one of `than`, `value` is
    set. A test compares the measure with `times` the measure of `than`, plus `plus`; "within" allows `plus` to both
    sides."""

    that: str
    measure: str
    levels: Levels
    relation: str
    than: Levels | None = None
    value: float | None = None
    times: float = 1.0
    plus: float = 0.0


def read(experiment: dict[str, Any]) -> list[Expectation]:
    """Return the `Expectation`s of a run's experiment, [] if it states none. ValueError on an invalid one."""
    entries = experiment.get("expectations", [])
    if not isinstance(entries, list) or len(entries) > EXPECTATIONS_MAX:
        raise ValueError(f"expectations is not a list of at most {EXPECTATIONS_MAX}")
    return [_read(entry, f"expectations[{at}]") for at, entry in enumerate(entries)]


def _read(entry: Any, name: str) -> Expectation:
    known = {"that", "measure", "in", "is", "than", "value", "times", "plus"}
    if not isinstance(entry, dict) or entry.keys() - known:
        raise ValueError(f"{name} is not an object of {', '.join(sorted(known))}")
    that, measure, relation = entry.get("that"), entry.get("measure"), entry.get("is")
    if not isinstance(that, str) or not 0 < len(that) <= TEXT_MAX_CHARS:
        raise ValueError(f"{name}.that is not a sentence")
    if measure not in MEASURES:
        raise ValueError(f"{name}.measure is none of {', '.join(MEASURES)}")
    if ("than" in entry) == ("value" in entry):
        raise ValueError(f"{name} needs either than or value")
    if not isinstance(relation, str) or relation not in (TESTS if "than" in entry else COUNTS):
        raise ValueError(f"{name}.is is none of {', '.join(TESTS)} (than), {', '.join(COUNTS)} (value)")
    numbers = {key: entry[key] for key in ("value", "times", "plus") if key in entry}
    for key, number in numbers.items():
        if type(number) not in (int, float) or not math.isfinite(number):
            raise ValueError(f"{name}.{key} is not a number")
    levels = _levels(entry.get("in"), f"{name}.in")
    than = _levels(entry["than"], f"{name}.than") if "than" in entry else None
    several = any(len(names) > 1 for names in (*levels.values(), *(than or {}).values()))
    if than is not None and (levels.keys() != than.keys() or several):
        raise ValueError(f"{name}: in and than name one level each of the same factors")
    if relation == "within" and not numbers.get("plus", 0) > 0:
        raise ValueError(f"{name}: within needs plus, above 0")
    return Expectation(that, measure, levels, relation, than, **numbers)


def _levels(value: Any, name: str) -> Levels:
    if not isinstance(value, dict) or not value:
        raise ValueError(f'{name} is not an object such as {{"policy": "ttl"}}')
    return {
        str(factor): tuple(map(level_text, levels)) if isinstance(levels, list) else (level_text(levels),)
        for factor, levels in value.items()
    }
