"""Builds small run and study folders in the format of schema version 2, from a seed: a fixture, not data.

A toy server and a toy cache answer the requests, at times drawn from lognormal distributions; no figure
made from them says anything about a real system.

    python analysis/tests/run_folder_fixture.py FOLDER      writes a study of all experiments to look at
"""

import csv
import gzip
import io
import itertools
import json
import math
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

DOORS = {
    "cached": {"url": "http://wiki.localhost:8080", "caching": True},
    "nocache": {"url": "http://nocache.localhost:8080", "caching": False},
    "source": {"url": "http://source.localhost:8081", "caching": False},
    "local": {"url": "http://localhost:8082", "caching": True},
}
# Typical response time in ms from the origin, and from the cache.
LEVELS_MS = {"source": (12.0, None), "nocache": (14.0, None), "local": (14.0, 2.4), "cached": (14.5, 5.5)}
PURGE_US = 60_000  # from an edit until the toy cache drops the page
WRITE_FACTOR = {"source": 1.16, "nocache": 1.16, "local": 1.5, "cached": 1.2}
BETWEEN_MS = 1.0  # from the client to the door and back
UNCACHED_STATUS = {"source": "", "nocache": "BYPASS"}
HEADER = ["sent_at_us", "iteration", "page", "method", "status", "error_code", "cache_status"]
HEADER += ["duration_ms", "size_bytes", "revision"]
CURRENT_HEADER = ["planned_at_us", *HEADER[:5], "failure", "phase", *HEADER[5:]]
BEGIN = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
SETTINGS = {
    "door": "cached",
    "pages": 20,
    "page_size_chars": 5000,
    "requests": 200,
    "edit_ratio": 0,
    "edit": "post",
    "edit_size_chars": None,
    "model": "closed",
    "vus": 1,
    "pause_s": 0,
    "rate_per_s": None,
    "connection_reuse": False,
    "ttl_s": 180,
    "duration_max_s": 150,
    "bound": "requests",
    "background_vus": 0,
    "timeout_s": 60,
}
# Small forms of the lab's experiments: id, repetitions, settings that differ, factors.
EXPERIMENTS = {
    "read-hot": ("E1", 5, {}, {"door": ["source", "nocache", "local", "cached"]}),
    "read-sparse": ("E2", 5, {"pages": 1000, "requests": 60}, {"door": ["nocache", "cached"]}),
    "overload": (
        "E3",
        2,
        {"pages": 200, "requests": 30, "page_size_chars": [100, 10000], "bound": "either", "duration_max_s": 3},
        {"door": ["source", "cached"], "background_vus": [0, 5, 20, 60, 250]},
    ),
    "overload-open": (
        "E3",
        1,
        {
            "pages": 200,
            "requests": 1_000_000,
            "model": "open",
            "vus": 50,
            "bound": "either",
            "duration_max_s": 1,
            "rate_per_s": 10,
        },
        {"door": ["source", "cached"], "rate_per_s": [20, 50, 100, 200]},
    ),
    "at-once": ("E3", 1, {"pages": 200, "requests": 300, "vus": 300}, {"door": ["source", "cached"]}),
    "mixed-write": (
        "E4",
        2,
        {"pages": 20, "requests": 600, "edit": "get-post", "model": "open", "rate_per_s": 100, "ttl_s": 2},
        {
            "page_size_chars": [5000, 50000],
            "workload": {"mixed": {"edit_ratio": 0.05}, "get-only": {"edit_ratio": 0}},
        },
    ),
    "write-vs-read-direct": (
        "E5",
        5,
        {"door": "source", "requests": 50, "page_size_chars": 1000, "edit_size_chars": 1000},
        {"operation": {"write": {"edit_ratio": 1, "pages": 100}, "read": {"edit_ratio": 0, "pages": 30}}},
    ),
    "write-vs-read-cached": (
        "E6",
        5,
        {"door": "cached", "pages": 30, "requests": 50, "page_size_chars": 1000, "edit_size_chars": 1000},
        {"operation": {"write": {"edit_ratio": 1}, "read": {"edit_ratio": 0}}},
    ),
}


