"""From a scenario to a prediction: chooses the model, sums over pages and edges, lists the assumptions."""

import math
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from stevec_predict import closed_form, simulation
from stevec_predict.popularity import EXPONENT_MAX, PAGES_MAX, shares_for, zipf

POLICIES = ("ttl", "ttl+swr", "purge-url", "purge-tag", "revalidate", "no-store")
POLICY_OF = {"ttl-swr": "ttl+swr"}  # the wiki's name: the name here, where they differ
PURGING = ("purge-url", "purge-tag")
POPS_MAX = 10_000
SIMULATED_REQUESTS_MAX = 2_000_000
FINITE_CELLS_MAX = 100_000  # classes of pages times distinct edges in a finite run
YEAR_S = 366 * 86_400
QUANTILE_STEPS = 40


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
    def edit_exponent(self):
        """The Zipf exponent of the edits."""
        return self.zipf if self.edits_zipf is None else self.edits_zipf

    def __post_init__(self):
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
        if self.run_s is not None:
            _within("duration", self.run_s, 1e-3, YEAR_S)
            if self.tiered:
                raise ScenarioError("tiered is predicted in the steady state: leave out duration and requests")


@dataclass(frozen=True)
class Prediction:
    """The expected values. Ratios are of reads; `None` where nothing is stale.

    `origin_per_s` are reads that reach the origin; `offload_bytes` counts a 304 as no bytes and any other response as
    a whole page. `binning_error` bounds the error of `hit_ratio` from grouping pages into classes.
    `race_stale_ratio` is to be added where a cache stores a response that was in flight when the purge arrived.
    """

    hit_ratio: float
    offload_requests: float
    offload_bytes: float
    stale_ratio: float
    staleness_p50_s: float | None
    staleness_p95_s: float | None
    reads_per_s: float
    origin_per_s: float
    edits_per_s: float
    purges_per_s: float
    race_stale_ratio: float
    binning_error: float
    seldom_miss_share: float
    model: str
    assumptions: tuple[str, ...] = field(default=())

    def to_json(self):
        """Return it as an object of plain values."""
        return asdict(self)


INDEPENDENT = "reads and edits come at random (Poisson) and independently; caches are never full"
ENDLESS = "the caches have been in use for long"


def predict(scenario):
    """Return the `Prediction` of a `Scenario`. ScenarioError if there is no model for it."""
    if scenario.policy in ("no-store", "revalidate"):
        return _always_asked(scenario)
    if not has_closed_form(scenario):
        return _simulated(scenario)
    popularity = zipf(scenario.pages, scenario.zipf)
    parts = _parts(scenario, popularity, popularity.share)
    hit = _sum(parts, lambda cycle: cycle.hits)
    stale_0 = _stale(parts, 0.0)
    ends = [
        _sum(_parts(scenario, popularity, share), lambda cycle: cycle.hits)
        for share in (popularity.highest, popularity.lowest)
    ]
    # The value of a class lies between those that it would have if all its pages were like its first, or its last.
    bound = abs(ends[0] - ends[1])
    fetches = _sum(parts, lambda cycle: cycle.fetches)
    origin = fetches if scenario.collapse else _uncollapsed(scenario, parts)
    reads_per_s = scenario.rate_per_s * (1 - scenario.edits)
    edits_per_s = scenario.rate_per_s * scenario.edits
    finite = _is_finite(scenario)
    return Prediction(
        hit_ratio=hit,
        offload_requests=1 - min(origin, 1),
        offload_bytes=1 - min(origin, 1),
        stale_ratio=stale_0,
        staleness_p50_s=_quantile(scenario, parts, stale_0, 0.5),
        staleness_p95_s=_quantile(scenario, parts, stale_0, 0.95),
        reads_per_s=reads_per_s,
        origin_per_s=reads_per_s * min(origin, 1),
        edits_per_s=edits_per_s,
        purges_per_s=edits_per_s if scenario.policy in PURGING else 0.0,
        race_stale_ratio=_race(scenario, parts),
        binning_error=bound,
        seldom_miss_share=_seldom(scenario, parts, 1 - hit),
        model=_name(scenario, finite),
        assumptions=tuple(_assumptions(scenario, finite)),
    )


