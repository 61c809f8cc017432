"""What the figures of E1 show: picks the data out of an analysis and hands it to the modules in `figures`."""

from stevec_report import reference
from stevec_report.figures import drift, figure_1_3, response_times
from stevec_report.intervals import drift as fit_drift
from stevec_report.intervals import geometric_mean
from stevec_report.outcomes import mean_ms_by_repetition, valid_of_door

LEVELS = 400  # points of one distribution curve, whatever the number of samples

# The study's paths: the doors whose columns they stand over, the door whose colour they take, and a label.
STUDY_PATHS = {
    "without": (("source", "nocache"), "source", "without a cache"),
    "local": (("local",), "local", "local nginx"),
    "cdn": (("cached",), "cached", "CDN"),
}


def draw_means(analysis):
    """Figure 1.3."""
    places = {door: float(at) for at, door in enumerate(analysis.run.doors)}
    study = []
    for path, values in reference.read_series("1.2", "mean_ms").items():
        doors, colour_of, label = STUDY_PATHS[path]
        under = [places[door] for door in doors if door in places]
        if under:
            study.append(_column(label, under, colour_of, list(values.values())))
    ours = []
    for door, at in places.items():
        ours.append(_column(door, [at], door, list(mean_ms_by_repetition(analysis.outcomes, door).values())))
    return figure_1_3.draw(study, ours, "The study: Banana Pi, Cloudflare, 2016", _label_run(analysis.run))


def draw_response_times(analysis):
    """Distribution of response times by door and cache status, all valid trials of a door together."""
    strips = []
    for door in analysis.run.doors.values():
        trials = valid_of_door(analysis.outcomes, door.name)
        curves = _curves(analysis.samples.database, [o.number for o in trials])
        if curves:
            title = f"{door.name} ({'through a cache' if door.caching else 'no cache'})"
            strips.append({"door": door.name, "title": title, "curves": curves})
    return response_times.draw(strips)


def draw_drift(analysis):
    """Trial means in time order, relative to their door."""
    invalid = [o.record.started_at for o in analysis.outcomes if o.record and not o.valid]
    begin = _begin(analysis)
    series = [
        {
            "door": line["door"],
            "minutes": [_minutes(begin, moment) for moment in line["moments"]],
            "relative": line["relative"],
        }
        for line in _relative_means(analysis)
    ]
    fit = None
    trend = run_drift(analysis)
    if trend is not None:
        minutes = [minute for line in series for minute in line["minutes"]]
        first, last, middle = min(minutes), max(minutes), sum(minutes) / len(minutes)
        slope = 1 / (last - first)
        fit = (
            (first, last),
            tuple(trend.centre ** ((minute - middle) * slope) for minute in (first, last)),
        )
    return drift.draw(series, [_minutes(begin, moment) for moment in invalid], fit)


def run_drift(analysis):
    """Return the common drift of all doors over the run, an `Interval` of a factor, or None."""
    series = _relative_means(analysis)
    moments = [moment for line in series for moment in line["moments"]]
    if not moments or min(moments) == max(moments):
        return None
    first, length_s = min(moments), (max(moments) - min(moments)).total_seconds()
    return fit_drift(
        [
            ([(moment - first).total_seconds() / length_s for moment in line["moments"]], line["relative"])
            for line in series
        ]
    )


def _column(label, over, door, means_ms):
    interval = geometric_mean(means_ms) if means_ms else None
    return {"label": label, "over": over, "door": door, "means_ms": means_ms, "interval": interval}


def _label_run(run):
    started_at = run.manifest.get("started_at")
    dated = isinstance(started_at, str) and started_at[:4].isdecimal()
    return f"This run: {run.experiment['name']}, {started_at[:4]}" if dated else "This run"


def _curves(database, numbers):
    """Return the curves for `response_times.draw` of these trials, the most frequent status first."""
    rows = database.execute(
        """
        SELECT cache_status, count(*),
               quantile_disc(duration_ms, list_transform(range(0, ? + 1), lambda i: i / ?::DOUBLE))
        FROM samples WHERE answered AND list_contains(?, trial)
        GROUP BY cache_status ORDER BY count(*) DESC, cache_status
        """,
        [LEVELS, LEVELS, numbers],
    ).fetchall()
    total = sum(row[1] for row in rows)
    levels = [i / LEVELS for i in range(LEVELS + 1)]
    return [
        {
            "status": status,
            "requests": requests,
            "share": requests / total,
            "times_ms": times,
            "levels": levels,
        }
        for status, requests, times in rows
    ]


def _relative_means(analysis):
    """Return {"door", "moments", "relative"} for each door with a valid trial, in the order of time."""
    series = []
    for door in analysis.run.doors:
        trials = sorted(valid_of_door(analysis.outcomes, door), key=lambda o: o.record.started_at)
        if trials:
            centre = geometric_mean([o.stats.mean_ms for o in trials]).centre
            relative = [o.stats.mean_ms / centre for o in trials]
            series.append(
                {"door": door, "moments": [o.record.started_at for o in trials], "relative": relative}
            )
    return series


def _begin(analysis):
    return min((o.record.started_at for o in analysis.outcomes if o.record), default=None)


def _minutes(begin, moment):
    return (moment - begin).total_seconds() / 60
