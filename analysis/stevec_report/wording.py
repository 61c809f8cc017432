"""Turns numbers and lists into the words that tables, figures and sentences share."""

import re
from collections.abc import Iterable

from stevec_report.intervals import Interval

NOT_RECORDED = "not recorded"  # what older runs lack


def three_digits(value: float | None) -> str:
    """Return `value` with three significant digits and no exponent: 3840, 75.6, 0.842. A dash for None."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    magnitude = abs(value)
    for limit, decimals in ((99.95, 0), (9.995, 1), (0.9995, 2), (0.09995, 3)):
        if magnitude >= limit:
            return f"{value:.{decimals}f}"
    return f"{value:.3g}" if magnitude < 0.0001 else f"{value:.4f}"


def interval_text(interval: Interval | None) -> str:
    """Return `75.6 (74.5 to 76.8)`; without the bounds for a single value, a dash for None."""
    if interval is None:
        return "–"
    if interval.low is None:
        return three_digits(interval.centre)
    return f"{three_digits(interval.centre)} ({bounds_text(interval)})"


def bounds_text(interval: Interval) -> str:
    """Return `74.5 to 76.8`."""
    return f"{three_digits(interval.low)} to {three_digits(interval.high)}"


def percent(share: float | None) -> str:
    """Return a share (0 to 1) as `10 %`, `2.5 %`; an en dash for None."""
    return "–" if share is None else f"{100 * share:.3g} %"


def signed_percent(factor: float) -> str:
    """Return a factor as a change: 1.02 is `+2.0 %`."""
    text = f"{100 * (factor - 1):+.1f} %"
    return text.replace("-", "−")


def count_of(number: int, noun: str) -> str:
    """Return `1 trial`, `2 trials`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


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
    return f"{number:,}".replace(",", "\u202f") if abs(number) >= 10_000 else str(number)


def p_text(p: float | None) -> str:
    """Return a p value: `0.0078`, `0.62`, `< 0.0001`; a dash for None."""
    if p is None:
        return "–"
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}" if p < 0.995 else "1"


def slug(text: str) -> str:
    """Return `text` as letters, digits and hyphens, fit for an id or a file name."""
    return "-".join(filter(None, re.split(r"[^a-z0-9]+", text.lower())))[:60] or "x"
