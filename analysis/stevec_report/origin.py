"""The wiki's machine, from manifest.json, and its resource use in a trial, from origin.csv.gz."""

import csv
import gzip
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stevec_report.blocks import Words
from stevec_report.json_fields import get_object

HEADER = ["time_us", "cpu_ratio", "memory_used_bytes", "temperature_c", "received_bytes", "sent_bytes"]
ROWS_MAX = 100_000  # more than a day, once a second
LINE_MAX_CHARS = 500
TIME_MAX_US = 10**16
VALUE_MAX = 1e15

EMULATED = (
    "The processor of the origin is a program, in which some instructions cost relatively more than on a real one. "
    "Counts, cache statuses and hit ratios are valid. Response times and rates of the origin say nothing of a real "
    "board, so this report leaves out all that would claim a capacity."
)


@dataclass(frozen=True)
class Origin:
    """`kind` is local, board or ssh; `facts` has the manifest's other fields, {} for an older run without them."""

    kind: str
    emulated: bool
    facts: dict


@dataclass(frozen=True)
class OriginSamples:
    """Resource use of the origin per second of a trial; all lists are as long as `times_us` (microseconds since 1970).

    `cpu` is the busy share of all its processors (0 to 1), `memory` in bytes, `temperature` in °C, `received` and
    `sent` bytes in that second. None where a value is not available.
    """

    times_us: list[int]
    cpu: list[float | None]
    memory: list[float | None]
    temperature: list[float | None]
    received: list[float | None]
    sent: list[float | None]


def read_origin(manifest: dict[str, Any]) -> Origin:
    """Return the `Origin` of a run's or study's manifest."""
    facts = get_object(manifest, "origin")
    kind = facts.get("kind")
    return Origin(kind if kind in ("local", "board", "ssh") else "local", facts.get("emulated") is True, facts)


def read_samples(path: Path) -> OriginSamples | None:
    """Return the `OriginSamples` in the file `path`, or None if there is no such file.

    ValueError if it is damaged, too long, or no table of samples; its text goes behind the file's name.
    """
    if not path.is_file():
        return None
    rows: list[list[float | None]] = []
    try:
        with gzip.open(path, "rt", encoding="ascii", newline="") as file:
            if file.readline(LINE_MAX_CHARS).rstrip("\r\n").split(",") != HEADER:
                raise ValueError("has another header")
            while line := file.readline(LINE_MAX_CHARS):
                if len(rows) == ROWS_MAX:
                    raise ValueError(f"has more than {ROWS_MAX} rows")
                rows.append(_read_row(line))
    except (EOFError, gzip.BadGzipFile, zlib.error, OSError, UnicodeDecodeError) as error:
        raise ValueError("is cut off or damaged") from error
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in HEADER]
    return OriginSamples(*columns)


def without_capacity(what: str) -> Words:
    """The note that replaces a result on capacity where the origin was emulated. `what` starts the sentence."""
    return Words("note", f"{what} would claim what the origin can take. It was emulated, so there is none here.")


def _read_row(line: str) -> list[float | None]:
    fields = next(csv.reader([line]), [])
    if len(fields) != len(HEADER) or not fields[0].isdecimal() or int(fields[0]) > TIME_MAX_US:
        raise ValueError("has a row that is no sample")
    return [int(fields[0]), *(_number(field) for field in fields[1:])]


def _number(field: str) -> float | None:
    if field == "":
        return None
    value = float(field)
    if not math.isfinite(value) or abs(value) > VALUE_MAX:
        raise ValueError("has a value that is no measurement")
    return value