def build_run_folder(
    parent,
    *,
    experiment="read-hot",
    repetitions=None,
    seed=1,
    name=None,
    failures_at=None,
    profile=None,
    factors=None,
    **settings,
):
    """Write a complete and valid run into a new folder under `parent` and return its path.

    Args:
        experiment: a name in EXPERIMENTS, or any other with `factors`.
        failures_at: {trial: n}: the wiki answered the last n requests of the trial with 503.
        settings: settings that replace the experiment's.
    """
    identity, own_repetitions, own_settings, own_factors = EXPERIMENTS.get(experiment, ("X1", 2, {}, {}))
    repetitions = repetitions or own_repetitions
    settings = SETTINGS | own_settings | settings
    factors = factors or own_factors
    rng = np.random.default_rng(seed)
    run = parent / (name or f"20261121T100000Z-{experiment}-abc1234")
    (run / "trials").mkdir(parents=True)
    plans, trials, moment = {}, 0, BEGIN
    cells = list(_cells(factors))
    for repetition in range(1, repetitions + 1):
        for index in rng.permutation(len(cells)):
            cell, changes = cells[index]
            own = settings | changes
            plan = _plan(plans, repetition, own, rng)
            trials += 1
            trial = _Trial(run, trials, repetition, cell, own, plan, moment, rng, (failures_at or {}).get(trials, 0))
            moment += timedelta(seconds=trial.write() + 1.5)
    manifest = _manifest(experiment, identity, repetitions, settings, factors, seed, plans, trials, moment)
    manifest["profile"] = profile or manifest["profile"]
    write_json(run / "manifest.json", manifest)
    return run


def build_study_folder(parent, *, experiments=tuple(EXPERIMENTS), profile=None, **settings):
    """Write a complete study of small runs under `parent` and return its path."""
    study = parent / "20261121T100000Z-study-abc1234"
    runs = []
    for at, experiment in enumerate(experiments):
        build_run_folder(
            study / "runs", experiment=experiment, name=experiment, seed=at + 1, profile=profile, **settings
        )
        runs.append(
            {
                "experiment": experiment,
                "id": EXPERIMENTS[experiment][0],
                "directory": f"runs/{experiment}",
                "status": "complete",
            }
        )
    inner = json.loads((study / "runs" / experiments[0] / "manifest.json").read_text(encoding="utf-8"))
    manifest = {key: inner[key] for key in ("schema_version", "status", "preset", "seed", "profile", "git")}
    manifest |= {"kind": "study", "command": "stevec run study --preset quick", "resumed_at": [], "runs": runs}
    manifest |= {"started_at": inner["started_at"], "finished_at": inner["finished_at"]}
    write_json(study / "manifest.json", manifest)
    return study


def write_json(path, value):
    """Write `value` as JSON."""
    path.write_text(json.dumps(value), encoding="utf-8")


def edit_json(path, change):
    """Let `change(object)` alter the JSON file in place."""
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    write_json(path, value)


def find_trial(run, repetition=1, **cell):
    """Return (number, folder) of one trial by its cell, such as door="source"."""
    wanted = {key: json.loads(json.dumps(value)) for key, value in cell.items()}
    for folder in sorted((run / "trials").iterdir()):
        value = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
        if value["repetition"] == repetition and wanted.items() <= value["cell"].items():
            return value["trial"], folder
    raise LookupError((cell, repetition))


def write_gzip(path, data):
    """Write bytes as gzip without a timestamp, so that equal data give equal files."""
    with path.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="", compresslevel=1) as file:
        file.write(data)


def edit_samples(folder, change, kind="samples"):
    """Let `change(lines)` return other lines for samples.csv.gz; the first one is the header."""
    path = folder / f"{kind}.csv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    write_gzip(path, "".join(f"{line}\n" for line in change(lines)).encode())


