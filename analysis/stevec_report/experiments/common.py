"""The blocks of every section, whatever the factors: cells, distributions, drift, failures, trials."""

from stevec_report import outcomes as all_outcomes
from stevec_report import staleness, wording
from stevec_report.averages import median
from stevec_report.blocks import TRIALS_COLUMN, Cell, Column, Figure, Table, Words, trials_cell
from stevec_report.experiments import origin_load
from stevec_report.figures import drift as drift_figure
from stevec_report.figures import response_times
from stevec_report.intervals import drift as fit_drift
from stevec_report.intervals import geometric_mean
from stevec_report.samples import PERCENTILES, curve_levels

CURVE_POINTS = 200  # of one distribution curve, whatever the number of samples
STRIPS_MAX = 8
SERVED_NOTE = "served by a cache: HIT, STALE and UPDATING"


def blocks(analysis, strips):
    """The blocks at the end of each section. `strips` has the shape that `default_strips` returns."""
    found = [cell_table(analysis), *staleness.tables(analysis)]
    strips = [strip for strip in strips if strip[2]]
    if strips:
        found.append(
            Figure(
                "response-times",
                "Distribution of response times",
                "Distribution of response times, one strip each: the share of answered requests (upwards) that took at "
                "most so long (to the right), all its valid trials together, by cache status. The pale lines are the "
                "other strips. The axis is logarithmic: equal steps are equal ratios.",
                lambda: draw_response_times(analysis, strips),
            )
        )
    found += origin_load.blocks(analysis)
    found += _drift_blocks(analysis)
    found += _error_blocks(analysis)
    found.append(trial_table(analysis))
    return found


def cell_table(analysis):
    """One row per cell: times with percentiles, requests that the cache served, requests that reached the wiki."""
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("valid_trials", "valid", "count"),
        Column("planned_trials", "of", "count"),
        Column("mean_ms", "mean, ms (95 % interval)", "interval"),
        *[Column(f"p{_level_key(level)}_ms", f"p{100 * level:g}") for level in PERCENTILES],
        Column("max_ms", "max"),
        Column("served_share", "served by cache", "percent"),
        Column("failed_share", "failed", "percent"),
        *([] if analysis.run.origin.emulated else [Column("per_s", "answered, 1/s")]),
        TRIALS_COLUMN,
    ]
    rows = []
    for cell, members in all_outcomes.cells(analysis.outcomes).items():
        valid = [o for o in members if o.valid]
        means = list(all_outcomes.means_by_repetition(valid).values())
        requests = sum(o.stats.requests for o in valid)
        numbers = tuple(o.number for o in valid)
        row = {
            "cell": all_outcomes.cell_text(cell),
            "valid_trials": len(valid),
            "planned_trials": len(members),
            "mean_ms": geometric_mean(means) if means else None,
            "max_ms": max((o.stats.max_ms for o in valid if o.mean_ms), default=None),
            "served_share": sum(o.stats.served_by_cache for o in valid) / requests if requests else None,
            "failed_share": sum(o.stats.failures for o in valid) / requests if requests else None,
            "trials": trials_cell(numbers),
        }
        if not analysis.run.origin.emulated:
            row["per_s"] = median([o.stats.completed_per_s for o in valid])
        for level in PERCENTILES:
            row[f"p{_level_key(level)}_ms"] = median([_percentile(o, level) for o in valid])
        rows.append(row)
    return Table(
        "cells",
        "Every cell of the experiment.",
        "Milliseconds, of answered requests of the probe. The unit is the trial: the mean is the geometric mean of "
        "the trial means with the t interval of their logarithms; percentiles are the median over the trials of "
        "each trial's own, and missing where a trial has fewer requests than they need (1000 for p99.9); the "
        f"maximum is that of all. Shares are of the requests sent; {SERVED_NOTE}.",
        columns,
        rows,
    )


def default_strips(analysis):
    """[(title, door, trial numbers)]: one strip per cell, or one per door where there are too many cells."""
    groups = all_outcomes.cells(analysis.valid)
    if len(groups) <= STRIPS_MAX:
        return [
            (all_outcomes.cell_text(cell), members[0].door, [o.number for o in members])
            for cell, members in groups.items()
        ]
    return [
        (f"{door}, all cells together", door, [o.number for o in analysis.valid if o.door == door])
        for door in analysis.run.doors
    ]


