"""Where the numbers come from, as labelled rows of text, taken from manifest.json as it stands."""

import json

ROWS_MAX = 100
TEXT_MAX_CHARS = 300
ENTRIES_MAX = 40  # shown of one list of strings in one value


def describe_provenance(run):
    """Return [(heading, [(label, text)])]; headings without any row are left out."""
    manifest = run.manifest
    git = manifest.get("git") if isinstance(manifest.get("git"), dict) else {}
    tree = {True: "with uncommitted changes", False: "clean"}.get(git.get("dirty"), "unknown")
    made = [
        ("command", manifest.get("command")),
        ("preset", manifest.get("preset")),
        ("seed", manifest.get("seed")),
        ("plan hash", manifest.get("plan_hash")),
        ("started", manifest.get("started_at")),
        ("finished", manifest.get("finished_at")),
        ("commit", git.get("commit")),
        ("working tree", tree),
    ]
    plans = [
        (
            f"repetition {plan.repetition}",
            f"{plan.requests} requests, {plan.distinct_pages} different pages, {plan.plan_hash}",
        )
        for plan in run.plans.values()
    ]
    doors = [
        (door.name, f"{door.url}, {'with' if door.caching else 'without'} a cache")
        for door in run.doors.values()
    ]
    groups = [
        ("How the run was made", made),
        ("Settings", list(run.experiment.items())),
        ("Doors", doors),
        ("Plans", plans),
        ("Versions", _items(manifest, "versions")),
        ("Host", _items(manifest, "host")),
        ("Hashes of the configuration", _items(manifest, "config_hashes")),
    ]
    return [
        (heading, [(str(label), _text(value)) for label, value in rows[:ROWS_MAX]])
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
    if isinstance(value, list) and all(isinstance(entry, str | int | float) for entry in value):
        value = ", ".join(str(entry) for entry in value[:ENTRIES_MAX])
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= TEXT_MAX_CHARS else f"{text[:TEXT_MAX_CHARS]}…"
