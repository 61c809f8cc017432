"""Describes the origin of the numbers as labelled rows of text, unchanged from manifest.json."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from stevec_report import code_version
from stevec_report.json_fields import get_object
from stevec_report.run_folder import Run
from stevec_report.study_folder import Study
from stevec_report.wording import NOT_RECORDED

ROWS_MAX = 100
Rows = list[tuple[str, Any]]  # label, value as in the manifest
Groups = list[tuple[str, list[tuple[str, str]]]]  # heading, rows of text
TEXT_MAX_CHARS = 300
ENTRIES_MAX = 40  # entries shown from one list of strings in one value
# Of an experiment's definition: other groups, and the first page.
ANSWERED = ("title", "why", "hypothesis", "expected", "expectations")
SHOWN_ELSEWHERE = ("settings", "factors", "study", "thresholds", *ANSWERED)


def describe_results(results: Run | Study) -> Groups:
    """Return [(heading, [(label, text)])] on how a run or study was made, and where origin and client ran."""
    manifest = results.manifest
    git = get_object(manifest, "git")
    trees: dict[Any, str] = {True: "with uncommitted changes", False: "clean"}
    tree = trees.get(git.get("dirty"), "unknown")
    made = [
        ("command", manifest.get("command")),
        ("preset", manifest.get("preset")),
        ("seed", manifest.get("seed")),
        ("started", manifest.get("started_at")),
        ("finished", manifest.get("finished_at")),
        ("commit that ran", git.get("commit")),
        ("its working tree", tree),
        ("commit that analyses", code_version.describe()),
    ]
    if manifest.get("resumed_at"):
        made.insert(5, ("resumed", manifest["resumed_at"]))
    for resumption in manifest.get("resumptions") or []:
        if isinstance(resumption, dict) and resumption.get("changes"):
            trials = resumption.get("trials") or []
            made.append((f"changed since {resumption.get('at')}, trials {trials}", resumption["changes"]))
    target = list(results.target.items())
    return _as_text(
        [
            ("How it was made", made),
            ("Target", target),
            ("Profile", _profile(results.profile)),
            ("Origin", _items(manifest, "origin")),
        ]
    )


def describe_run(run: Run) -> Groups:
    """Return [(heading, [(label, text)])] on one run; headings without any row are left out."""
    manifest = run.manifest
    plans = [
        ("all requests", manifest.get("plan_hash")),
        ("plans", f"{len(run.plans)}, with their hashes in manifest.json"),
    ]
    doors = [(door.name, f"{door.url}, {'with' if door.caching else 'without'} a cache") for door in run.doors.values()]
    study = get_object(run.experiment, "study")
    definition = {key: value for key, value in run.experiment.items() if key not in SHOWN_ELSEWHERE}
    repeats = [(key, value) for key, value in study.items() if key not in ("not_stated", "differs")]
    settings = [*_items(run.experiment, "settings"), ("factors", run.experiment.get("factors"))]
    groups = [
        ("Definition", list(definition.items())),
        ("Thresholds", _items(run.experiment, "thresholds") or [("thresholds", NOT_RECORDED)]),
        ("What of the study it repeats", repeats),
        ("Settings of the preset full that the study does not state", _items(study, "not_stated")),
        ("Settings of the preset full that the study states otherwise", _items(study, "differs")),
        ("Settings", settings),
        ("Doors", doors),
        ("What was verified of the zone", _verification(manifest)),
        ("Plans", plans),
        ("Versions", _items(manifest, "versions")),
        ("Host", _items(manifest, "host")),
        ("Hashes of the configuration", _items(manifest, "config_hashes")),
    ]
    return _as_text(groups)


def split_common(of_runs: Sequence[Groups]) -> tuple[Groups, list[Groups]]:
    """Return (rows that all runs share, [the other rows of each run]), so that a study says the former once."""
    rows_of_runs = [{(heading, *row) for heading, rows in groups for row in rows} for groups in of_runs]
    shared = set.intersection(*rows_of_runs) if rows_of_runs else set()
    common = [_rows_in(groups, shared, True) for groups in of_runs[:1]]
    return common[0] if common else [], [_rows_in(groups, shared, False) for groups in of_runs]


def _rows_in(groups: Groups, shared: set[tuple[str, str, str]], wanted: bool) -> Groups:
    kept = [(heading, [row for row in rows if ((heading, *row) in shared) == wanted]) for heading, rows in groups]
    return [(heading, rows) for heading, rows in kept if rows]


def _verification(manifest: dict[str, Any]) -> Rows:
    """The result of `stevec cloudflare verify` before the run."""
    value = manifest.get("verification")
    if not isinstance(value, dict):
        return []
    checks = value.get("checks")
    checks = [check for check in checks if isinstance(check, dict)] if isinstance(checks, list) else []
    rows: Rows = [(str(check.get("id")), f"{check.get('outcome')}: {check.get('saw')}") for check in checks]
    return [("at", value.get("verified_at")), *rows]


def _profile(profile: dict[str, Any]) -> Rows:
    """The requested profile, the applied part, and the missing part."""
    if not profile:
        return []
    applied = get_object(profile, "applied")
    rows = [("name", profile.get("name")), ("sha256", profile.get("sha256")), ("asked for", profile.get("asked"))]
    rows += [(f"{key} applied", {True: "yes", False: "no"}.get(value, "unknown")) for key, value in applied.items()]
    missing = profile.get("missing")
    rows.append(("missing", "; ".join(map(str, missing)) if isinstance(missing, list) and missing else "nothing"))
    rows.append(("calibration", profile.get("calibration") or "none"))
    return rows


def _as_text(groups: Iterable[tuple[str, Rows]]) -> Groups:
    return [
        (heading, [(str(label)[:TEXT_MAX_CHARS], _text(value)) for label, value in rows[:ROWS_MAX]])
        for heading, rows in groups
        if rows
    ]


def _items(manifest: dict[str, Any], key: str) -> Rows:
    return list(get_object(manifest, key).items())


def _text(value: Any) -> str:
    """Return one line of text for any JSON value."""
    if value is None:
        return "unknown"
    if isinstance(value, list) and value and all(isinstance(entry, str | int | float) for entry in value):
        value = ", ".join(str(entry) for entry in value[:ENTRIES_MAX])
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= TEXT_MAX_CHARS else f"{text[:TEXT_MAX_CHARS]}…"
