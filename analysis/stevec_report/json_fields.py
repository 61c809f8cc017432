"""Reads fields of JSON files, with checks: a wrong field raises a ValueError that names it."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
COUNT_MAX = 10**9
NUMBER_MAX = 1e300
TEXTS_MAX = 20
TEXT_MAX_CHARS = 300


def read_json_object(path: Path, max_bytes: int) -> dict[str, Any]:
    """Return the JSON object in `path`. ValueError if it is too large, not JSON, or not an object."""
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(f"larger than {max_bytes} bytes")
    try:
        value = json.loads(data, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def get(value: dict[str, Any], key: str, kind: type[T]) -> T:
    """Return `value[key]` if it is of exactly type `kind` (true is no integer here); ValueError otherwise."""
    found = value.get(key)
    if type(found) is not kind:
        raise ValueError(f"{key} is missing or not of type {kind.__name__}")
    return found


def get_count(value: dict[str, Any], key: str, maximum: int = COUNT_MAX) -> int:
    """Return the whole number `value[key]`, 0 to `maximum`; ValueError otherwise."""
    number = get(value, key, int)
    if not 0 <= number <= maximum:
        raise ValueError(f"{key} is {number}, not 0 to {maximum}")
    return number


def get_optional_count(value: dict[str, Any], key: str) -> int | None:
    """Return the whole number `value[key]`, or None where it is missing or null."""
    return None if value.get(key) is None else get_count(value, key)


def get_optional_number(value: dict[str, Any], key: str) -> float | None:
    """Return `value[key]` as a float, or None where it is no finite number."""
    number = value.get(key)
    if isinstance(number, bool) or not isinstance(number, int | float) or abs(number) > NUMBER_MAX:
        return None
    return float(number)


def get_time(value: dict[str, Any], key: str) -> datetime:
    """Return the moment `value[key]`, which has a time zone; ValueError otherwise."""
    moment = datetime.fromisoformat(get(value, key, str))
    if moment.tzinfo is None:
        raise ValueError(f"{key} has no time zone")
    return moment


def get_object(value: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the object `value[key]`, or {} where it is missing or something else."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def get_texts(value: dict[str, Any], key: str) -> list[str]:
    """Return the list `value[key]` as texts, shortened; [] where it is missing or something else."""
    found = value.get(key)
    return [str(text)[:TEXT_MAX_CHARS] for text in found[:TEXTS_MAX]] if isinstance(found, list) else []


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
