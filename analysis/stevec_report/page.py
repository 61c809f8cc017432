"""Renders index.html: one file that needs nothing else. All text is escaped; only our own figures are not."""

import shlex

from jinja2 import Environment, PackageLoader, StrictUndefined

from stevec_report import svg, wording
from stevec_report.provenance import describe_provenance
from stevec_report.threats import list_threats

REBUILD = "PYTHONPATH=analysis .venv/bin/python -m stevec_report"


def render(analysis, figures):
    """Return the page of `analysis` as text. `figures` is {name: scoped SVG text}."""
    environment = Environment(
        loader=PackageLoader("stevec_report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "three_digits": wording.three_digits,
        "interval": wording.interval_text,
        "percent": wording.percent,
        "signed_percent": wording.signed_percent,
        "grouped": wording.grouped,
    }
    run = analysis.run
    titles = {name: title for name, (title, _draw) in analysis.experiment.FIGURES.items()}
    return environment.get_template(analysis.experiment.TEMPLATE).render(
        run=run,
        experiment=run.experiment,
        doors=list(run.doors.values()),
        outcomes=analysis.outcomes,
        invalid=[outcome for outcome in analysis.outcomes if not outcome.valid],
        by_number={outcome.number: outcome for outcome in analysis.outcomes},
        law=analysis.law,
        law_counts=_count_law(analysis),
        figures={name: svg.inline(text, titles[name]) for name, text in figures.items()},
        count_of=wording.count_of,
        join_words=wording.join_words,
        threats=list_threats(analysis),
        provenance=describe_provenance(run),
        rebuild_command=f"{REBUILD} {shlex.quote('results/' + run.name)}",
        **analysis.experiment.context(analysis),
    )


def _count_law(analysis):
    """Sum over the trials that keep the law: {"without": …, "with": …} a cache, each a dict of counts."""
    sums = {caching: {"trials": 0, "requests": 0, "counter": 0, "served": 0} for caching in (False, True)}
    held = set(analysis.law.held)
    for outcome in analysis.outcomes:
        if outcome.number in held:
            row = sums[analysis.run.doors[outcome.door].caching]
            row["trials"] += 1
            row["requests"] += outcome.stats.requests
            row["counter"] += outcome.record.counter_requests
            row["served"] += outcome.stats.served_by_cache
    return {"without": sums[False], "with": sums[True]}
