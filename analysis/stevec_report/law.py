"""The law of the counter.

A cache answers a request alone, or the request reaches the wiki and is counted there. So for every trial, including
its background load,

    requests sent − requests that a cache served + the edge's own = counter        exactly.

The edge sends requests on its own only under stale-while-revalidate (RFC 5861), to renew a copy that it has just used.
Their number and the counter are taken from trial.json, because they come from the edge's log and from the wiki and are
in no sample. All other terms are recomputed from the samples and from the plans in manifest.json. Then trial.json's
own counts are compared with ours, so that an error in either is found.

If the origin was killed, or parted from the edge (`fault`), failed requests are left out: each never left the cache, or
was in flight. Only the wiki knows which of those in flight it counted. So

    answered ≤ counter ≤ answered + cut off + refreshes,    answered = sent − served by a cache − failed,

because it is not recorded which of the edge's own requests reached an origin.

Where a record service was stopped (`record_stop`), its counter ended with it: its last reading is at most what was
sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from stevec_report.run_folder import Plan, Run
from stevec_report.trial_fault import Fault
from stevec_report.trial_record import TrialRecord
from stevec_report.trial_stats import TrialStats
from stevec_report.wording import count_of

COLLAPSE_PATIENCE_MS = 5000  # a request that waits this long for another request's fetch is then sent on itself
PURGED = ("purge-url", "purge-tag", "bounded")  # policies for CDNs only, with a lifetime longer than any trial


@dataclass(frozen=True)
class LawCheck:
    """The law over all trials of a run. `failures` is {trial number: sentences with numbers}."""

    trials: int
    held: tuple[int, ...]
    failures: dict[int, list[str]]
    unchecked: tuple[int, ...]

    @property
    def holds(self) -> bool:
        """Whether every planned trial was checked and keeps the law."""
        return len(self.held) == self.trials


def check_law(run: Run, stats: Mapping[int, TrialStats]) -> LawCheck:
    """Check every trial of `run` against `stats` ({trial number: TrialStats}); return `LawCheck`.

    A trial whose trial.json or samples cannot be read is `unchecked`; it does not count as held.
    """
    held, failures, unchecked = [], {}, []
    for trial in run.trials:
        if trial.record is None or trial.number not in stats:
            unchecked.append(trial.number)
            continue
        plan = run.plans[trial.record.plan]
        caching = run.doors[trial.record.door].caching
        found = check_trial(trial.record, stats[trial.number], plan, caching)
        if found:
            failures[trial.number] = found
        else:
            held.append(trial.number)
    return LawCheck(len(run.trials), tuple(held), failures, tuple(unchecked))


def check_witness(record: TrialRecord, stats: TrialStats | None) -> list[str]:
    """Compare the counter with the log of the nginx in front of the origin; return a sentence for each difference.

    A difference does not break the law. It means that one of the two counts is wrong, or that the log was split into
    trials at the wrong place, so the trial is not to be trusted. A request that the client gave up may be in the log
    but not in the counter: a trial with such requests is not checked. A killed nginx may lack lines: there are bounds.
    """
    lines = record.log_lines.get("origin")
    if record.fault is not None and record.fault.kind == "origin-down" and lines is not None:
        least = record.counter_requests - stats.cut_off if stats else 0
        if least <= lines <= record.counter_requests:
            return []
        return [f"{count_of(lines, 'line')} in the origin's log, but the counter says {record.counter_requests}"]
    if lines in (None, record.counter_requests) or _unanswered(stats):
        return []
    return [f"{count_of(lines, 'line')} in the origin's log, but the counter says {record.counter_requests}"]


def check_trial(record: TrialRecord, stats: TrialStats, plan: Plan, caching: bool) -> list[str]:
    """Return a sentence for each way in which one trial breaks the law; [] if it keeps the law."""
    return [
        *_check_balance(record, stats, caching),
        *_check_plan(record, stats, plan),
        *_check_expected(record, stats, caching),
        *_check_own_counts(record, stats),
    ]


def exact_expectation(record: TrialRecord, stats: TrialStats, caching: bool) -> int | None:
    """The exact counter that theory predicts for the trial, or None where theory gives no exact number.

    Without a cache, or where the cache may store nothing, every request is counted. With a cache, each distinct page is
    counted once if the trial only reads, nothing failed, nothing expired before its end, and no fetch took so long that
    requests waiting for it were sent on themselves. There is no prediction for a trial with a background, because its
    pages may differ from the probe's.
    """
    if stats.background is not None or stats.failures or record.fault is not None or record.never_sent:
        return None
    if not caching:
        return stats.requests
    policy = record.setting("policy", "ttl")
    patient = (stats.service_max_ms or 0) < COLLAPSE_PATIENCE_MS
    if policy in ("revalidate", "no-store") or (policy in PURGED and record.door != "cached"):
        return stats.requests
    if record.setting("edges", 1) != 1:
        return None  # which client requests a page first, and so at which edge, is not planned
    if policy in PURGED and stats.writes == 0 and patient:
        return stats.distinct_pages
    ttl_s = record.number("ttl_s")
    # A cache counts freshness in whole seconds, so a copy may or may not be fresh in the last second.
    if stats.writes == 0 and stats.span_s < ttl_s - 1 and patient:
        return stats.distinct_pages
    return None


def _check_balance(record: TrialRecord, stats: TrialStats, caching: bool) -> list[str]:
    sent, served = stats.requests, stats.served_by_cache
    counter = record.counter_requests
    found = []
    if stats.background is not None:
        sent += stats.background.requests
        served += stats.background.served_by_cache
    if not caching and served:
        found.append(f"{count_of(served, 'request')} served by a cache, but no cache is on the way")
    refreshes = record.refreshes
    if record.setting("record_stop"):
        return found + _check_stopped(record, stats)
    if record.fault is not None and record.fault.hides_requests:
        found += _check_fault(record, record.fault, stats, sent - served - stats.failures)
    elif not sent - served + refreshes - _unanswered(stats) <= counter <= sent - served + refreshes:
        own = f" + {refreshes} of the edge's own" if refreshes else ""
        text = f"{count_of(sent, 'request')} sent − {served} served by cache{own} = {sent - served + refreshes}, "
        text += f"but the counter says {counter}"
        if unanswered := _unanswered(stats):
            text += f" ({unanswered} got no answer, and which of these reached the wiki is not known)"
        found.append(text)
    # Each refresh belongs to a response with the status UPDATING, which may be one of the background's.
    if stats.background is None and refreshes > stats.cache_statuses.get("UPDATING", 0):
        found.append(f"{count_of(refreshes, 'request')} of the edge's own, but fewer answers that it was renewing")
    if record.counter_reads + record.counter_writes != counter:
        found.append(
            f"{count_of(record.counter_reads, 'read')} + {count_of(record.counter_writes, 'write')} counted, "
            f"but the counter says {counter}"
        )
    if not stats.failures and record.counter_writes != stats.writes:
        found.append(f"{count_of(stats.writes, 'write')} sent, but the counter says {record.counter_writes}")
    return found


def _check_stopped(record: TrialRecord, stats: TrialStats) -> list[str]:
    """A record service that was stopped: its counter is its last reading before the signal."""
    if record.counter_requests <= stats.requests:
        return []
    return [f"{count_of(stats.requests, 'request')} sent, but the counter says {record.counter_requests}"]


def _check_fault(record: TrialRecord, fault: Fault, stats: TrialStats, answered: int) -> list[str]:
    found = []
    counter = record.counter_requests
    if not answered <= counter <= answered + stats.cut_off + record.refreshes:
        own = f", and the edge sent {record.refreshes} of its own" if record.refreshes else ""
        found.append(
            f"the origin answered {count_of(answered, 'request')}, and {count_of(stats.cut_off, 'more request')} "
            f"were cut off{own}, but the counter says {counter}"
        )
    if stats.cut_off != fault.cut_off:
        found.append(f"{count_of(stats.cut_off, 'sample')} cut off by the fault, but trial.json says {fault.cut_off}")
    return found


def _check_plan(record: TrialRecord, stats: TrialStats, plan: Plan) -> list[str]:
    found = []
    cut_off = record.setting("bound") == "either" or record.setting("model") == "open"
    if stats.iterations > plan.requests or (stats.iterations < plan.requests and not cut_off):
        found.append(f"{count_of(stats.iterations, 'iteration')} in the samples, but the plan has {plan.requests}")
    # Such an edit makes a page, or a link, with a name of its own.
    makes = record.setting("edit") == "create-get" or record.setting("resource") == "short-link"
    named = not (makes and stats.writes > 0) and record.setting("resource") != "record"
    if named and stats.iterations == plan.requests and stats.distinct_pages != plan.distinct_pages:
        found.append(f"samples of {count_of(stats.distinct_pages, 'page')}, but the plan has {plan.distinct_pages}")
    return found


def _check_expected(record: TrialRecord, stats: TrialStats, caching: bool) -> list[str]:
    expected = record.counter_expected
    if expected is None:
        return []
    found = []
    if record.counter_requests != expected:
        found.append(f"counter {record.counter_requests}, but {expected} was expected")
    own = exact_expectation(record, stats, caching)
    if own not in (None, expected):
        found.append(f"trial.json expects a counter of {expected}, but the samples give {own}")
    return found


def _check_own_counts(record: TrialRecord, stats: TrialStats) -> list[str]:
    pairs = [
        (stats.requests, "samples", record.requests_sent, "requests were sent"),
        (stats.reads, "reads in the samples", record.reads_sent, "reads were sent"),
        (stats.writes, "writes in the samples", record.writes_sent, "writes were sent"),
        (stats.failures, "failed samples", record.requests_failed, "failed"),
        (stats.served_by_cache, "samples served by cache", record.served_by_cache, "were served by cache"),
    ]
    own, theirs = stats.background, record.background
    if own is not None and theirs is not None:
        pairs += [
            (own.requests, "samples of the background", theirs.requests_sent, "requests were sent by it"),
            (own.failures, "failed samples of the background", theirs.requests_failed, "of it failed"),
            (own.served_by_cache, "of the background served by cache", theirs.served_by_cache, "of it were"),
        ]
    return [
        f"{counted} {what}, but trial.json says that {said} {words}"
        for counted, what, said, words in pairs
        if counted != said
    ]


def _unanswered(stats: TrialStats | None) -> int:
    """Requests without a response, including the background's."""
    if stats is None:
        return 0
    of_background = 0
    if stats.background is not None:
        of_background = sum(n for kind, n in stats.background.failure_kinds.items() if "status" not in kind)
    return stats.unanswered + of_background
