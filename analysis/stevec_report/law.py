"""The law of the counter, for runs that only read and in which nothing expires.

Without a cache on the way every request reaches the origin; with one, each different page reaches it once.
So for every trial

    requests sent = requests that a cache served + counter        exactly, and
    counter = requests sent (no cache)   or   counter = different pages of the plan (cache).

Only the counter itself is taken from trial.json: it was read from the origin and can be found nowhere else.
All other sides are counted again, from samples.csv.gz and from the plans in manifest.json. trial.json's own
counts are then compared with ours, so that a mistake in either shows.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class LawCheck:
    """The law over all trials of a run. `failures` is {trial number: sentences with numbers}."""

    trials: int
    held: tuple[int, ...]
    failures: dict[int, list[str]]
    unchecked: tuple[int, ...]

    @property
    def holds(self):
        """Whether every planned trial was checked and keeps the law."""
        return len(self.held) == self.trials


def check_law(run, stats):
    """Check every trial of `run` against `stats` ({trial number: TrialStats}); return `LawCheck`.

    A trial whose trial.json or samples cannot be read is `unchecked`, which is not held.
    """
    held, failures, unchecked = [], {}, []
    for trial in run.trials:
        if trial.record is None or trial.number not in stats:
            unchecked.append(trial.number)
            continue
        plan = run.plans[trial.record.repetition]
        caching = run.doors[trial.record.door].caching
        found = check_trial(trial.record, stats[trial.number], plan, caching)
        if found:
            failures[trial.number] = found
        else:
            held.append(trial.number)
    return LawCheck(len(run.trials), tuple(held), failures, tuple(unchecked))


def check_witness(record):
    """Compare the counter with its witness, the log of the nginx in front of the origin; return sentences.

    A difference is no break of the law: it says that one of the two counts, or the cutting of the log into
    trials, is wrong. Either way the trial is not to be trusted.
    """
    lines = record.log_lines.get("origin")
    if lines in (None, record.counter_requests):
        return []
    return [f"{lines} lines in the origin's log, but the counter says {record.counter_requests}"]


def check_trial(record, stats, plan, caching):
    """Return a sentence for every way in which one trial breaks the law; an empty list if it keeps it."""
    found = []
    counter = record.counter_requests
    if stats.requests != record.requests_sent:
        found.append(
            f"{stats.requests} samples, but trial.json says that {record.requests_sent} requests were sent"
        )
    if stats.requests != plan.requests:
        found.append(f"{stats.requests} samples, but the plan has {plan.requests} requests")
    if stats.distinct_pages != plan.distinct_pages:
        found.append(f"samples of {stats.distinct_pages} pages, but the plan has {plan.distinct_pages}")
    if caching and counter != plan.distinct_pages:
        found.append(f"counter {counter}, but the plan has {plan.distinct_pages} different pages")
    if not caching and counter != stats.requests:
        found.append(f"counter {counter}, but {stats.requests} requests were sent and no cache is on the way")
    if stats.served_by_cache + counter != stats.requests:
        found.append(
            f"{stats.served_by_cache} served by cache + counter {counter} = "
            f"{stats.served_by_cache + counter}, but {stats.requests} requests were sent"
        )
    if record.served_by_cache not in (None, stats.served_by_cache):
        found.append(
            f"{stats.served_by_cache} samples served by cache, but trial.json says {record.served_by_cache}"
        )
    if record.requests_failed not in (None, stats.failures):
        found.append(f"{stats.failures} failed samples, but trial.json says {record.requests_failed}")
    return found
