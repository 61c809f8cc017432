"""Checks in the manifests of runs whether the runs can be compared."""

import json
from collections.abc import Mapping
from typing import Any

# A difference in one of these makes two runs different measurements; --force does not override it.
FATAL = {
    "the experiment": ("experiment", "name"),
    "the settings": ("experiment", "settings"),
    "the factors": ("experiment", "factors"),
    "the profile": ("profile", "name"),
    "the profile's content": ("profile", "sha256"),
    "what of the profile was applied": ("profile", "applied"),
    "the kind of target": ("target", "kind"),
    "the zone": ("target", "zone"),
}
# What the spread between runs depends on.
MACHINE = {
    "the processor": ("host", "cpu_model"),
    "the number of cores": ("host", "cores"),
    "the memory": ("host", "memory_bytes"),
    "the kernel": ("host", "kernel"),
    "the origin": ("origin", "kind"),
    "whether the origin was emulated": ("origin", "emulated"),
    "the origin's machine": ("origin", "machine"),
    # A new calibration of the same profile gives a different board.
    "what was fitted": ("profile", "calibration", "fitted"),
}
# A difference in one of these may be the subject of the comparison, or may spoil it.
ARGUABLE = MACHINE | {"the versions": ("versions",)}
# The runs of one side are of one version.
VERSION = {"the commit": ("git", "commit"), "uncommitted changes": ("git", "changes_sha256")}
# Older manifests, from before the origin could be chosen, lack these fields.
DEFAULTS = {"origin": {"kind": "local", "emulated": False, "machine": None}}
SETTING_DEFAULTS = {"arrivals": "constant"}
SHOWN_MAX_CHARS = 120


def differences(one: dict[str, Any], other: dict[str, Any], names: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return sentences on the fields of `names` (`FATAL`, `ARGUABLE`) in which two manifests differ."""
    found = []
    for what, path in names.items():
        a, b = (_at(_with_defaults(manifest), path) for manifest in (one, other))
        if a != b:
            if isinstance(a, dict) and isinstance(b, dict):
                keys = [key for key in sorted(a.keys() | b.keys()) if a.get(key) != b.get(key)]
                shown = [f"{key}: {_shown(a.get(key))} and {_shown(b.get(key))}" for key in keys[:5]]
                found.append(f"{what} differ ({'; '.join(shown)})")
            else:
                found.append(f"{what} differs ({_shown(a)} and {_shown(b)})")
    return found


def _with_defaults(manifest: dict[str, Any]) -> dict[str, Any]:
    experiment = manifest.get("experiment")
    settings = experiment.get("settings") if isinstance(experiment, dict) else None
    if not isinstance(experiment, dict) or not isinstance(settings, dict):
        return DEFAULTS | manifest
    return DEFAULTS | manifest | {"experiment": experiment | {"settings": SETTING_DEFAULTS | settings}}


def plan_differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return sentences on plans that differ although the seed is the same: two versions of the lab made them."""
    if one.get("seed") is None or one.get("seed") != other.get("seed"):
        return []
    plans = _plans(one), _plans(other)
    differing = [r for r in sorted(plans[0].keys() & plans[1].keys()) if plans[0][r] != plans[1][r]]
    if not differing:
        return []
    return [f"the requests differ, although seed and settings are the same (repetition {differing[0]})"]


def conditions(manifest: dict[str, Any]) -> dict[str, Any]:
    """The part of a manifest that `FATAL` and `MACHINE` compare."""
    found: dict[str, Any] = {}
    for path in (FATAL | MACHINE).values():
        *parents, last = path
        inner = found
        for key in parents:
            inner = inner.setdefault(key, {})
        inner[last] = _at(_with_defaults(manifest), path)
    return found


def _plans(manifest: dict[str, Any]) -> dict[int, list[str]]:
    """{repetition: sorted hashes of its plans}."""
    found: dict[int, list[str]] = {}
    for plan in manifest.get("plans") or []:
        if isinstance(plan, dict) and isinstance(plan.get("repetition"), int):
            found.setdefault(plan["repetition"], []).append(str(plan.get("hash")))
    return {repetition: sorted(hashes) for repetition, hashes in found.items()}


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_MAX_CHARS else f"{text[:SHOWN_MAX_CHARS]}…"
