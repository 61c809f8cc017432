"""Tables 1.1 and 1.2: the study's values beside ours, as rows for the page and as CSV.

The study's paths and our doors: "without" is `source` or `nocache`, "local" is `local`, "cdn" is `cached`.
"""

import statistics

from stevec_report import reference, wording
from stevec_report.intervals import geometric_mean, paired_ratio
from stevec_report.outcomes import at_cell, mean_ms_by_repetition, valid_of_door

STUDY_REQUESTS = 1000  # a repetition, from section 1.4.1 of the study
STUDY_SETTINGS = {"requests": 1000, "pages": 100, "page_size_chars": 5000, "repetitions": 8, "pause_s": 0}
BASE_DOOR = "source"
STUDY_BASE = "without"


def deviations(experiment):
    """Return texts on the settings in which this run differs from the study's."""
    return [
        f"{key} {experiment.get(key)!r:.40} (the study: {value})"
        for key, value in STUDY_SETTINGS.items()
        if experiment.get(key) != value
    ]


def origin_requests(analysis):
    """Table 1.1 for the page: {"rows", "shares"}; see `_compare` for the rows."""
    study = reference.read_series("1.1", "origin_requests")
    rows = _compare(analysis, study, lambda o: wording.grouped(o.record.counter_requests), "{:.0f}")
    study_shares = [
        wording.percent(statistics.fmean(values.values()) / STUDY_REQUESTS) for values in study.values()
    ]
    shares = []
    for door in analysis.run.doors:
        trials = valid_of_door(analysis.outcomes, door)
        sent = sum(o.stats.requests for o in trials)
        shares.append(
            wording.percent(sum(o.record.counter_requests for o in trials) / sent if sent else None)
        )
    return {"rows": rows, "study_shares": study_shares, "shares": shares}


def means(analysis):
    """Table 1.2 for the page: {"rows", "study_means", "means"}; the means are arithmetic, as in the study."""
    study = reference.read_series("1.2", "mean_ms")
    rows = _compare(analysis, study, _show_mean, "{:.0f}")
    ours = []
    for door in analysis.run.doors:
        values = mean_ms_by_repetition(analysis.outcomes, door).values()
        ours.append(wording.three_digits(statistics.fmean(values) if values else None))
    study_means = [wording.three_digits(statistics.fmean(values.values())) for values in study.values()]
    return {"rows": rows, "study_means": study_means, "means": ours}


def summary(analysis):
    """Return one dict a door: means, percentiles, the ratio to `source`, and the trials that they are from.

    Percentiles are the median over the trials of each trial's own, the maximum is that of all trials.
    """
    base = mean_ms_by_repetition(analysis.outcomes, BASE_DOOR)
    rows = []
    for door in analysis.run.doors:
        trials = valid_of_door(analysis.outcomes, door)
        own = {o.repetition: o.stats.mean_ms for o in trials}
        row = {
            "door": door,
            "trials": trials,
            "planned": len(analysis.run.plans),
            "ratio": None,
            "mean": None,
        }
        row |= {"p50_ms": None, "p95_ms": None, "p99_ms": None, "max_ms": None}
        row["failures"] = sum(o.stats.failures for o in trials)
        row["requests"] = sum(o.stats.requests for o in trials)
        if trials:
            row["mean"] = geometric_mean(list(own.values()))
            row["ratio"] = None if door == BASE_DOOR else paired_ratio(own, base)
            row["max_ms"] = max(o.stats.max_ms for o in trials)
            for name in ("p50_ms", "p95_ms", "p99_ms"):
                row[name] = statistics.median(getattr(o.stats, name) for o in trials)
        rows.append(row)
    return rows


def study_summary():
    """Return one dict a path of the study: the mean with an interval, and the ratio of means to "without".

    The ratio has no interval: the study does not say that its repetitions were paired.
    """
    series = reference.read_series("1.2", "mean_ms")
    intervals = {path: geometric_mean(list(values.values())) for path, values in series.items()}
    base = intervals[STUDY_BASE].centre
    return [
        {"path": path, "mean": mean, "ratio": None if path == STUDY_BASE else mean.centre / base}
        for path, mean in intervals.items()
    ]


