"""The thresholds of verdicts, stated with the experiment (`thresholds` in loadgen/experiments/*.json).

The run's manifest has them before its first trial, so none is chosen after the data. Older runs lack them: then the
defaults hold, which are the values that were in the code, and `recorded` is false.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from stevec_report import wording
from stevec_report.hypothesis_tests import ALPHA
from stevec_report.run_folder import RunFolderError
from stevec_report.tolerance import TOLERATED_MS


@dataclass(frozen=True)
class Thresholds:
    """Limits of verdicts.

    alpha: chance of a wrong verdict on a hypothesis; hypotheses: how many are corrected for together.
    equivalence_ratio: ratios within 1 ÷ this to this are no difference.
    far_more_ratio: what "far more", "far longer" and, from below, "a little" mean.
    tolerated_ms: a user waits for a page so long.
    origin_ratio_max: "the cache answers most" if the origin gets a smaller share of the requests.
    hit_ratio_max: hits are rare below this share.
    """

    alpha: float = ALPHA
    hypotheses: int = 6
    equivalence_ratio: float = 1.1
    far_more_ratio: float = 2.0
    tolerated_ms: float = TOLERATED_MS
    origin_ratio_max: float = 0.5
    hit_ratio_max: float = 0.1
    recorded: bool = False


DEFAULT = Thresholds()
# The study's "a little longer" was 16 %, its "far longer" 64 %.
DEFAULTS = dict.fromkeys(("write-vs-read-direct", "write-vs-read-cached"), Thresholds(far_more_ratio=1.25))
NAMES = tuple(field.name for field in fields(Thresholds) if field.name != "recorded")
RATIOS_ABOVE_1 = ("equivalence_ratio", "far_more_ratio")


def read(experiment: Mapping[str, Any]) -> Thresholds:
    """The `Thresholds` of a run's experiment, as its manifest has it. RunFolderError for one that makes no sense."""
    default = DEFAULTS.get(str(experiment.get("name")), DEFAULT)
    stated = experiment.get("thresholds")
    if stated is None:
        return default
    if not isinstance(stated, dict) or stated.keys() - set(NAMES):
        raise RunFolderError(f"manifest.json: thresholds is not an object of {', '.join(NAMES)}.")
    for name, value in stated.items():
        if type(value) not in (int, float) or not _is_sensible(name, value):
            raise RunFolderError(f"manifest.json: thresholds.{name} is {str(value)[:40]}, which makes no sense.")
    return replace(default, **stated, recorded=True)


def describe(experiment: Mapping[str, Any]) -> str:
    """`alpha 0.05, hypotheses 6, equivalence_ratio 1.1`, those that the experiment states, or that none is recorded."""
    found = read(experiment)
    if not found.recorded:
        return f"thresholds {wording.NOT_RECORDED} before this run; the defaults hold"
    return ", ".join(f"{name} {value:g}" for name, value in experiment["thresholds"].items())


def _is_sensible(name: str, value: float) -> bool:
    if not math.isfinite(value) or value <= 0:
        return False
    if name in RATIOS_ABOVE_1:
        return value > 1
    if name == "hypotheses":
        return isinstance(value, int)
    return name == "tolerated_ms" or value < 1
