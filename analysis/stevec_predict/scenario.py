"""What to predict: the load, the caches and their policy, with checks."""

import math
from dataclasses import dataclass, replace

import numpy as np

from stevec_predict.closed_form import FINITE_LIVES_MAX
from stevec_predict.popularity import EXPONENT_MAX, PAGES_MAX

POLICIES = ("ttl", "ttl+swr", "purge-url", "purge-tag", "revalidate", "no-store")
# The wiki's name: the name here, where they differ. The purge log has tags, too, and no copy that it misses.
POLICY_OF = {"ttl-swr": "ttl+swr", "bounded": "purge-tag"}
PURGING = ("purge-url", "purge-tag")
POPS_MAX = 10_000
YEAR_S = 366 * 86_400


class ScenarioError(Exception):
    """A scenario cannot be predicted; `str(error)` says which value is wrong and what to do."""


@dataclass(frozen=True)
class Scenario:
    """What to predict. Ratios are 0 to 1; `rate_per_s` counts reads and edits over all edges together.

    `edits_zipf` None: edits follow the same popularity as reads. `pop_shares` are the edges' shares of the reads,
    sum 1. `tag_pages` is the number of pages that one edit purges under `purge-tag`. `run_s` None is the steady
    state; otherwise it is a run of that length that starts with empty caches. `fetch_s` is the response time of the
    origin, for collapsing and races. `read_before_edit`: each edit starts with a read of its page, which counts as
    one of the reads.
    """

    pages: int
    rate_per_s: float
    zipf: float = 0.0
    edits: float = 0.0
    edits_zipf: float | None = None
    policy: str = "ttl"
    ttl_s: float = 180.0
    swr_s: float = 0.0
    purge_delay_s: float = 0.0
    tag_pages: float = 1.0
    pop_shares: tuple[float, ...] = (1.0,)
    tiered: bool = False
    run_s: float | None = None
    fetch_s: float = 0.05
    collapse: bool = True
    read_before_edit: bool = False
    seed: int = 1

    @property
    def edit_exponent(self) -> float:
        """The Zipf exponent of the edits."""
        return self.zipf if self.edits_zipf is None else self.edits_zipf

    def __post_init__(self) -> None:
        """Raise ScenarioError on the first impossible value."""
        _within("pages", self.pages, 1, PAGES_MAX)
        _within("zipf", self.zipf, 0, EXPONENT_MAX)
        if self.edits_zipf is not None:
            _within("edits-zipf", self.edits_zipf, 0, EXPONENT_MAX)
            if self.edits_zipf > 0 and self.zipf == 0:
                raise ScenarioError("edits-zipf ranks pages as reads do, so zipf has to be above 0 as well")
        _within("rate", self.rate_per_s, 1e-9, 1e10)
        _within("edits", self.edits, 0, 0.999)
        if self.policy not in POLICIES:
            raise ScenarioError(f"policy is one of {', '.join(POLICIES)}, not {self.policy!r}")
        _within("ttl", self.ttl_s, 1e-3, YEAR_S)
        _within("swr", self.swr_s, 0, YEAR_S)
        _within("purge-delay", self.purge_delay_s, 0, 86_400)
        _within("tag-pages", self.tag_pages, 1, max(self.pages, 1))
        _within("fetch", self.fetch_s, 0, 600)
        if not 1 <= len(self.pop_shares) <= POPS_MAX or min(self.pop_shares) <= 0:
            raise ScenarioError(f"pops are 1 to {POPS_MAX}, each with a share above 0")
        if not math.isclose(math.fsum(self.pop_shares), 1, rel_tol=1e-6):
            raise ScenarioError(f"the shares of the pops add up to {math.fsum(self.pop_shares):.6g}, not 1")
        if self.swr_s > 0 and self.policy != "ttl+swr":
            raise ScenarioError(f"swr belongs to the policy ttl+swr, not to {self.policy}")
        if self.policy == "ttl+swr" and self.swr_s == 0:
            raise ScenarioError("the policy ttl+swr needs swr, the seconds that a stale copy may still be used")
        if self.purge_delay_s > 0 and self.policy not in PURGING:
            raise ScenarioError(f"purge-delay belongs to {' and '.join(PURGING)}, not to {self.policy}")
        if self.read_before_edit and (self.policy != "ttl" or self.tiered or len(self.pop_shares) > 1):
            raise ScenarioError("reads before edits have a model for ttl at one place only")
        if self.tiered and self.policy == "ttl+swr":
            raise ScenarioError("tiered has no model for ttl+swr: leave out tiered, or predict ttl alone")
        if not self.collapse and (self.policy == "ttl+swr" or self.tiered or self.read_before_edit):
            which = "tiered" if self.tiered else "reads before edits" if self.read_before_edit else self.policy
            raise ScenarioError(f"{which} has no model without collapsing: leave out no-collapse")
        if self.run_s is not None:
            _within("duration", self.run_s, 1e-3, YEAR_S)
            if self.tiered:
                raise ScenarioError("tiered is predicted in the steady state: leave out duration and requests")


def shares_by_zipf(pops: int, exponent: float) -> tuple[float, ...]:
    """Shares of `pops` edges, of which the j-th is proportional to j^-exponent; with 0 all are equal."""
    weights = np.arange(1, pops + 1, dtype=float) ** -exponent
    return tuple((weights / weights.sum()).tolist())


def is_finite(scenario: Scenario) -> bool:
    """Whether the run is so short that its cold start counts, or the time before its first purge."""
    slowest_s = max(scenario.ttl_s, scenario.purge_delay_s)
    return scenario.run_s is not None and scenario.run_s <= FINITE_LIVES_MAX * slowest_s


def has_closed_form(scenario: Scenario) -> bool:
    """Whether `predict` has a closed form and need not simulate."""
    if scenario.run_s is None or not is_finite(scenario):
        return True  # so long that the steady state is accurate enough
    if not scenario.collapse and scenario.fetch_s > 0:
        return False
    return scenario.policy == "ttl" or (scenario.policy in PURGING and scenario.ttl_s >= scenario.run_s)


def vary_ttl(scenario: Scenario, factor: float) -> Scenario:
    """Return the same scenario with its lifetime multiplied by `factor`."""
    return replace(scenario, ttl_s=scenario.ttl_s * factor)


def _within(name: str, value: object, least: float, most: float) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        shown = f"{value:g}" if isinstance(value, int | float) else value
        raise ScenarioError(f"{name} is {shown}, and has to be a number from {least:g} to {most:g}")