def origin_requests_csv(analysis):
    """Table 1.1, one value a row: (header, rows)."""
    header = [
        "measured_by",
        "path",
        "repetition",
        "trial",
        "valid",
        "requests_sent",
        "origin_requests",
        "origin_share",
    ]
    rows = []
    for path, values in reference.read_series("1.1", "origin_requests").items():
        for repetition, value in values.items():
            share = value / STUDY_REQUESTS
            rows.append(["study", path, repetition, "", "", STUDY_REQUESTS, int(value), share])
    for o in _by_cell(analysis):
        counter = o.record.counter_requests
        sent = o.stats.requests if o.stats else o.record.requests_sent
        share = round(counter / sent, 6) if sent else ""
        rows.append(["stevec", o.door, o.repetition, o.number, _flag(o.valid), sent, counter, share])
    return header, rows


def means_csv(analysis):
    """Table 1.2, one value a row: (header, rows)."""
    rows = []
    for path, values in reference.read_series("1.2", "mean_ms").items():
        rows += [["study", path, repetition, "", "", value] for repetition, value in values.items()]
    for o in _by_cell(analysis):
        mean = _rounded(o.stats.mean_ms) if o.stats else ""
        rows.append(["stevec", o.door, o.repetition, o.number, _flag(o.valid), mean])
    return ["measured_by", "path", "repetition", "trial", "valid", "mean_ms"], rows


def summary_csv(analysis):
    """The table below table 1.2: (header, rows)."""
    header = ["measured_by", "path", "trials_valid", "trials_planned", "failed_requests"]
    header += ["geometric_mean_ms", "geometric_mean_low_ms", "geometric_mean_high_ms"]
    header += ["p50_ms", "p95_ms", "p99_ms", "max_ms", "ratio", "ratio_low", "ratio_high", "trials"]
    rows = []
    for row in study_summary():
        rows.append(["study", row["path"], row["mean"].n, row["mean"].n, "", *_bounds(row["mean"])])
        rows[-1] += ["", "", "", "", _rounded(row["ratio"]), "", "", ""]
    for row in summary(analysis):
        rows.append(["stevec", row["door"], len(row["trials"]), row["planned"], row["failures"]])
        rows[-1] += _bounds(row["mean"])
        rows[-1] += [_rounded(row[name]) for name in ("p50_ms", "p95_ms", "p99_ms", "max_ms")]
        rows[-1] += [*_bounds(row["ratio"]), " ".join(str(o.number) for o in row["trials"])]
    return header, rows


def _compare(analysis, study, show, study_format):
    """Rows by repetition: {"repetition", "study": texts, "ours": cells}.

    A cell is {"planned", "outcome", "text"}; the last two are None where the run has no such trial or could
    not read it. `show` makes the text of an outcome, or None if it lacks what that takes.
    """
    last = max([*analysis.run.plans, *(r for values in study.values() for r in values)])
    rows = []
    for repetition in range(1, last + 1):
        cells = []
        for door in analysis.run.doors:
            outcome = at_cell(analysis.outcomes, door, repetition)
            text = show(outcome) if outcome else None
            cells.append({"planned": repetition in analysis.run.plans, "outcome": outcome, "text": text})
        texts = [study_format.format(v[repetition]) if repetition in v else None for v in study.values()]
        rows.append({"repetition": repetition, "study": texts, "ours": cells})
    return rows


def _show_mean(outcome):
    known = outcome.stats and outcome.stats.mean_ms is not None
    return wording.three_digits(outcome.stats.mean_ms) if known else None


def _by_cell(analysis):
    """The readable outcomes, by door and repetition."""
    doors = list(analysis.run.doors)
    readable = [o for o in analysis.outcomes if o.record]
    return sorted(readable, key=lambda o: (doors.index(o.door), o.repetition, o.number))


def _bounds(interval):
    if interval is None:
        return ["", "", ""]
    return [_rounded(interval.centre), _rounded(interval.low), _rounded(interval.high)]


def _rounded(value):
    return "" if value is None else round(value, 6)


def _flag(value):
    return "true" if value else "false"
