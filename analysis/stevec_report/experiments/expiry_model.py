"""Trials without edits beside the model of expiry in a run of finite length."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stevec_predict import expiry
from stevec_report import wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import Cell, Column, Table, judged_cell
from stevec_report.claims import Claim
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.sample_table import DONE_AT

REPLAY_MAX = 1_000_000  # reads of one trial
PAGES_MAX, REFILLS_MAX = 10_000, 1000  # beyond these the exact distribution costs too much


@dataclass(frozen=True)
class Fit:
    """One trial beside the model: `expected` with the exact lifetime, `longer` and `shorter` with one second more or
    less. `replayed` are the misses at the trial's own request times, None for too many reads."""

    outcome: MeasuredOutcome
    expected: expiry.Misses
    longer: expiry.Misses
    shorter: expiry.Misses
    replayed: int | None

    @property
    def misses(self) -> int:
        """Reads at the origin."""
        return self.outcome.record.counter_reads

    @property
    def inside(self) -> bool:
        """Whether the misses lie in the model's interval."""
        return self.expected.low <= self.misses <= self.expected.high

    @property
    def inside_whole_seconds(self) -> bool:
        """Whether they lie in the interval of a cache that may keep a page a second longer or shorter."""
        return self.longer.low <= self.misses <= self.shorter.high


def fit_trials(analysis: Analysis, trials: Iterable[MeasuredOutcome]) -> list[Fit]:
    """Return a `Fit` for each of the `trials`, which have no edits, that went through a cache and has a model."""
    found = []
    for outcome in trials:
        record, stats = outcome.record, outcome.stats
        pages, ttl_s = record.number("pages"), record.number("ttl_s")
        if pages < 1 or ttl_s <= 0 or stats.span_s <= 0 or not analysis.run.doors[outcome.door].caching:
            continue
        if pages > PAGES_MAX or stats.span_s / ttl_s > REFILLS_MAX:
            continue
        expected, longer, shorter = (
            expiry.misses(stats.iterations, int(pages), stats.span_s, lifetime_s)
            for lifetime_s in (ttl_s, ttl_s + 1, max(ttl_s - 1, 0.5))
        )
        found.append(Fit(outcome, expected, longer, shorter, _replay(analysis, outcome, ttl_s)))
    return found


def table(fits: Iterable[Fit]) -> Table:
    """The table of the trials beside the model."""
    columns = [
        Column("page_kb", "page, kB", "text"),
        Column("repetition", "rep.", "text"),
        Column("span_s", "lasted, s"),
        Column("ttl_s", "max-age, s", "text"),
        Column("misses", "reads at the origin", "count"),
        Column("hit_ratio", "hit ratio", "percent"),
        Column("model_misses", "expected", "number", "model of expiry"),
        Column("model_low", "from", "count", "model of expiry"),
        Column("model_high", "to", "count", "model of expiry"),
        Column("inside", "inside", "text", "model of expiry"),
        Column("inside_whole_seconds", "within max-age ± 1 s", "text", "model of expiry"),
        Column("replayed", "replayed", "count"),
    ]
    rows = [
        {
            "page_kb": f"{fit.outcome.record.number('page_size_chars') / 1000:g}",
            "repetition": fit.outcome.repetition,
            "span_s": fit.outcome.stats.span_s,
            "ttl_s": f"{fit.outcome.record.number('ttl_s'):g}",
            "misses": Cell(fit.misses, trials=(fit.outcome.number,)),
            "hit_ratio": fit.outcome.offload,
            "model_misses": fit.expected.mean,
            "model_low": fit.expected.low,
            "model_high": fit.expected.high,
            "inside": judged_cell(fit.inside, "inside", "outside"),
            "inside_whole_seconds": judged_cell(fit.inside_whole_seconds, "inside", "outside"),
            "replayed": fit.replayed,
        }
        for fit in fits
    ]
    return Table(
        "table-1.6-model",
        "Reads only, beside the model of expiry in a run of finite length.",
        "The model: reads choose pages at random, and a copy is fresh for exactly its max-age. “From” and “to” hold "
        "95 % of the model’s own chance. A cache that counts whole seconds may keep a copy one second longer or "
        "shorter, hence the second comparison. “Replayed” applies the exact lifetime to the moments of this trial’s "
        "reads.",
        columns,
        rows,
    )


def claim(fits: Sequence[Fit]) -> Claim:
    """The claim that all trials lie in the model's interval."""
    name = "Reads only: within the model of expiry"
    if not fits:
        return Claim(name, "no valid trial without edits.", None)
    inside = sum(fit.inside for fit in fits)
    loosely = sum(fit.inside_whole_seconds for fit in fits)
    text = (
        f"{wording.part_of(inside, len(fits), 'trial')} inside the 95 % interval, "
        f"{loosely} if a lifetime may be a second longer or shorter."
    )
    off = [abs(fit.replayed - fit.misses) for fit in fits if fit.replayed is not None]
    if off:
        text += (
            f" Replayed on the moments at which the requests were really sent, the same lifetime gives the counter to "
            f"within {wording.count_of(max(off), 'request')}: what is beyond that is uneven sending, not the cache."
        )
    return Claim(name, text, inside == len(fits))


def _replay(analysis: Analysis, outcome: MeasuredOutcome, ttl_s: float) -> int | None:
    """Misses at the trial's request times if each page stayed fresh for exactly `ttl_s`; None for too many reads."""
    if outcome.stats.reads > REPLAY_MAX:
        return None
    rows = analysis.samples.query(
        f"SELECT page, sent_at_us, {DONE_AT} FROM {{samples}} WHERE is_read AND answered ORDER BY page, sent_at_us",
        [outcome.number],
    )
    misses, last_page, fresh_until = 0, None, 0.0
    for page, sent_us, done_us in rows:
        if page != last_page or sent_us >= fresh_until:
            misses += 1
            last_page, fresh_until = page, done_us + ttl_s * 1e6
    return misses
