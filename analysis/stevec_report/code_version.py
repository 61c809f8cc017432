"""The commit of the code that analyses, which need not be the commit that ran."""

import subprocess
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
PATHS = ("stevec_report", "stevec_predict", "reference", "prices")  # what decides the bytes of a report
GIT_TIMEOUT_S = 10
NOT_KNOWN = "not known"  # outside of a git checkout


@cache
def describe(folder: Path = FOLDER) -> str:
    """Return the last commit that changed the code in `folder`, and whether files differ from it.

    A commit that touches other code changes nothing here, so that the same code gives the same report.
    """
    paths = [path for path in PATHS if (folder / path).exists()]
    commit = _git(folder, "log", "-1", "--format=%H", "--", *paths)
    if not commit:
        return NOT_KNOWN
    changed = _git(folder, "status", "--porcelain", "--", *paths)
    return f"{commit}, with uncommitted changes" if changed else commit


def _git(folder: Path, *arguments: str) -> str:
    """What git prints; '' if it fails, is not installed, or hangs."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=GIT_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