def draw_response_times(analysis, strips):
    """The figure of the distributions."""
    levels = curve_levels(CURVE_POINTS)
    drawn = []
    for title, door, numbers in strips[:STRIPS_MAX]:
        rows = analysis.samples.query(
            f"""
            SELECT cache_status, count(*),
                   quantile_disc(duration_ms, [{", ".join(map(str, levels))}])
            FROM {{samples}} WHERE answered GROUP BY cache_status ORDER BY count(*) DESC, cache_status
            LIMIT {response_times.STATUSES_MAX}
            """,
            numbers,
        )
        total = sum(row[1] for row in rows)
        curves = [
            {
                "status": status,
                "requests": requests,
                "share": requests / total,
                "times_ms": times,
                "levels": levels,
            }
            for status, requests, times in rows
        ]
        drawn.append({"door": door, "title": title, "curves": curves})
    return response_times.draw([strip for strip in drawn if strip["curves"]])


def relative_means(analysis):
    """{"door", "moments", "relative"} for each cell with two valid trials: trial means relative to the cell's mean."""
    series = []
    for members in all_outcomes.cells(analysis.valid).values():
        trials = sorted((o for o in members if o.mean_ms), key=lambda o: o.record.started_at)
        if len(trials) > 1:
            centre = geometric_mean([o.mean_ms for o in trials]).centre
            series.append(
                {
                    "door": trials[0].door,
                    "moments": [o.record.started_at for o in trials],
                    "relative": [o.mean_ms / centre for o in trials],
                }
            )
    return series


def run_drift(series):
    """The common drift of all cells over the run: the `Interval` of a factor, or None."""
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


def _drift_blocks(analysis):
    series = relative_means(analysis)
    if not series:
        return [Words("note", "There is no check against drift: no cell has two valid trials.")]
    trend = run_drift(series)
    caption = "Drift check: the mean of each trial against that of its cell, in the order the trials were run. "
    if trend is None:
        caption += "There are too few valid trials to tell a trend."
    elif trend.low <= 1 <= trend.high:
        caption += (
            f"Over the run the times changed by {wording.signed_percent(trend.centre)} (95 % interval "
            f"{wording.signed_percent(trend.low)} to {wording.signed_percent(trend.high)}), which includes no change."
        )
    else:
        caption += (
            f"Over the run the times drifted by {wording.signed_percent(trend.centre)} (95 % interval "
            f"{wording.signed_percent(trend.low)} to {wording.signed_percent(trend.high)}). Cells were shuffled within "
            "each repetition, so ratios suffer less from this than means do."
        )
    return [Figure("drift", "Trial means in the order of time", caption, lambda: _draw_drift(analysis, series, trend))]


def _draw_drift(analysis, series, trend):
    begin = min(o.record.started_at for o in analysis.outcomes if o.record)
    doors = {}
    for line in series:
        own = doors.setdefault(line["door"], {"door": line["door"], "minutes": [], "relative": []})
        own["minutes"] += [(moment - begin).total_seconds() / 60 for moment in line["moments"]]
        own["relative"] += line["relative"]
    invalid = [
        (o.record.started_at - begin).total_seconds() / 60 for o in analysis.outcomes if o.record and not o.valid
    ]
    fit = None
    if trend is not None:
        minutes = [minute for line in doors.values() for minute in line["minutes"]]
        first, last, middle = min(minutes), max(minutes), sum(minutes) / len(minutes)
        fit = (
            (first, last),
            tuple(trend.centre ** ((minute - middle) / (last - first)) for minute in (first, last)),
        )
    ordered = [doors[door] for door in analysis.run.doors if door in doors]
    return drift_figure.draw(ordered, invalid, fit)