def plan_samples(folder, lag_ms, never_sent=0):
    """Give a trial the columns of an open model: the i-th request was sent `lag_ms(i)` after its planned time."""

    def edit(lines):
        out = [",".join(CURRENT_HEADER)]
        for i, cells in enumerate(csv.reader(io.StringIO("\n".join(lines[1:])))):
            failure = "" if 200 <= int(cells[4]) < 400 else "status"
            planned_us = int(cells[0]) - round(1000 * lag_ms(i))
            out.append(",".join([str(planned_us), *cells[:5], failure, "", *cells[5:]]))
        last_us = int(out[-1].split(",")[0])
        out += [f"{last_us + i},,{len(lines) - 1 + i},page-000001,GET,0,never-sent,,,,,," for i in range(never_sent)]
        return out

    edit_samples(folder, edit)
    lags = sorted(lag_ms(i) for i in range(60))
    schedule = {"never_sent": never_sent, "lag_p50_ms": lags[30], "lag_p99_ms": lags[59], "lag_max_ms": lags[59]}
    edit_json(folder / "trial.json", lambda trial: trial.update(schedule=schedule | {"response_mean_ms": 1.0}))


def saturate(folder, limit="nothing", *, disturbed=None, cores=2, **changes):
    """Let a trial say what the limit was, in place of whether the generator was limited; `changes` are of the field."""
    shares = {"generator": 0.3, "links": 0.05, "edge": 0.1, "origin": 0.1, "wiki": 0.3, "database": 0.1, "lab": 0.02}
    if limit in shares:
        shares[limit] += 0.99 - sum(shares.values())
    parts = {
        part: {
            "cpu_cores": round(share * cores, 3),
            "busiest_thread_cores": round(min(1, 0.9 * share * cores), 3),
            "run_queue_cores": round(share, 3),
        }
        for part, share in shares.items()
    }
    busy = round(min(cores, sum(part["cpu_cores"] for part in parts.values()) + 0.02), 3)
    value = {
        "limit": limit,
        "evidence": f"the cores were {100 * busy / cores:.0f} % busy",
        "disturbed": disturbed,
        "sampled_s": 3.0,
        "cores": cores,
        "busy_cores": busy,
        "idle_cores": round(cores - busy, 3),
        "stolen_cores": 0.0,
        "others_cores": 0.02,
        "pressure_ratio": 0.1,
        "held_up_ratio": 0.0,
        "parts": parts,
    }

    def tell(trial):
        trial["saturation"] = value | changes
        trial["k6"].pop("generator_limited", None)

    edit_json(folder / "trial.json", tell)


def resume(run, trials, *changes, at="2026-11-21T12:00:00.000Z"):
    """Let the manifest say that `trials` ran after a resumption, and what had changed since the run began."""

    def tell(manifest):
        manifest.setdefault("resumptions", []).append({"at": at, "trials": list(trials), "changes": list(changes)})
        manifest["resumed_at"].append(at)

    edit_json(run / "manifest.json", tell)


def edit_column(folder, column, change):
    """Let `change(text)` replace every value of a column of samples.csv.gz."""

    def edit(lines):
        at = HEADER.index(column)
        out = [lines[0]]
        for cells in csv.reader(io.StringIO("\n".join(lines[1:]))):
            cells[at] = change(cells[at])
            out.append(",".join(cells))
        return out

    edit_samples(folder, edit)


def scale_times(folder, factor):
    """Multiply the response times of a trial, in its samples and logs, and let it end an hour later."""
    edit_column(folder, "duration_ms", lambda text: f"{float(text) * factor:.6f}")
    for log in folder.glob("*.log.gz"):
        lines = [json.loads(line) for line in gzip.decompress(log.read_bytes()).splitlines()]
        scaled = [line | {"duration_s": line["duration_s"] * factor} for line in lines]
        write_gzip(log, "".join(f"{json.dumps(line)}\n" for line in scaled).encode())

    def later(trial):
        end = datetime.fromisoformat(trial["finished_at"]) + timedelta(hours=1)
        trial["finished_at"] = text_of(end)
        trial["monotonic_s"] += 3600

    edit_json(folder / "trial.json", later)


