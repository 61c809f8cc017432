"""Finds the trials whose requests queued in front of the door: in the generator or in the links.

The time between the client and the door has a floor, and a queue is what exceeds it. What the floor depends on (new
connections or not, reads or writes, sizes, the door) is in the settings, so it is taken from trials that differ in
their load alone.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from stevec_report.door_times import INSTRUMENT_SHARE_MAX, DoorTime
from stevec_report.json_fields import get_object
from stevec_report.outcomes import MeasuredOutcome

# How many requests there are, and when. They change how long requests queue, and not what one takes that is alone.
LOAD_SETTINGS = frozenset(
    {
        *("vus", "background_vus", "pause_s", "rate_per_s", "arrivals", "burst"),
        *("requests", "pages", "duration_max_s", "bound"),
    }
)
FLOOR_FACTOR = 2.0  # between client and door: beyond this multiple of the floor, requests queue


def judge_queues(trials: Iterable[MeasuredOutcome], profile: dict[str, Any]) -> dict[int, bool]:
    """Return {number: whether requests queued in front of the door} of those of the valid `trials` that can tell.

    Those of a single client can, as it never queues behind itself. Others need the log of their door and a lighter load
    beside them. They cannot tell where the profile limits an uplink: the uplink is measured, and requests wait for it.

    Args:
        profile: of the manifest.
    """
    found: dict[int, bool] = {}
    groups: dict[tuple[int, str], list[tuple[MeasuredOutcome, DoorTime]]] = {}
    for trial in trials:
        if not _has_several_at_once(trial):
            found[trial.number] = False
        if trial.stats.door_time is not None:
            key = (trial.conditions.number, _key(trial, of_load=False))  # another machine has another floor
            groups.setdefault(key, []).append((trial, trial.stats.door_time))
    if _limits_an_uplink(profile):
        return found
    for group in groups.values():
        found = _judge_group(group) | found
    return found


def _judge_group(group: Sequence[tuple[MeasuredOutcome, DoorTime]]) -> dict[int, bool]:
    if len({_key(trial, of_load=True) for trial, _ in group}) == 1:
        return {}  # without a lighter load, the least time may be of a queue too
    floor_ms = max(0.0, min(time.between_ms for _, time in group))
    return {trial.number: _is_queued(time, floor_ms) for trial, time in group}


def _is_queued(time: DoorTime, floor_ms: float) -> bool:
    queue_ms = time.between_ms - floor_ms
    return time.between_ms > FLOOR_FACTOR * floor_ms and queue_ms > INSTRUMENT_SHARE_MAX * time.client_ms


def _has_several_at_once(trial: MeasuredOutcome) -> bool:
    """Whether several requests may be under way at once."""
    record = trial.record
    return record.setting("model") == "open" or record.number("vus") + record.number("background_vus") > 1


def _key(trial: MeasuredOutcome, *, of_load: bool) -> str:
    """The settings that make the load, or all others, as JSON."""
    found = {name: value for name, value in trial.record.settings.items() if (name in LOAD_SETTINGS) == of_load}
    return json.dumps(found, sort_keys=True)


def _limits_an_uplink(profile: dict[str, Any]) -> bool:
    """`uplink_mbit_per_s` in older runs, else `origin_uplink_mbit_per_s` and `client_uplink_mbit_per_s`."""
    links = get_object(get_object(profile, "asked"), "links")
    return any("uplink" in name and value is not None for name, value in links.items())
