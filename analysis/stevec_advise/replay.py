"""The sample of a log that `stevec advise --replay` plays through an edge, and what the model says of that sample."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from stevec_advise.advice import ClassAdvice
from stevec_advise.limits import LimitError, seconds_of
from stevec_advise.log import SPAN_MS, ClassLog
from stevec_advise.outcome import outcome_of
from stevec_advise.setting import Setting

USUAL = "30s"
LEAST_S, MOST_S = 1, 600
# On average over the window: one busy second may have more.
REQUESTS_PER_S = 200
# Of the family bounded: the purge log says an edit after that part of the bound: what is left is for its leases.
LOG_DELAY_SHARE = 0.2
PLAN, SCHEDULE = "plan.json", "schedule.jsonl"


@dataclass(frozen=True)
class Sample:
    """Requests of a window of a log, of some of its paths. Times count from the window's begin.

    Attributes:
        begin_ms, span_ms: the window.
        classes: for each class of the advice, in that order; some have no reads.
        reads_in_window, paths_in_window: of all paths. paths: those chosen, of `paths_in_window`.
    """

    begin_ms: int
    span_ms: int
    classes: list[ClassLog]
    reads_in_window: int
    paths_in_window: int
    paths: int


def window_s_of(text: str) -> float:
    """The length of the window from the option's text. LimitError for less than 1 s or more than 10 min."""
    window_s = seconds_of(text, "--replay", MOST_S)
    if window_s < LEAST_S:
        raise LimitError(f"--replay is {text.strip()}, and at least {LEAST_S} s")
    return window_s


def sample_of(classes: Sequence[ClassLog], span_ms: int, window_s: float, per_s: float = REQUESTS_PER_S) -> Sample:
    """The window of `window_s` seconds with most reads; in it all requests of paths that a hash chooses.

    Paths are taken in the order of their hash while there are at most `per_s` requests a second. Those at the front
    that have more alone are left out. LimitError if all have.
    """
    window_ms = min(round(window_s * 1000), span_ms)
    times_ms = np.sort(np.concatenate([one.time_ms for one in classes]))
    counts = np.searchsorted(times_ms, times_ms + window_ms) - np.arange(len(times_ms))
    begin_ms = min(int(times_ms[np.argmax(counts)]), span_ms - window_ms)
    within = [one.between(begin_ms, begin_ms + window_ms) for one in classes]
    requests = [_requests_by_path(one) for one in within]
    ranked = sorted(
        (_hash(number, path), number, path)
        for number, counted in enumerate(requests)
        for path in np.unique(within[number].path[within[number].url]).tolist()
        if counted[path]
    )
    chosen: list[list[int]] = [[] for _ in classes]
    left = per_s * window_ms / 1000
    for _, number, path in ranked:
        if requests[number][path] > left:
            if any(chosen):
                break
            continue
        left -= requests[number][path]
        chosen[number].append(path)
    if not any(chosen):
        raise LimitError(f"--replay plays at most {per_s:g} requests a second, and each page has more")
    return Sample(
        begin_ms=begin_ms,
        span_ms=window_ms,
        classes=[_of_paths(one, paths) for one, paths in zip(within, chosen, strict=True)],
        reads_in_window=sum(len(one.reads) for one in within),
        paths_in_window=len(ranked),
        paths=sum(map(len, chosen)),
    )


def write_replay(
    folder: str, advice: Sequence[ClassAdvice], span_ms: int, window_s: float, cache: str = "stevec"
) -> None:
    """Write the sample's plan (one JSON object) and schedule (a line of JSON for each request, in the order of time)
    into `folder`, under the advice for `cache`. LimitError as `sample_of`, OSError if the folder cannot be written."""
    sample = sample_of([one.log for one in advice], span_ms, window_s)
    settings = [_played(one.chosen[cache].setting) for one in advice]
    plan = {
        "begin_s": sample.begin_ms / 1000,
        "window_s": sample.span_ms / 1000,
        "reads_in_window": sample.reads_in_window,
        "pages_in_window": sample.paths_in_window,
        "pages": sample.paths,
        "requests_per_s_max": REQUESTS_PER_S,
        "classes": [
            _class_json(log, setting, one.chosen[cache].setting.words, sample.span_ms)
            for one, log, setting in zip(advice, sample.classes, settings, strict=True)
        ],
    }
    Path(folder, PLAN).write_text(json.dumps(plan))
    with Path(folder, SCHEDULE).open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows_of(sample))


def rows_of(sample: Sample) -> Iterator[dict[str, int]]:
    """The requests in the order of time, an edit before a read of the same millisecond, as in the model. `class` is the
    place of the class, `page` that of the path in it, `url` that of the URL; an edit has none."""
    rows = []
    for number, log in enumerate(sample.classes):
        for place, time_ms in zip(log.url.tolist(), log.time_ms.tolist(), strict=True):
            rows.append((time_ms, 1, number, int(log.path[place]), place))
        rows += [(edit % SPAN_MS, 0, number, edit // SPAN_MS, 0) for edit in log.edits.tolist()]
    for time_ms, is_read, number, path, url in sorted(rows):
        row = {"at_ms": time_ms, "class": number, "page": path}
        yield row | {"url": url} if is_read else row


def _played(setting: Setting) -> Setting:
    """The setting as it is played: a bound is longer than its purges need."""
    if setting.family != "bounded" or setting.purge_delay_s is None:
        return setting
    return replace(setting, purge_delay_s=setting.purge_delay_s * LOG_DELAY_SHARE)


def _class_json(log: ClassLog, setting: Setting, words: str, span_ms: int) -> dict[str, Any]:
    model = {"fetches": 0, "stale": 0, "oldest_s": 0.0}
    if len(log.reads):
        outcome = outcome_of(log, setting, span_ms)
        model = {
            "fetches": int(outcome.fetches.sum()),
            "stale": int(outcome.stale.sum()),
            "oldest_s": outcome.oldest_ms / 1000,
        }
    return {
        "name": log.url_class.name,
        "setting": words,
        "family": setting.family,
        "lifetime_s": setting.lifetime_s,
        "window_s": setting.window_s,
        "purge_delay_s": setting.purge_delay_s,
        "reads": len(log.reads),
        "edits": len(log.edits),
        "model": model,
    }


def _requests_by_path(log: ClassLog) -> np.ndarray:
    """Reads and edits of each path. Shape (paths,)."""
    paths = int(log.path.max()) + 1
    return np.bincount(log.path[log.url], minlength=paths) + np.bincount(log.edits // SPAN_MS, minlength=paths)


def _of_paths(log: ClassLog, paths: list[int]) -> ClassLog:
    return replace(
        log,
        reads=log.reads[np.isin(log.path[log.url], paths)],
        edits=log.edits[np.isin(log.edits // SPAN_MS, paths)],
    )


def _hash(number: int, path: int) -> bytes:
    """Places stand for names: a path has one for the whole log."""
    return blake2b(f"{number} {path}".encode(), digest_size=8).digest()