def truncate(path, share=0.5):
    """Cut a file off."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def _cells(factors):
    """Yield ({factor: level}, {setting: value}) for every combination of levels."""
    levels = []
    for factor, values in factors.items():
        if isinstance(values, dict):
            levels.append([((factor, name), changes) for name, changes in values.items()])
        else:
            levels.append([((factor, value), {factor: value}) for value in values])
    for combination in itertools.product(*levels):
        cell, changes = {}, {}
        for (factor, level), change in combination:
            cell[factor] = level
            changes |= change
        yield cell, changes


def _plan(plans, repetition, settings, rng):
    """The requests of a repetition; cells that differ only in the share of edits request the same pages."""
    length = min(settings["requests"], 5000)
    key = (repetition, settings["pages"], settings["requests"], settings["edit_ratio"])
    if key not in plans:
        pages = rng.integers(0, settings["pages"], length)
        edits = rng.random(length) < settings["edit_ratio"]
        twin = plans.get((*key[:3], 0)) or next((p for k, p in plans.items() if k[:3] == key[:3]), None)
        plans[key] = {
            "id": f"p{len(plans) + 1}",
            "pages": twin["pages"] if twin else pages,
            "edits": edits,
            "requests": settings["requests"],
            "repetition": repetition,
        }
    return plans[key]


class _Trial:
    """One trial: a toy wiki behind a toy cache gets the requests of a plan."""

    def __init__(self, run, number, repetition, cell, settings, plan, moment, rng, failures):
        self.folder = run / "trials" / f"{number:04d}"
        self.number, self.repetition, self.cell, self.settings = number, repetition, cell, settings
        self.plan, self.moment, self.rng, self.failures = plan, moment, rng, failures
        self.door = settings["door"]
        self.caching = DOORS[self.door]["caching"]
        self.begin_us = int(moment.timestamp() * 1e6)
        self.fresh_until, self.revision, self.copy = {}, {}, {}
        self.policy = settings.get("policy")
        self.level = rng.lognormal(0, 0.03)  # varies from trial to trial

    def write(self):
        """Write the trial and return how many seconds it lasted."""
        self.folder.mkdir()
        rows, dropped = self._ask()
        if self.failures:
            for row in rows[-self.failures :]:
                row[4], row[6] = 503, "MISS" if self.caching else row[6]
        begun_us = rows[0][0]
        ended_us = max(row[0] + round(row[7] * 1000) for row in rows)
        _write_samples(self.folder / "samples.csv.gz", rows)
        background = self._background(begun_us, ended_us) if self.settings["background_vus"] else []
        if background:
            _write_samples(self.folder / "background.csv.gz", background)
        sent = rows + background
        served = sum(row[6] == "HIT" for row in sent)
        writes = sum(row[3] == "POST" for row in sent)
        counter = len(sent) - served
        log_lines = write_logs(self.folder, self.door, sent)
        seconds = (ended_us - self.begin_us) / 1e6 + 1.2
        trial = {
            "trial": self.number,
            "repetition": self.repetition,
            "plan": self.plan["id"],
            "door": self.door,
            "cell": self.cell,
            "settings": self.settings,
            "valid": True,
            "invalid_reasons": [],
            "started_at": text_of(self.moment),
            "finished_at": text_of(self.moment + timedelta(seconds=seconds)),
            "monotonic_s": round(seconds, 3),
            "cold_proof": {"cold": True, "observed": ["MISS", "HIT", "MISS"], "origin_requests": 2},
            "requests_planned": self.plan["requests"],
            "distinct_pages": len({row[2] for row in rows}),
            "counter": {"requests": counter, "reads": counter - writes, "writes": writes},
            "counter_expected": None,
            "purges": self._purges(writes),
            "log_lines": log_lines,
            "k6": k6_facts(seconds, dropped),
            "background": None,
            "overlap": None,
        }
        trial |= _counts(rows)
        trial |= {"reads_sent": len(rows) - (w := sum(r[3] == "POST" for r in rows)), "writes_sent": w}
        if not background and not writes and not self.failures and self.settings["model"] == "closed":
            trial["counter_expected"] = trial["distinct_pages"] if self.caching else len(rows)
        if background:
            first, last = min(r[0] for r in background), max(r[0] + round(r[7] * 1000) for r in background)
            trial["background"] = {"vus": self.settings["background_vus"], "started_at_us": first}
            trial["background"] |= {"finished_at_us": last, **_counts(background), "completed_per_s": []}
            trial["background"] |= {"rate_per_min": 0.0, "k6": k6_facts(seconds, 0)}
            trial["overlap"] = {"probe_first_sent_at_us": begun_us, "probe_last_done_at_us": ended_us}
            trial["overlap"] |= {"background_first_sent_at_us": first, "background_last_done_at_us": last}
            trial["overlap"]["proved"] = True
        write_json(self.folder / "trial.json", trial)
        return seconds

    def _purges(self, writes):
        if self.policy != "purge-url":
            return None
        return {"told": True, "calls": 2 * writes, "failed": 0, "urls": 16 * writes, "tags": 0, "hosts": 0}

    def _ask(self):
        """Return the rows of the probe, and how many iterations were dropped."""
        settings, rows, now_us = self.settings, [], self.begin_us + 500_000
        deadline_us = now_us + settings["duration_max_s"] * 1_000_000
        dropped, crowd = 0, settings["background_vus"]
        for i in range(len(self.plan["pages"])):
            page, edit = int(self.plan["pages"][i]), bool(self.plan["edits"][i])
            if settings["model"] == "open":
                now_us = self.begin_us + 500_000 + int(i * 1e6 / settings["rate_per_s"])
                crowd = settings["rate_per_s"] / 10
                if not self.caching and settings["rate_per_s"] > 100 and i % 2:
                    dropped += 1
                    continue
            elif settings["vus"] > 1:
                now_us, crowd = self.begin_us + 500_000 + i, i
            if now_us >= deadline_us and settings["bound"] == "either":
                break
            after_us = now_us
            if not edit or settings["edit"] == "get-post":
                rows.append(self._send(i, page, "GET", after_us, crowd))
                after_us += round(rows[-1][7] * 1000)
            if edit:
                rows.append(self._send(i, page, "POST", after_us, crowd))
                after_us += round(rows[-1][7] * 1000)
            if settings["model"] == "closed" and settings["vus"] == 1:
                now_us = after_us + round(settings["pause_s"] * 1e6)
        return rows, dropped

    def _send(self, iteration, page, method, now_us, crowd):
        """Send a request to the toy cache and, on a miss, to the toy wiki; return a row of samples."""
        origin_ms, cache_ms = LEVELS_MS[self.door]
        name = f"page-{page:06d}"
        status = UNCACHED_STATUS.get(self.door, "MISS")
        wait_ms = origin_ms * (1 + (crowd if not self.caching else crowd / 40))
        if method == "POST":
            wait_ms *= WRITE_FACTOR[self.door]
            self.revision[page] = self.revision.get(page, 1) + 1
            purged_us = {"ttl": math.inf, "purge-url": now_us + PURGE_US}.get(self.policy, 0)
            self.fresh_until[page] = min(self.fresh_until.get(page, 0), purged_us)
            status = "BYPASS" if self.caching else status
        elif self.caching and self.policy == "no-store":
            status = "BYPASS"
        elif self.caching and now_us < self.fresh_until.get(page, 0):
            status, wait_ms = "HIT", cache_ms * (1 + crowd / 40)
        duration_ms = round(float(self.level * wait_ms * self.rng.lognormal(0, 0.2)), 6)
        if status == "MISS":
            self.fresh_until[page] = now_us + round(duration_ms * 1000) + self.settings["ttl_s"] * 1_000_000
            self.copy[page] = self.revision.get(page, 1)
        revision = self.copy[page] if status == "HIT" else self.revision.get(page, 1)
        return [now_us, iteration, name, method, 200, "", status, duration_ms, 5210, revision]

    def _background(self, begun_us, ended_us):
        """Rows of the background: requests at equal intervals from before the probe until after it."""
        rows, spacing = [], max(1, (ended_us - begun_us) // 40)
        for at in range(begun_us - 200_000, ended_us + 200_000, spacing):
            row = self._send(len(rows), int(self.rng.integers(0, self.settings["pages"])), "GET", at, 0)
            rows.append(row)
        rows[-1][7] = max(rows[-1][7], (ended_us + 1000 - rows[-1][0]) / 1000)
        return rows


def _counts(rows):
    values, counts = np.unique([row[6] for row in rows], return_counts=True)
    return {
        "requests_sent": len(rows),
        "requests_failed": sum(not 200 <= row[4] < 400 for row in rows),
        "served_by_cache": sum(row[6] == "HIT" for row in rows),
        "cache_statuses": dict(zip(values.tolist(), counts.tolist(), strict=True)),
    }


def _write_samples(path, rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(rows)
    write_gzip(path, text.getvalue().encode())


def write_logs(folder, door, rows):
    """Write the access logs that rows of samples leave at each nginx; return the lines of each."""
    passed = {"cached": "edge", "nocache": "edge", "local": "local"}.get(door)
    lines = {"edge": [], "local": [], "origin": []}
    for row in rows:
        method, status, cache_status, revision = row[3], row[4], row[6], row[9]
        line = {"host": f"{door}.localhost", "method": method, "uri": f"/wiki/{row[2]}", "status": status}
        line["sent_bytes"] = row[8]
        asked = cache_status != "HIT"
        line |= {"cache_status": cache_status if passed else "", "upstream_status": str(status) if asked else ""}
        line["page_revision"] = str(revision)
        line["duration_s"] = max(0.0, round(float(row[7]) - BETWEEN_MS, 3)) / 1000
        if passed:
            lines[passed].append(line)
        if asked:
            lines["origin"].append(line | {"cache_status": ""})
    for role, of_role in lines.items():
        text = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in of_role)
        write_gzip(folder / f"{role}.log.gz", text.encode())
    return {role: len(of_role) for role, of_role in lines.items()}


def k6_facts(seconds, dropped):
    """The facts about k6 in trial.json."""
    return {
        "exit_code": 0,
        "dropped_iterations": dropped,
        "wall_s": round(seconds, 3),
        "generator_cpu_s": round(seconds * 0.21, 3),
        "generator_cpu_share": 0.21,
        "generator_limited": False,
    }


def _manifest(experiment, identity, repetitions, settings, factors, seed, plans, trials, finished):
    return {
        "schema_version": 2,
        "kind": "run",
        "status": "complete",
        "experiment": {
            "id": identity,
            "name": experiment,
            "title": f"An experiment called {experiment}",
            "why": "The case that a fixture is made for.",
            "hypothesis": "The cache answers most requests and unburdens the origin.",
            "expected": "The origin sees every page once.",
            "study": {"section": "1.4.1", "tables": ["1.1", "1.2"], "figures": ["1.3"]},
            "settings": settings,
            "factors": factors,
            "repetitions": repetitions,
        },
        "preset": "quick",
        "command": f"stevec run {experiment} --preset quick",
        "seed": seed,
        "plan_hash": f"sha256:{seed:064x}",
        "plans": [
            {
                "id": plan["id"],
                "repetition": plan["repetition"],
                "hash": f"sha256:{at:064x}",
                "requests": plan["requests"],
                "reads": plan["requests"] - int(plan["edits"].sum()),
                "writes": int(plan["edits"].sum()),
                "distinct_pages": len(set(plan["pages"].tolist())),
            }
            for at, plan in enumerate(plans.values())
        ],
        "started_at": text_of(BEGIN),
        "finished_at": text_of(finished),
        "resumed_at": [],
        "trials_planned": trials,
        "profile": {
            "name": "none",
            "sha256": None,
            "asked": {},
            "applied": {"cpu": False, "memory": False, "links": False},
            "missing": [],
            "calibration": None,
        },
        "warm_up_requests": 3000,
        "git": {"commit": "abc1234abc1234abc1234abc1234abc1234abc12", "dirty": False},
        "versions": {"node": "20.20.0", "k6": "1.8.1", "nginx": "1.22.1", "mongod": "6.0.5"},
        "host": {
            "cpu_model": "A Processor",
            "cores": 2,
            "memory_bytes": 4_000_000_000,
            "kernel": "6.1.0",
            "load_average_1m": 0.3,
        },
        "config_hashes": {"edge.conf": f"sha256:{7:064x}"},
        "doors": DOORS,
    }


def text_of(moment):
    """A moment in the format of trial.json."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


if __name__ == "__main__":
    built = build_study_folder(Path(sys.argv[1]))
    for at, written in enumerate(sorted(built.glob("runs/*/trials/*"))):
        disturbed = None if at % 7 else "other processes had 14 % of the cores"
        saturate(written, ("nothing", "generator", "wiki", "machine")[at % 4], disturbed=disturbed)
    print(built)
