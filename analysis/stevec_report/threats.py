"""What could make the numbers mean less than they seem to; said of this very run where the data can tell."""

from urllib.parse import urlsplit

from stevec_report.wording import count_of, join_words

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
NAMED_MAX = 20  # trials named in one sentence


def list_threats(analysis):
    """Return [(short name, sentences)], the ones that hold for every run last."""
    run = analysis.run
    threats = [_describe_loopback(run), _describe_generator(analysis), _describe_loop(run.experiment)]
    git = run.manifest.get("git")
    if isinstance(git, dict) and git.get("dirty") is True:
        threats.append(
            (
                "Uncommitted changes",
                "The code that ran differs from the commit named below, and nothing here says how.",
            )
        )
    threats.append(
        (
            "What an interval covers",
            "The 95 % intervals cover what varied between the repetitions of this run, on this machine, in "
            "this hour. They say nothing about another machine, and with few repetitions they rest on the "
            "logarithms of the trial means being roughly normal.",
        )
    )
    return [threat for threat in threats if threat is not None]


def _describe_loopback(run):
    # The door `local` is on the client's machine in every set-up, and says nothing about the others.
    doors = [door.name for door in run.doors.values() if door.name != "local" and _is_loopback(door.url)]
    if not doors:
        return None
    return (
        "Loopback",
        f"The way to {join_words(doors)} is the loopback of one machine. It has no distance, no loss and no "
        "shared link beyond what the lab adds on purpose, so milliseconds are not those of the internet, and "
        "what a cache saves in distance is not in them. Counts are not affected.",
    )


def _describe_generator(analysis):
    records = [outcome.record for outcome in analysis.outcomes if outcome.record]
    limited = [o.number for o in analysis.outcomes if o.record and o.record.generator_limited]
    dropped = sum(record.dropped_iterations for record in records)
    shares = [r.generator_cpu_share for r in records if r.generator_cpu_share is not None]
    sentences = [
        "Where the load generator runs on the same machine, it takes processor time from what it measures, "
        "most of all at the fast doors."
    ]
    if shares:
        sentences.append(f"It used up to {100 * max(shares):.0f} % of the processor during a trial.")
    if limited:
        named = ", ".join(str(number) for number in limited[:NAMED_MAX])
        more = f" and {len(limited) - NAMED_MAX} more" if len(limited) > NAMED_MAX else ""
        sentences.append(
            f"{count_of(len(limited), 'trial')} may show the speed of the generator instead of the door's "
            f"(marked “limited” above): {named}{more}."
        )
    else:
        sentences.append("No trial was limited by it.")
    if dropped:
        sentences.append(f"It could not send {count_of(dropped, 'request')} of its plan in time.")
    return ("The generator", " ".join(sentences))


def _describe_loop(experiment):
    vus = experiment.get("vus")
    if type(vus) is not int:
        return None
    waited = "One requester waited" if vus == 1 else f"Each of {vus} requesters waited"
    return (
        "Closed loop",
        f"{waited} for each answer before sending the next request. A slow server is therefore asked less "
        "often while it is slow, and the high percentiles show less of the trouble than users who arrive on "
        "their own would meet (coordinated omission). The study did the same: its means and these compare.",
    )


def _is_loopback(url):
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in LOOPBACK_HOSTS or host.endswith(".localhost")
