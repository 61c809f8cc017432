"""Whether two manifests are of runs that can be compared."""

import json

# What makes two runs two different measurements, whatever anybody says.
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
# What may be the very thing that is compared, or spoil the comparison.
ARGUABLE = {
    "the processor": ("host", "cpu_model"),
    "the number of cores": ("host", "cores"),
    "the memory": ("host", "memory_bytes"),
    "the kernel": ("host", "kernel"),
    "the versions": ("versions",),
    "the origin": ("origin", "kind"),
    "whether the origin was emulated": ("origin", "emulated"),
    "the origin's machine": ("origin", "machine"),
    # The same profile, calibrated anew, is another board.
    "what was fitted": ("profile", "calibration", "fitted"),
}
# What manifests did not say before the origin was a choice.
DEFAULTS = {"origin": {"kind": "local", "emulated": False, "machine": None}}
SHOWN_MAX_CHARS = 120


def differences(one, other, names):
    """Return sentences on the fields of `names` (`FATAL`, `ARGUABLE`) in which two manifests differ."""
    found = []
    for what, path in names.items():
        a, b = _at(DEFAULTS | one, path), _at(DEFAULTS | other, path)
        if a != b:
            if isinstance(a, dict) and isinstance(b, dict):
                keys = [key for key in sorted(a.keys() | b.keys()) if a.get(key) != b.get(key)]
                shown = [f"{key}: {_shown(a.get(key))} and {_shown(b.get(key))}" for key in keys[:5]]
                found.append(f"{what} differ ({'; '.join(shown)})")
            else:
                found.append(f"{what} differs ({_shown(a)} and {_shown(b)})")
    return found


def plan_differences(one, other):
    """Return sentences on plans that one seed made differently: then the lab that made them is another one."""
    if one.get("seed") is None or one.get("seed") != other.get("seed"):
        return []
    plans = _plans(one), _plans(other)
    differing = [r for r in sorted(plans[0].keys() & plans[1].keys()) if plans[0][r] != plans[1][r]]
    if not differing:
        return []
    return [f"the requests differ, although seed and settings are the same (repetition {differing[0]})"]


def share_plan(one, other):
    """Whether both runs sent the same requests in the same order, so that their trials are pairs."""
    return one.get("plan_hash") is not None and one.get("plan_hash") == other.get("plan_hash")


def _plans(manifest):
    """{repetition: sorted hashes of its plans}."""
    found = {}
    for plan in manifest.get("plans") or []:
        if isinstance(plan, dict) and isinstance(plan.get("repetition"), int):
            found.setdefault(plan["repetition"], []).append(str(plan.get("hash")))
    return {repetition: sorted(hashes) for repetition, hashes in found.items()}


def _at(value, path):
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _shown(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_MAX_CHARS else f"{text[:SHOWN_MAX_CHARS]}…"
