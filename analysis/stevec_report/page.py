"""Renders index.html: one self-contained file. All text is escaped, except our own figures.

The page's only script sorts tables. It is inline, and the page's content security policy allows it by its hash only.
"""

import base64
import hashlib
import shlex
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from stevec_report import expectations, study_report, svg, verdicts, wording
from stevec_report.blocks import Table, Words
from stevec_report.origin import EMULATED
from stevec_report.parts import DrawnFigure, Part
from stevec_report.provenance import describe_results, describe_run
from stevec_report.run_folder import Run
from stevec_report.study_folder import Study
from stevec_report.threats import list_threats

REBUILD = "PYTHONPATH=analysis .venv/bin/python -m stevec_report"


def render(
    results: Run | Study,
    parts: Sequence[Part],
    decided: dict[str, verdicts.Verdict],
    head: Sequence[Table | DrawnFigure],
) -> str:
    """Return the page as text.

    Args:
        results: the `Run` or `Study`. parts: its `Part`s. decided: {experiment: Verdict}.
        head: tables and figures before the parts, [] in the report of one run.
    """
    loader = PackageLoader("stevec_report")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["grouped"] = wording.grouped
    environment.tests |= {
        "table": lambda block: isinstance(block, Table),
        "words": lambda block: isinstance(block, Words),
    }
    script = loader.get_source(environment, "sort.js")[0].strip()
    return environment.get_template("report.html.j2").render(
        results=results,
        manifest=results.manifest,
        parts=parts,
        is_study=bool(head),
        head=head,
        decided=decided,
        verdict_counts=study_report.count_words(parts, decided),
        disagreement=study_report.disagreement,
        claim_status=verdicts.claim_status,
        count_expected=expectations.count_words,
        title=_title(results, parts, bool(head)),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        inline_svg=svg.inline,
        count_of=wording.count_of,
        join_words=wording.join_words,
        emulated_words=EMULATED,
        threats=list_threats(results, parts),
        provenance=describe_results(results),
        describe_run=describe_run,
        rebuild_command=f"{REBUILD} {shlex.quote('results/' + results.name)}",
    )


def _title(results: Run | Study, parts: Sequence[Part], is_study: bool) -> str:
    return "All of the study" if is_study else parts[0].title
