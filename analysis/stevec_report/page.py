"""Renders index.html: one self-contained file. All text is escaped, except our own figures.

The first page has the question, the answer, the numbers that carry it, and what could be wrong; all else is folded.
The page's only script sorts tables and opens what is folded. It is inline, and the page's content security policy
allows it by its hash only.
"""

import base64
import hashlib
import re
import shlex
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from stevec_report import code_version, expectations, study_report, svg, verdicts, wording
from stevec_report.blocks import Table, Words
from stevec_report.json_fields import get_object
from stevec_report.measured_blocks import is_one_stack, sample_words
from stevec_report.origin import EMULATED
from stevec_report.parts import DrawnFigure, Part
from stevec_report.provenance import describe_results, describe_run, split_common
from stevec_report.run_folder import Run
from stevec_report.study_folder import Study
from stevec_report.threats import list_threats
from stevec_report.wording import NOT_RECORDED

NUMBERS_NOTE = "Means over trials with their 95 % intervals; mean times and ratios are geometric means."
TRIALS_LINKED_MAX = 5  # in one cell of a table; the CSV file has all
SCRIPTS = ("sort.js", "fold.js")
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
    environment = _environment(loader)
    script = "\n".join(loader.get_source(environment, name)[0].strip() for name in SCRIPTS)
    readable = [part for part in parts if part.run]
    common, own = split_common([describe_run(part.run) for part in readable if part.run])
    return environment.get_template("report.html.j2").render(
        results=results,
        manifest=results.manifest,
        parts=parts,
        is_study=bool(head),
        answers=next((block for block in head if block.name == study_report.ANSWERS), None),
        head=[block for block in head if block.name != study_report.ANSWERS],
        explained=_explained(parts),
        decided=decided,
        verdict_counts=study_report.count_words(parts, decided),
        in_run=" in this run" if is_one_stack(results.manifest) else "",
        sample=sample_words(results.manifest),
        disagreement=study_report.disagreement,
        study_concerns=study_report.concerns(parts) if head else [],
        numbers_note=NUMBERS_NOTE,
        trials_linked_max=TRIALS_LINKED_MAX,
        commits={
            "ran": _short(_commit(results.manifest)),
            "analyses": _short(code_version.describe()),
        },
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
        described_runs=common,
        described_parts=list(zip(readable, own, strict=True)),
        rebuild_command=f"{REBUILD} {shlex.quote('results/' + results.name)}",
    )


def _environment(loader: PackageLoader) -> Environment:
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: wording.typeset(value) if type(value) is str else value,
    )
    environment.filters["grouped"] = wording.grouped
    environment.filters["verbatim"] = escape  # commands and names, which `finalize` must not change
    environment.tests |= {
        "table": lambda block: isinstance(block, Table),
        "words": lambda block: isinstance(block, Words),
    }
    return environment


def _commit(manifest: dict[str, Any]) -> str:
    git = get_object(manifest, "git")
    changed = ", with uncommitted changes" if git.get("dirty") is True else ""
    return f"{git.get('commit') or NOT_RECORDED}{changed}"


def _short(commit: str) -> str:
    """The first digits of a commit; the provenance has all of them."""
    return re.sub(r"\b([0-9a-f]{10})[0-9a-f]{30}\b", r"\1", commit)


def _explained(parts: Sequence[Part]) -> dict[str, str]:
    """{text below a table or figure: id of the first one with it}: a study has the same text under many of them."""
    found: dict[str, str] = {}
    for part in parts:
        for block in part.blocks:
            if isinstance(block, Table):
                found.setdefault(block.note, f"{part.name}-{block.name}-table")
            elif isinstance(block, DrawnFigure):
                found.setdefault(block.caption, f"{part.name}-{block.name}-figure")
    return found


def _title(results: Run | Study, parts: Sequence[Part], is_study: bool) -> str:
    return "All of the study" if is_study else parts[0].title
