"""Describes the origin of the numbers as labelled rows of text, unchanged from manifest.json."""

import json

ROWS_MAX = 100
TEXT_MAX_CHARS = 300
ENTRIES_MAX = 40  # entries shown from one list of strings in one value
PLANS_MAX = 12


def describe_results(results):
    """Return [(heading, [(label, text)])] on how a run or study was made, and where origin and client ran."""
    manifest = results.manifest
    git = manifest.get("git") if isinstance(manifest.get("git"), dict) else {}
    tree = {True: "with uncommitted changes", False: "clean"}.get(git.get("dirty"), "unknown")
    made = [
        ("command", manifest.get("command")),
        ("preset", manifest.get("preset")),
        ("seed", manifest.get("seed")),
        ("started", manifest.get("started_at")),
        ("finished", manifest.get("finished_at")),
        ("commit", git.get("commit")),
        ("working tree", tree),
    ]
    if manifest.get("resumed_at"):
        made.insert(5, ("resumed", manifest["resumed_at"]))
    target = list(results.target.items())
    return _as_text(
        [
            ("How it was made", made),
            ("Target", target),
            ("Profile", _profile(results.profile)),
            ("Origin", _items(manifest, "origin")),
        ]
    )


def describe_run(run):
    """Return [(heading, [(label, text)])] on one run; headings without any row are left out."""
    manifest = run.manifest
    plans = [("all requests", manifest.get("plan_hash"))] + [
        (
            f"plan {plan.id}",
            f"repetition {plan.repetition}: {plan.requests} iterations, {plan.writes} edits, "
            f"{plan.distinct_pages} different pages, {plan.plan_hash}",
        )
        for plan in list(run.plans.values())[:PLANS_MAX]
    ]
    if len(run.plans) > PLANS_MAX:
        plans.append(("and", f"{len(run.plans) - PLANS_MAX} more plans, in manifest.json"))
    doors = [(door.name, f"{door.url}, {'with' if door.caching else 'without'} a cache") for door in run.doors.values()]
    definition = {key: value for key, value in run.experiment.items() if key not in ("settings", "factors")}
    settings = [*_items(run.experiment, "settings"), ("factors", run.experiment.get("factors"))]
    groups = [
        ("Definition", list(definition.items())),
        ("Settings", settings),
        ("Doors", doors),
        ("What was verified of the zone", _verification(manifest)),
        ("Plans", plans),
        ("Versions", _items(manifest, "versions")),
        ("Host", _items(manifest, "host")),
        ("Hashes of the configuration", _items(manifest, "config_hashes")),
    ]
    return _as_text(groups)


def _verification(manifest):
    """The result of `stevec cloudflare verify` before the run."""
    value = manifest.get("verification")
    if not isinstance(value, dict):
        return []
    checks = value.get("checks") if isinstance(value.get("checks"), list) else []
    rows = [(c.get("id"), f"{c.get('outcome')}: {c.get('saw')}") for c in checks if isinstance(c, dict)]
    return [("at", value.get("verified_at")), *rows]


def _profile(profile):
    """The requested profile, the applied part, and the missing part."""
    if not profile:
        return []
    applied = profile.get("applied") if isinstance(profile.get("applied"), dict) else {}
    rows = [("name", profile.get("name")), ("sha256", profile.get("sha256")), ("asked for", profile.get("asked"))]
    rows += [(f"{key} applied", {True: "yes", False: "no"}.get(value, "unknown")) for key, value in applied.items()]
    missing = profile.get("missing")
    rows.append(("missing", "; ".join(map(str, missing)) if isinstance(missing, list) and missing else "nothing"))
    rows.append(("calibration", profile.get("calibration") or "none"))
    return rows


def _as_text(groups):
    return [
        (heading, [(str(label)[:TEXT_MAX_CHARS], _text(value)) for label, value in rows[:ROWS_MAX]])
        for heading, rows in groups
        if rows
    ]


def _items(manifest, key):
    value = manifest.get(key)
    return list(value.items()) if isinstance(value, dict) else []


def _text(value):
    """Return one line of text for any JSON value."""
    if value is None:
        return "unknown"
    if isinstance(value, list) and value and all(isinstance(entry, str | int | float) for entry in value):
        value = ", ".join(str(entry) for entry in value[:ENTRIES_MAX])
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= TEXT_MAX_CHARS else f"{text[:TEXT_MAX_CHARS]}…"