def shares_by_zipf(pops, exponent):
    """Shares of `pops` edges, of which the j-th is proportional to j^-exponent; with 0 all are equal."""
    weights = np.arange(1, pops + 1, dtype=float) ** -exponent
    return tuple((weights / weights.sum()).tolist())


@dataclass(frozen=True)
class _Part:
    """Pages of all classes at edges of equal share: rates per page (classes,), and the share of all reads."""

    reads: np.ndarray
    edits: np.ndarray
    purges: np.ndarray
    weight: np.ndarray
    cycle: closed_form.Cycle


def _parts(scenario, popularity, share):
    """The rates at each kind of edge; `share` (classes,) is the share of the reads for one page of each class."""
    reads = scenario.rate_per_s * (1 - scenario.edits) * share
    edits = _edit_rates(scenario, popularity)
    purges = edits
    if scenario.policy == "purge-tag":
        others = (scenario.tag_pages - 1) / max(scenario.pages - 1, 1)
        purges = edits + others * (scenario.rate_per_s * scenario.edits - edits)
    if scenario.tiered:
        whole = _cycle(scenario, reads, edits, purges)
        rate = purges if scenario.policy in PURGING else np.zeros_like(purges)
        shares = np.array(scenario.pop_shares)
        cycle = closed_form.tiered(reads, shares, whole, closed_form.absent_until(rate, scenario.ttl_s))
        return [_Part(reads, edits, purges, popularity.pages * popularity.share, cycle)]
    kinds = list(zip(*np.unique(np.array(scenario.pop_shares), return_counts=True), strict=True))
    if _is_finite(scenario) and len(kinds) * reads.size > FINITE_CELLS_MAX:
        raise ScenarioError("so many different pops take too long for a finite run: leave out duration")
    return [
        _Part(
            reads * of_edge,
            edits,
            purges,
            popularity.pages * popularity.share * of_edge * edges,
            _cycle(scenario, reads * of_edge, edits, purges),
        )
        for of_edge, edges in kinds
    ]


def _edit_rates(scenario, popularity):
    share = shares_for(popularity, scenario.pages, scenario.edit_exponent)
    return scenario.rate_per_s * scenario.edits * share


def _cycle(scenario, reads, edits, purges):
    if scenario.policy in PURGING:
        if _is_finite(scenario):
            return closed_form.finite_purge(reads, edits, purges, scenario.run_s, scenario.purge_delay_s)
        return closed_form.purge(reads, edits, purges, scenario.ttl_s, scenario.purge_delay_s)

    old_fills = np.minimum(edits / reads, 1.0) if scenario.read_before_edit else 0.0
    if _is_finite(scenario):
        return closed_form.finite_ttl(reads, edits, scenario.ttl_s, scenario.run_s, old_fills)
    return closed_form.ttl(reads, edits, scenario.ttl_s, scenario.swr_s, old_fills)


def _is_finite(scenario):
    return scenario.run_s is not None and scenario.run_s <= closed_form.FINITE_LIVES_MAX * scenario.ttl_s


def has_closed_form(scenario):
    """Whether `predict` has a closed form and need not simulate."""
    if not _is_finite(scenario):
        return True  # so long that the steady state is accurate enough
    return scenario.policy == "ttl" or (scenario.policy in PURGING and scenario.ttl_s >= scenario.run_s)


def _sum(parts, value):
    return float(sum(np.sum(part.weight * value(part.cycle) / part.cycle.reads) for part in parts))


def _stale(parts, seconds):
    return _sum(parts, lambda cycle: cycle.stale_over(seconds))


def _quantile(scenario, parts, stale_0, level):
    """The `level` quantile, in seconds, of how long stale reads are outdated, by bisection; None without any."""
    if stale_0 <= 0:
        return None
    low, high = 0.0, scenario.ttl_s + scenario.swr_s
    for _ in range(QUANTILE_STEPS):
        middle = (low + high) / 2
        if _stale(parts, middle) > (1 - level) * stale_0:
            low = middle
        else:
            high = middle
        if high - low < 1e-3 * high:
            break
    return (low + high) / 2


