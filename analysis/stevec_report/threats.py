"""Lists threats to the validity of the results, specific to this run where the data allow it."""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from stevec_report import limits
from stevec_report.json_fields import get_object, get_texts
from stevec_report.origin import EMULATED, Origin
from stevec_report.outcomes import valid_of
from stevec_report.parts import Part
from stevec_report.run_folder import Run
from stevec_report.study_folder import Study
from stevec_report.wording import NOT_RECORDED, count_of, join_words, part_of, three_digits

STOLEN_SHARE_MIN = 0.02  # of all cores; a smaller share is within the normal variation of a trial
Threat = tuple[str, str]  # short name, sentences
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
        _describe_failures(parts),
    ]
    if get_object(results.manifest, "git").get("dirty") is True:
        threats.append(
            (
                "Uncommitted changes",
                "The code that ran differs from the commit named below, and nothing here says how.",
            )
        )
    threats += [
        (
            "What an interval covers",
            "The 95 % intervals cover what varied between the repetitions of this run, on this machine, in "
            "this hour. They say nothing about another machine, and with few repetitions they rest on the "
            "logarithms of the trial means being roughly normal.",
        ),
        (
            "What a verdict is of",
            "A verdict is on this system under these settings. The study's hardware, network and CDN of 2016 are not "
            "here: a confirmed hypothesis means that the effect is found again, not that the study's numbers are.",
        ),
    ]
    return [threat for threat in threats if threat is not None]


def _describe_zone(target: dict[str, Any]) -> Threat:
    return (
        "A zone of a CDN",
        f"The doors are those of {str(target.get('zone'))[:80]}, and between them and the client is the internet: "
        "times hold for this client, this origin and this hour. What else the CDN's machines and the origin did "
        "meanwhile is not known. Several machines of a point of presence may answer, and each may ask the origin for "
        "itself, so how often the origin is asked through a cache is at least once a page, and no exact number; the "
        "law of the counter holds all the same.",
    )


def _describe_profile(profile: dict[str, Any], origin: Origin) -> Threat:
    name = str(profile.get("name", "none"))[:60]
    missing = get_texts(profile, "missing")
    if name == "none" and origin.kind != "local":
        return (
            "Where origin and client stand",
            "No profile: the origin has all of its own machine, and the links to it are as they are.",
        )
    if name == "none":
        return (
            "Where origin and client stand",
            "No profile: the origin has all of this machine. Times without a cache are short, and what a cache "
            "saves is little beside what it saves on a small board far away.",
        )
    text = f"Profile {name}. "
    text += f"Asked for and not done: {' '.join(missing)}" if missing else "All of it could be applied."
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
        f"The way to {join_words(doors)} is the loopback of one machine. It has no distance, no loss and no "
        "shared link beyond what the lab adds on purpose, so milliseconds are not those of the internet. "
        "Counts are not affected.",
    )


def _describe_generator(parts: Sequence[Part]) -> Threat:
    limited = limits.count_words([o for part in parts for o in valid_of(part.outcomes)])
    records = [o.record for part in parts for o in part.outcomes if o.record]
    never_sent = sum(record.never_sent for record in records)
    lags = [record.lag for record in records if record.lag is not None]
    shares = [record.generator_cpu_share for record in records if record.generator_cpu_share is not None]
    sentences = [
        "Where the load generator runs on the same machine, it takes processor time from what it measures, "
        "most of all at the fast doors."
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
        sentences.append(f"It never sent {count_of(never_sent, 'planned request')}, as no requester was free in time.")
    if lags:
        sentences.append(
            "Times of the open model count from the moment at which a request was planned. The time from the plan to "
            f"the sending was in a trial up to {_most(lag.p50_ms for lag in lags)} ms in the median, "
            f"{_most(lag.p99_ms for lag in lags)} ms in the 99th percentile, and {_most(lag.max_ms for lag in lags)} "
            "ms at most."
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
        f"This machine is a guest, and its host gave up to {100 * max(stolen):.0f} % of the processor time that was "
        f"wanted here to others; in {part_of(many, len(stolen), 'trial')} it was "
        f"{100 * STOLEN_SHARE_MIN:.0f} % or more. Those waited for something that the experiment does not vary.",
    )


def _describe_loop(parts: Sequence[Part]) -> Threat | None:
    closed = [
        part.name for part in parts if any(o.record and o.record.setting("model") == "closed" for o in part.outcomes)
    ]
    if not closed:
        return None
    return (
        "Closed loop",
        f"In {join_words(closed)} each requester waited for its answer before sending the next request. A slow "
        "server is therefore asked less often while it is slow, and the high percentiles show less of the trouble "
        "than users who arrive on their own would meet (coordinated omission). The study did the same: its means "
        "and these compare.",
    )


def _describe_failures(parts: Sequence[Part]) -> Threat | None:
    stats = [o.stats for part in parts for o in valid_of(part.outcomes)]
    failed = sum(own.failures for own in stats)
    sent = sum(own.requests for own in stats)
    if not failed:
        return None
    return (
        "Failed requests",
        f"{count_of(failed, 'request')} of {sent} of the probes failed and are in no response time; where many fail "
        "the times are those of the lucky ones. The error budgets say which.",
    )


def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in LOOPBACK_HOSTS or host.endswith(".localhost")
