"""Turns numbers and lists into the words that tables, figures and sentences share."""

import math
import re
from collections.abc import Iterable

from stevec_report.intervals import Interval

NOT_RECORDED = "not recorded"  # what older runs lack
MINUS = "−"
NARROW_SPACE = "\u202f"  # no line breaks at it
SMALLEST_FIXED = 0.0001  # below, a number has an exponent
DECIMALS_MAX = 4
SPREAD_MAX = 1000.0  # largest ÷ smallest of the values of a column that have one number of decimals
_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|kB|MB|GB|h|°C)(?![\w/]))")


def three_digits(value: float | None) -> str:
    """Return `value` with three significant digits and no exponent: 3840, 75.6, 0.842. A dash for None."""
    if value is None:
        return "–"
    if 0 < abs(value) < SMALLEST_FIXED:
        return f"{value:.3g}".replace("-", MINUS, 1 if value < 0 else 0)
    return fixed(value, decimals_for(value, 3))


def fixed(value: float, decimals: int) -> str:
    """Return `value` with `decimals` digits after the point and a real minus sign; `0` for zero."""
    text = "0" if value == 0 else f"{value:.{decimals}f}"
    return text.replace("-", MINUS if text.strip("-0.") else "")


def decimals_for(value: float, digits: int) -> int:
    """How many decimals show `value` with so many significant digits, at most four: 2 for 1.25 and three digits."""
    if value == 0:
        return 0
    magnitude = math.floor(math.log10(abs(value)))
    decimals = digits - 1 - magnitude
    if abs(value) + 0.5 * 10.0**-decimals >= 10.0 ** (magnitude + 1):  # 9.999 is shown as 10.0
        decimals -= 1
    return min(DECIMALS_MAX, max(0, decimals))


def common_decimals(values: Iterable[float]) -> int | None:
    """How many decimals a whole column of `values` has; None where they differ too much for one number of them.

    The largest value keeps three significant digits; the smallest three if the largest then has at most four, else two.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes:
        return None
    if min(sizes) < SMALLEST_FIXED or max(sizes) / min(sizes) > SPREAD_MAX:
        return None
    if all(math.isclose(size, round(size)) for size in sizes):
        return 0
    least = decimals_for(max(sizes), 3)
    wanted = decimals_for(min(sizes), 3)
    return wanted if least <= wanted <= decimals_for(max(sizes), 4) else max(least, decimals_for(min(sizes), 2))


def interval_text(interval: Interval | None, decimals: int | None = None) -> str:
    """Return `75.6 (74.5 … 76.8)`, with `decimals` or those of three digits of the centre; a dash for None.

    A single value and a constant (both bounds are the centre) have no bounds.
    """
    if interval is None:
        return "–"
    if interval.bounds is None or interval.low == interval.high == interval.centre:
        return three_digits(interval.centre) if decimals is None else fixed(interval.centre, decimals)
    if decimals is None and not 0 < abs(interval.centre) < SMALLEST_FIXED:
        decimals = decimals_for(interval.centre or max(map(abs, interval.bounds)), 3)
    centre = three_digits(interval.centre) if decimals is None else fixed(interval.centre, decimals)
    return f"{centre} ({bounds_text(interval, decimals)})"


def bounds_text(interval: Interval, decimals: int | None = None) -> str:
    """Return `74.5 … 76.8`, with `decimals` or three digits each."""
    bounds = (three_digits(bound) if decimals is None else fixed(bound, decimals) for bound in interval.bounds or ())
    return f"{NARROW_SPACE}…{NARROW_SPACE}".join(bounds)


def percent(share: float | None, decimals: int | None = None) -> str:
    """Return a share (0 to 1) as `10 %`, `2.5 %`, with `decimals` or at most three digits; an en dash for None."""
    if share is None:
        return "–"
    return f"{100 * share:.3g} %" if decimals is None else f"{fixed(100 * share, decimals)} %"


def signed_percent(factor: float) -> str:
    """Return a factor as a change: 1.02 is `+2.0 %`."""
    text = f"{100 * (factor - 1):+.1f} %"
    return text.replace("-", MINUS)


def typeset(text: str) -> str:
    """Return `text` with narrow no-break spaces between numbers and units, as in `12 ms`."""
    return _UNIT.sub(NARROW_SPACE, text)


def count_of(number: int, noun: str) -> str:
    """Return `1 trial`, `2 trials`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_or_are(number: int) -> str:
    """Return the verb after a number of things: `is` for one."""
    return "is" if number == 1 else "are"


def part_of(part: int, number: int, noun: str) -> str:
    """Return `1 of 2 trials`."""
    return f"{part} of {count_of(number, noun)}"


def join_words(words: Iterable[str]) -> str:
    """Return `a`, `a and b`, or `a, b and c`."""
    words = list(words)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def grouped(number: float) -> str:
    """Return a whole number, from five digits on with a narrow space between thousands: 9999, 10 000."""
    number = round(number)
    return f"{number:,}".replace(",", NARROW_SPACE) if abs(number) >= 10_000 else str(number)


def p_text(p: float | None) -> str:
    """Return a p value: `0.0078`, `0.62`, `< 0.0001`; a dash for None."""
    if p is None:
        return "–"
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}" if p < 0.995 else "1"


def slug(text: str) -> str:
    """Return `text` as letters, digits and hyphens, fit for an id or a file name."""
    return "-".join(filter(None, re.split(r"[^a-z0-9]+", text.lower())))[:60] or "x"
