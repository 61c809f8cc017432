"""Lists threats to the validity of the results, specific to this run where the data allow it."""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from stevec_report import limits
from stevec_report.json_fields import get_object, get_texts
from stevec_report.measured_blocks import is_one_stack
from stevec_report.origin import EMULATED, Origin
from stevec_report.outcomes import MeasuredOutcome, valid_of
from stevec_report.parts import Part
from stevec_report.run_folder import Run
from stevec_report.study_folder import Study
from stevec_report.wording import NOT_RECORDED, count_of, join_words, part_of, three_digits

STOLEN_SHARE_MIN = 0.02  # of all cores; a smaller share is within the normal variation of a trial
Threat = tuple[str, str]  # short name, sentences
ONE_STACK = (
    " All blocks come from one start of the system, which may favour one path in all of them. So a verdict holds for "
    "this run on this machine; a study with the preset sample starts the system anew for each block."
)
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


def list_threats(results: Run | Study, parts: Sequence[Part]) -> list[Threat]:
    """Return [(short name, sentences)] on a run or study and its readable parts, the general ones last."""
    parts = [part for part in parts if part.run]
    threats = [
        ("An emulated origin", EMULATED) if results.origin.emulated else None,
        _describe_zone(results.target) if results.target else _describe_profile(results.profile, results.origin),
        _describe_loopback(parts) if results.origin.kind != "ssh" else None,
        _describe_generator(parts),
        _describe_host(parts),
        _describe_loop(parts),
        _describe_filling(parts),
        _describe_failures(parts),
    ]
    if get_object(results.manifest, "git").get("dirty") is True:
        threats.append(
            (
                "Uncommitted changes",
                "The code that ran differs from its commit, and the run does not record how.",
            )
        )
    threats += [
        (
            "What an interval covers",
            "The 95 % intervals cover what varies between the repetitions of this run. They do not cover another "
            "machine or another day. With few repetitions they assume roughly normal logarithms of trial means.",
        ),
        (
            "What a verdict is of",
            "A verdict is about this system under these settings, without the study's hardware, network and CDN. A "
            "confirmed hypothesis means that the effect was found again, not the study's numbers."
            + (ONE_STACK if is_one_stack(results.manifest) else ""),
        ),
    ]
    return [threat for threat in threats if threat is not None]


def _describe_zone(target: dict[str, Any]) -> Threat:
    return (
        "A zone of a CDN",
        f"The doors are those of {str(target.get('zone'))[:80]}, across the internet: times hold for this client, this "
        "origin and this hour. What else the CDN's machines did meanwhile is not known. Several machines of a point of "
        "presence may answer, and each may request a page from the origin, so theory gives no exact count of requests "
        "at the origin. The law of the counter still holds.",
    )


def _describe_profile(profile: dict[str, Any], origin: Origin) -> Threat:
    name = str(profile.get("name", "none"))[:60]
    missing = get_texts(profile, "missing")
    if name == "none" and origin.kind != "local":
        return (
            "Where origin and client stand",
            "No profile: the origin uses its whole machine, and no link is slowed down.",
        )
    if name == "none":
        return (
            "Where origin and client stand",
            "No profile: the origin has all of this machine. Times without a cache are short, so a cache saves far "
            "less than it saves in front of a small, distant board.",
        )
    text = f"Profile {name}. "
    text += f"Not applied: {' '.join(missing)}" if missing else "All of it was applied."
    return ("Where origin and client stand", text)


def _describe_loopback(parts: Sequence[Part]) -> Threat | None:
    # The door `local` is on the client's machine in every set-up, so its address says nothing about the other doors.
    doors = {
        door.name: None
        for part in parts
        for door in (part.run.doors.values() if part.run else ())
        if door.name != "local" and _is_loopback(door.url)
    }
    if not doors:
        return None
    return (
        "Loopback",
        f"Requests reach {join_words(doors)} over loopback, with no distance, loss or shared link beyond those that "
        "the lab adds. So times are not those of the internet; counts are not affected.",
    )