def _uncollapsed(scenario, parts):
    """Origin requests ÷ reads if every read that finds no copy is forwarded, even while a fetch is in flight."""
    return float(
        sum(
            np.sum(part.weight * part.cycle.fetches / part.cycle.reads * (1 + part.reads * scenario.fetch_s))
            for part in parts
        )
    )


def _race(scenario, parts):
    """Reads of old copies that were fetched before an edit and stored after its purge, to first order."""
    open_s = max(scenario.fetch_s - scenario.purge_delay_s, 0)
    if scenario.policy not in PURGING or open_s == 0:
        return 0.0
    total = 0.0
    for part in parts:
        life = closed_form.expected_life(part.purges, scenario.ttl_s)
        stale = part.cycle.fetches * -np.expm1(-part.edits * open_s) * part.reads * life
        total += float(np.sum(part.weight * np.minimum(stale / part.cycle.reads, 1)))
    return min(total, 1.0)


def _seldom(scenario, parts, missed):
    """Share of the misses that falls on pages that are read less than once per lifetime at their edge.

    0 with a parent cache, where it depends on the other edges as well.
    """
    if missed <= 0 or scenario.tiered:
        return 0.0
    seldom = 0.0
    for part in parts:
        few = part.reads * scenario.ttl_s < 1
        misses = part.weight * (1 - part.cycle.hits / part.cycle.reads)
        seldom += float(np.sum(misses[few]))
    return seldom / missed


def _always_asked(scenario):
    """Every read reaches the origin; a 304 saves only the bodies of unchanged pages."""
    reads_per_s = scenario.rate_per_s * (1 - scenario.edits)
    bytes_saved = 0.0
    if scenario.policy == "revalidate":
        popularity = zipf(scenario.pages, scenario.zipf)
        edits = _edit_rates(scenario, popularity)
        shares = (1.0,) if scenario.tiered else scenario.pop_shares
        for of_edge, edges in zip(*np.unique(np.array(shares), return_counts=True), strict=True):
            reads = reads_per_s * popularity.share * of_edge
            # The chance that the previous read at the same edge was after the last edit.
            same = reads / (reads + edits)
            if scenario.run_s is not None:
                same = same * (1 + np.expm1(-(reads + edits) * scenario.run_s) / ((reads + edits) * scenario.run_s))
            bytes_saved += float(np.sum(popularity.pages * popularity.share * of_edge * edges * same))
    return Prediction(
        hit_ratio=0.0,
        offload_requests=0.0,
        offload_bytes=bytes_saved,
        stale_ratio=0.0,
        staleness_p50_s=None,
        staleness_p95_s=None,
        reads_per_s=reads_per_s,
        origin_per_s=reads_per_s,
        edits_per_s=scenario.rate_per_s * scenario.edits,
        purges_per_s=0.0,
        race_stale_ratio=0.0,
        binning_error=0.0,
        seldom_miss_share=0.0,
        model="every read asks the origin",
        assumptions=(INDEPENDENT,),
    )