def _error_blocks(analysis):
    rows = []
    for cell, members in all_outcomes.cells(analysis.valid).items():
        for who, of in (("probe", lambda o: o.stats), ("background", lambda o: o.stats.background)):
            stats = [of(o) for o in members if of(o)]
            sent = sum(s.requests for s in stats)
            kinds = {}
            for own in stats:
                for kind, requests in own.failure_kinds.items():
                    kinds[kind] = kinds.get(kind, 0) + requests
            numbers = tuple(o.number for o in members if of(o) and of(o).failures)
            for kind in sorted(kinds):
                rows.append(
                    {
                        "cell": all_outcomes.cell_text(cell),
                        "sender": who,
                        "kind": kind,
                        "requests": kinds[kind],
                        "share": kinds[kind] / sent,
                        "trials": trials_cell(numbers),
                    }
                )
    if not rows:
        return [Words("note", "Error budget: no request of a valid trial failed.")]
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("sender", "sent by", "text", left=True),
        Column("kind", "failed with", "text", left=True),
        Column("requests", "requests", "count"),
        Column("share", "of those sent", "percent"),
        Column("trials", "in trials", "text", left=True),
    ]
    note = (
        "Requests without an answer, by k6's error code, or with a status of 400 or more. Failed requests are in no "
        "response time: where many fail, the times are those of the lucky ones."
    )
    return [Table("errors", "Error budget.", note, columns, rows)]


def trial_table(analysis):
    """One row per planned trial, with everything that was read and counted."""
    factors = list(dict.fromkeys(factor for o in analysis.outcomes for factor, _ in o.cell))
    columns = [
        Column("trial", "trial", "text"),
        *[Column(f"cell_{factor}", factor, "text", left=True) for factor in factors],
        Column("repetition", "rep.", "text"),
        Column("state", "state", "text", left=True),
        Column("requests_sent", "sent", "count"),
        Column("background_sent", "background", "count"),
        Column("counter", "counter", "count"),
        Column("counter_writes", "of it writes", "count"),
        Column("served_by_cache", "by cache", "count"),
        Column("failed", "failed", "count"),
        Column("dropped_iterations", "dropped", "count"),
        Column("mean_ms", "mean, ms"),
        Column("p50_ms", "p50"),
        Column("p95_ms", "p95"),
        Column("p99_ms", "p99"),
        Column("max_ms", "max"),
        Column("generator_cpu_share", "generator CPU", "percent"),
        Column("generator_limited", "limited", "text"),
        Column("started_at", "began", "text", left=True),
        Column("cache_statuses", "cache statuses", "text", left=True),
        Column("reasons", "invalid because", "text", left=True),
    ]
    return Table(
        "trials",
        "Every trial, in the order they were run.",
        "Times of answered requests of the probe. The counter and what was served by a cache include the background.",
        columns,
        [_trial_row(outcome) for outcome in analysis.outcomes],
    )


def _trial_row(outcome):
    record, stats = outcome.record, outcome.stats
    row = {
        "trial": Cell(outcome.number, trials=(outcome.number,)),
        "state": Cell("valid" if outcome.valid else "invalid", mark="valid" if outcome.valid else "invalid"),
        "reasons": "; ".join(outcome.reasons),
    }
    if record:
        row |= {f"cell_{factor}": level for factor, level in record.cell.items()}
        row |= {
            "repetition": record.repetition,
            "requests_sent": record.requests_sent,
            "counter": record.counter_requests,
            "counter_writes": record.counter_writes,
            "dropped_iterations": record.dropped_iterations,
            "generator_cpu_share": record.generator_cpu_share,
            "generator_limited": "limited" if outcome.limited else "",
            "started_at": record.started_at.isoformat(timespec="milliseconds"),
        }
    if stats:
        background = stats.background
        row |= {
            "background_sent": background.requests if background else None,
            "served_by_cache": stats.served_by_cache + (background.served_by_cache if background else 0),
            "failed": stats.failures + (background.failures if background else 0),
            "mean_ms": stats.mean_ms,
            "p50_ms": stats.p50_ms,
            "p95_ms": stats.p95_ms,
            "p99_ms": stats.p99_ms,
            "max_ms": stats.max_ms,
            "cache_statuses": ", ".join(f"{name or 'none'} {n}" for name, n in stats.cache_statuses.items()),
        }
    return row


def _percentile(outcome, level):
    answered = outcome.stats.requests - outcome.stats.failures
    return outcome.stats.percentile_ms(level) if answered * (1 - level) >= 1 - 1e-9 else None


def _level_key(level):
    return f"{100 * level:g}".replace(".", "_")