def _describe_generator(parts: Sequence[Part]) -> Threat:
    limited = limits.count_words([o for part in parts for o in valid_of(part.outcomes)])
    records = [o.record for part in parts for o in part.outcomes if o.record]
    never_sent = sum(record.never_sent for record in records)
    lags = [record.lag for record in records if record.lag is not None]
    shares = [record.generator_cpu_share for record in records if record.generator_cpu_share is not None]
    sentences = [
        "A load generator on the same machine takes processor time from what it measures, most at the fast doors."
    ]
    if shares:
        sentences.append(f"It used up to {100 * max(shares):.0f} % of the processor during a trial.")
    if limited:
        sentences.append(f"{limited}. {limits.CONSEQUENCE}")
    elif all(record.saturation for record in records):
        sentences.append("No trial was limited by it, by the links or by the machine.")
    else:
        sentences.append(
            f"No trial was limited by it. Whether the links or the machine were the limit is {NOT_RECORDED}."
        )
    if never_sent:
        sentences.append(f"It never sent {count_of(never_sent, 'planned request')}, because no VU was free in time.")
    if lags:
        sentences.append(
            "Times of the open model begin at the planned time of a request. In the worst trial, requests were sent "
            f"{_most(lag.p50_ms for lag in lags)} ms (median), {_most(lag.p99_ms for lag in lags)} ms (p99) and "
            f"{_most(lag.max_ms for lag in lags)} ms (maximum) after it."
        )
    return ("The generator", " ".join(sentences))


def _most(values: Iterable[float | None]) -> str:
    return three_digits(max((value for value in values if value is not None), default=None))


def _describe_host(parts: Sequence[Part]) -> Threat | None:
    records = [o.record for part in parts for o in part.outcomes if o.record]
    stolen = [record.stolen_share for record in records if record.stolen_share is not None]
    if not stolen or max(stolen) < STOLEN_SHARE_MIN:
        return None
    many = sum(share >= STOLEN_SHARE_MIN for share in stolen)
    return (
        "A shared host",
        f"This machine is a guest. Its host gave up to {100 * max(stolen):.0f} % of the processor time that it wanted "
        f"to other guests; in {part_of(many, len(stolen), 'trial')} it was {100 * STOLEN_SHARE_MIN:.0f} % or more.",
    )


def _describe_loop(parts: Sequence[Part]) -> Threat | None:
    closed = [
        part.name for part in parts if any(o.record and o.record.setting("model") == "closed" for o in part.outcomes)
    ]
    if not closed:
        return None
    return (
        "Closed loop",
        f"In {join_words(closed)} each client waits for its response before it sends the next request. A slow server "
        "thus gets fewer requests while it is slow, and high percentiles are lower than for independent users "
        "(coordinated omission). The study did the same, so its means and these can be compared.",
    )


def _describe_filling(parts: Sequence[Part]) -> Threat | None:
    trials = [o for part in parts if part.name == "overload" for o in valid_of(part.outcomes) if o.door == "cached"]
    loads = sorted({o.record.number("background_vus") for o in trials})
    if len(loads) < 2:
        return None
    low, high = ([o for o in trials if o.record.number("background_vus") == load] for load in (loads[0], loads[-1]))
    return (
        "A cache that is still filling",
        "Every trial of overload begins with an empty cache. Through the cache, the probe beside few readers thus "
        f"meets a cache that is still filling: it served {_served(low)} of the probe's requests beside {loads[0]:g} "
        f"readers, and {_served(high)} beside {loads[-1]:g}. The less the load, the more of its time is the origin's.",
    )


def _served(trials: Sequence[MeasuredOutcome]) -> str:
    return f"{100 * sum(o.stats.served_by_cache for o in trials) / sum(o.stats.requests for o in trials):.0f} %"


def _describe_failures(parts: Sequence[Part]) -> Threat | None:
    stats = [o.stats for part in parts for o in valid_of(part.outcomes)]
    failed = sum(own.failures for own in stats)
    sent = sum(own.requests for own in stats)
    if not failed:
        return None
    return (
        "Failed requests",
        f"{count_of(failed, 'request')} of {sent} of the probes failed and are in no response time. Where many fail, "
        "the times are those of the requests that succeeded. The tables of failures list them.",
    )


def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in LOOPBACK_HOSTS or host.endswith(".localhost")