def _simulated(scenario):
    """A finite run without a closed form, simulated once, up to `SIMULATED_REQUESTS_MAX`."""
    requests = scenario.rate_per_s * scenario.run_s
    if requests > SIMULATED_REQUESTS_MAX or scenario.pages > SIMULATED_REQUESTS_MAX:
        raise ScenarioError(
            f"a finite run under {scenario.policy} is simulated, up to {SIMULATED_REQUESTS_MAX} requests and "
            f"pages, and this has {requests:.3g} requests: leave out duration and requests for a steady state"
        )
    rng = np.random.default_rng(scenario.seed)
    reads_n = rng.poisson(requests * (1 - scenario.edits))
    edits_n = rng.poisson(requests * scenario.edits)
    pops = len(scenario.pop_shares)
    read_page = _draw_pages(rng, scenario.pages, scenario.zipf, reads_n)
    edit_page = _draw_pages(rng, scenario.pages, scenario.edit_exponent, edits_n)
    edge = rng.choice(pops, reads_n, p=np.array(scenario.pop_shares)) if pops > 1 else 0
    edit_s = rng.uniform(0, scenario.run_s, edits_n)
    purging = scenario.policy in PURGING
    if scenario.policy == "purge-tag" and scenario.tag_pages > 1:
        raise ScenarioError("purge-tag with tag-pages has no model for a run longer than the ttl: leave out duration")
    found = simulation.simulate(
        read_page * pops + edge,
        rng.uniform(0, scenario.run_s, reads_n),
        edit_page,
        edit_s,
        pops=pops,
        ttl_s=scenario.ttl_s,
        swr_s=scenario.swr_s,
        delay_s=scenario.purge_delay_s if purging else None,
    )
    if found.hit.size == 0:
        raise ScenarioError("no request falls into so short a run: lengthen duration or raise rate")
    behind = found.behind_s[found.behind_s > 0]
    reads_per_s = scenario.rate_per_s * (1 - scenario.edits)
    origin = float(found.fetched.mean())
    return Prediction(
        hit_ratio=found.hit_ratio,
        offload_requests=1 - origin,
        offload_bytes=1 - origin,
        stale_ratio=found.stale_ratio,
        staleness_p50_s=float(np.quantile(behind, 0.5)) if behind.size else None,
        staleness_p95_s=float(np.quantile(behind, 0.95)) if behind.size else None,
        reads_per_s=reads_per_s,
        origin_per_s=reads_per_s * origin,
        edits_per_s=scenario.rate_per_s * scenario.edits,
        purges_per_s=scenario.rate_per_s * scenario.edits if purging else 0.0,
        race_stale_ratio=0.0,
        binning_error=0.0,
        seldom_miss_share=0.0,
        model=f"one simulated run of {reads_n} reads (seed {scenario.seed})",
        assumptions=(INDEPENDENT, "the run begins with empty caches", "collapsing is taken for granted"),
    )


def _draw_pages(rng, pages, exponent, count):
    if exponent == 0:
        return rng.integers(0, pages, count)
    weights = np.cumsum(np.arange(1, pages + 1, dtype=float) ** -exponent)
    return np.searchsorted(weights, rng.uniform(0, weights[-1], count), side="right")


def _name(scenario, finite):
    kind = "purges" if scenario.policy in PURGING else "lifetimes"
    if finite:
        return f"finite run of {kind}, closed form"
    tiers = "edges under one parent, " if scenario.tiered else ""
    return f"steady state of {kind}, {tiers}closed form"


def _assumptions(scenario, finite):
    yield INDEPENDENT
    if finite:
        yield "the run begins with empty caches"
    elif scenario.run_s is not None:
        lives = scenario.run_s / scenario.ttl_s
        yield f"the run lasts {lives:.0f} lifetimes, so it is taken for endless"
    else:
        yield ENDLESS
    if scenario.policy in PURGING:
        yield "a cache does not store what was on its way when a purge came (else add race_stale_ratio)"
    if scenario.tiered:
        yield "the parent tells its edges the age of what it sends (Age)"


def vary_ttl(scenario, factor):
    """Return the same scenario with its lifetime multiplied by `factor`."""
    return replace(scenario, ttl_s=scenario.ttl_s * factor)


def cold_flash(scenario, flash_per_s):
    """A page that no cache has, requested `flash_per_s` times a second from one moment on.

    Until the first response arrives, after `fetch_s`, an edge without collapsing forwards every read: 1 +
    λw·fetch_s from each edge of share w. With collapsing each edge sends one request; tiered edges together send one.

    Returns:
        {"collapsed", "uncollapsed"}: expected requests at the origin, and "worst_wait_s".
    """
    edges = len(scenario.pop_shares)
    return {
        "collapsed": 1 if scenario.tiered else edges,
        "uncollapsed": edges + flash_per_s * scenario.fetch_s,
        "worst_wait_s": scenario.fetch_s,
    }


def _within(name, value, least, most):
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        shown = f"{value:g}" if isinstance(value, int | float) else value
        raise ScenarioError(f"{name} is {shown}, and has to be a number from {least:g} to {most:g}")
