"""Made-up sites, to see whether advice from the first half of their log holds in the second.

They differ in what `stevec advise` does not know: how popularity and edits are spread, when people come, and whether
edits come alone. No constant of the advice was chosen by them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stevec_advise.classes import UrlClass
from stevec_advise.limits import Limits
from stevec_advise.log import SPAN_MS, ClassLog

DAY_MS = 86_400_000
WORKLOADS = 20


@dataclass(frozen=True)
class Workload:
    """A made-up site: the requests of `span_ms` milliseconds, and the limits wanted of it."""

    name: str
    log: ClassLog
    span_ms: int
    limits: Limits


def workloads(seed: int, count: int = WORKLOADS, longer: int = 1) -> Iterator[Workload]:
    """`count` sites, drawn at random. The same seed gives the same sites. `longer`: their logs are so many times as
    long."""
    for number in range(count):
        yield _workload(np.random.default_rng([seed, number]), number, longer)


def _workload(random: np.random.Generator, number: int, longer: int) -> Workload:
    urls = int(10 ** random.uniform(1.5, 4.5))
    days = float(random.choice([2, 4, 8])) * longer
    span_ms = round(days * DAY_MS)
    reads = int(random.uniform(400_000, 1_200_000)) * longer
    edits = int(random.uniform(20_000, 80_000)) * longer
    reads_zipf, edits_zipf = random.uniform(0.5, 1.1), random.uniform(0.0, 0.9)
    rhythm = str(random.choice(["steady", "by day", "in waves"]))
    writing = str(random.choice(["alone", "in sessions", "on the hour"]))
    alike = bool(random.integers(2))
    ranks = np.arange(1, urls + 1)
    read_share = ranks**-reads_zipf
    edit_share = ranks**-edits_zipf if alike else random.permutation(ranks) ** -edits_zipf
    read_url = random.choice(urls, reads, p=read_share / read_share.sum())
    read_ms = _times(random, reads, span_ms, rhythm)
    edit_url, edit_ms = _edits(random, edits, span_ms, writing, edit_share / edit_share.sum())
    stale_max = float(random.choice([0.005, 0.01, 0.02, 0.05]))
    oldest_max_s = float(random.choice([2, 10, 60])) if random.integers(4) == 0 else None
    name = (
        f"{urls} URLs, {days:g} days, {reads} reads (Zipf {reads_zipf:.2f}) {rhythm}, {len(edit_url)} edits "
        f"(Zipf {edits_zipf:.2f}{'' if alike else ', of other pages'}) {writing}"
    )
    log = ClassLog(
        url_class=UrlClass(f"site-{number}", "^/"),
        reads=np.sort(read_url * SPAN_MS + read_ms),
        path=np.arange(urls),
        edits=np.sort(edit_url * SPAN_MS + edit_ms),
    )
    return Workload(name, log, span_ms, Limits(stale_max, oldest_max_s))


def _times(random: np.random.Generator, count: int, span_ms: int, rhythm: str) -> np.ndarray:
    times_ms = random.uniform(0, span_ms, count)
    if rhythm == "by day":  # four times as many at noon as at midnight
        minutes = np.arange(0, span_ms, 60_000)
        weight = 0.625 - 0.375 * np.cos(2 * np.pi * minutes / DAY_MS)
        times_ms = random.choice(minutes, count, p=weight / weight.sum()) + random.uniform(0, 60_000, count)
    elif rhythm == "in waves":  # minutes differ: a Gamma-Poisson mixture
        count_of_minutes = span_ms // 60_000
        weight = random.gamma(0.5, 1, count_of_minutes)
        times_ms = (
            random.choice(count_of_minutes, count, p=weight / weight.sum()) + random.uniform(0, 1, count)
        ) * 60_000
    return np.minimum(times_ms.astype(np.int64), span_ms - 1)


def _edits(
    random: np.random.Generator, count: int, span_ms: int, writing: str, share: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    urls = len(share)
    if writing == "in sessions":  # four edits of a page within ten minutes
        sessions = count // 4
        url = np.repeat(random.choice(urls, sessions, p=share), 4)
        begin_ms = np.repeat(random.uniform(0, span_ms, sessions), 4)
        return url, np.minimum((begin_ms + random.uniform(0, 600_000, len(url))).astype(np.int64), span_ms - 1)
    url = random.choice(urls, count, p=share)
    if writing == "on the hour":  # half of them by machines
        times_ms = random.uniform(0, span_ms, count)
        machine = random.uniform(0, 1, count) < 0.5
        times_ms[machine] = times_ms[machine] // 3_600_000 * 3_600_000 + random.uniform(0, 5_000, int(machine.sum()))
        return url, np.minimum(times_ms.astype(np.int64), span_ms - 1)
    return url, random.integers(0, span_ms, count)
