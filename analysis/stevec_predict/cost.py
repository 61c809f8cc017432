"""Computes the cost of a million page views by door, from a dated file of prices."""

import json
import math
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from stevec_predict.prediction import Prediction

FILE_MAX_BYTES = 100_000
VIEWS = 1_000_000
GB = 1e9
NAMES = (
    "cdn_requests_per_million",
    "cdn_egress_per_gb",
    "cdn_purge_per_path",
    "origin_to_cdn_per_gb",
    "origin_egress_per_gb",
    "origin_hour",
)
DOORS = ("source", "nocache", "local", "cached")
ORIGIN_PER_S = 500.0  # default capacity of one origin, in requests per second
FOLDER = Path(__file__).resolve().parents[1] / "prices"


class PricesError(Exception):
    """A file of prices cannot be used; `str(error)` says where it is wrong."""


@dataclass(frozen=True)
class Prices:
    """Prices by name (`NAMES`), in `currency`; `examples` are the names of those without a source."""

    file: str
    date: str
    currency: str
    price: dict[str, float]
    examples: tuple[str, ...]


def read_prices(path: str | Path) -> Prices:
    """Read a file such as analysis/prices/2026-11.json. PricesError if it is not one."""
    path = Path(path)
    try:
        data = path.read_bytes()[: FILE_MAX_BYTES + 1]
    except OSError as error:
        raise PricesError(f"{path} cannot be read ({error.strerror})") from error
    try:
        if len(data) > FILE_MAX_BYTES:
            raise ValueError(f"larger than {FILE_MAX_BYTES} bytes")
        value = json.loads(data)
        if not isinstance(value, dict) or not isinstance(value.get("prices"), dict):
            raise ValueError("no object `prices`")
        when = date.fromisoformat(str(value.get("date"))).isoformat()
        currency = value.get("currency")
        if not isinstance(currency, str) or not currency.isalpha() or len(currency) > 8:
            raise ValueError("`currency` is not a word such as USD")
        unknown = sorted(value["prices"].keys() - set(NAMES))
        if unknown:
            raise ValueError(f"prices.{unknown[0]} is not known; there is: {', '.join(NAMES)}")
        price = {name: _price(value["prices"], name) for name in NAMES}
        examples = tuple(name for name in NAMES if value["prices"][name].get("source") is None)
    except (ValueError, RecursionError) as error:
        raise PricesError(f"{path}: {error}. See analysis/prices/2026-11.json for the form.") from error
    return Prices(str(path), when, currency, price, examples)


def newest_prices() -> Prices:
    """Read the newest of the project's price files, by name. PricesError if it is not a valid one."""
    files = sorted(FOLDER.glob("[0-9]*.json"))
    if not files:
        raise PricesError(f"there is no file of prices in {FOLDER}")
    return replace(read_prices(files[-1]), file=f"analysis/prices/{files[-1].name}")


@dataclass(frozen=True)
class Measured:
    """Measured values of a trial, which `cost_per_million_views` accepts instead of a prediction."""

    offload_requests: float
    offload_bytes: float
    reads_per_s: float
    edits_per_s: float
    purges_per_s: float


def cost_per_million_views(
    prediction: Prediction | Measured, prices: Prices, *, page_bytes: float, origin_capacity_per_s: float
) -> dict[str, dict[str, float]]:
    """Return the cost of a million views at each door.

    The doors without a cache send each view to the origin; the two with a cache send the share that `prediction`
    gives. Edits reach the origin at every door, each as one request. An origin hour serves 3600 · capacity
    requests; the cost of an idle origin is not included.

    Args:
        prediction: `Prediction` of a `Scenario`, or a `Measured`, for the doors `local` and `cached`.
        page_bytes: size of one response. origin_capacity_per_s: requests per second that one origin serves.

    Returns:
        {door: {"cdn_requests", "cdn_egress", "cdn_purges", "origin_egress", "origin_hours", "total"}}, in the
        currency of the file.
    """
    price = prices.price
    edits = VIEWS * prediction.edits_per_s / prediction.reads_per_s
    purges = VIEWS * prediction.purges_per_s / prediction.reads_per_s
    gigabytes = VIEWS * page_bytes / GB
    rows = {}
    for door in DOORS:
        cdn, caching = door in ("nocache", "cached"), door in ("local", "cached")
        origin = VIEWS * (1 - prediction.offload_requests if caching else 1) + edits
        egress = gigabytes * (1 - prediction.offload_bytes if caching else 1)
        row = {
            "cdn_requests": (VIEWS + edits) / 1e6 * price["cdn_requests_per_million"] if cdn else 0.0,
            "cdn_egress": gigabytes * price["cdn_egress_per_gb"] if cdn else 0.0,
            "cdn_purges": purges * price["cdn_purge_per_path"] if door == "cached" else 0.0,
            "origin_egress": egress * price["origin_to_cdn_per_gb" if cdn else "origin_egress_per_gb"],
            "origin_hours": origin / origin_capacity_per_s / 3600 * price["origin_hour"],
        }
        rows[door] = row | {"total": math.fsum(row.values())}
    return rows


def _price(prices: dict[str, Any], name: str) -> float:
    entry = prices.get(name)
    if not isinstance(entry, dict):
        raise ValueError(f"prices.{name} is missing")
    price, source = entry.get("price"), entry.get("source")
    if not isinstance(price, int | float) or isinstance(price, bool) or not math.isfinite(price) or price < 0:
        raise ValueError(f"prices.{name}.price is not a number of 0 or more")
    if source is not None and not (isinstance(source, str) and source.startswith(("https://", "http://"))):
        raise ValueError(f"prices.{name}.source is neither an address nor null")
    return float(price)
