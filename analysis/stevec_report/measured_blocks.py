"""How much of an unfinished run or study is measured: whole blocks, each one repetition of every experiment."""

from typing import Any

from stevec_report.json_fields import get_count, get_object, get_texts

REASONS_MAX, REASON_MAX_CHARS = 6, 200


def blocks_done(manifest: dict[str, Any]) -> int | None:
    """Return how many whole blocks an unfinished run or study has; None if it has none, or is complete.

    A block is one repetition of every experiment of a study.
    """
    if manifest.get("status") == "complete":
        return None
    if manifest["kind"] == "study":
        return _sample_blocks(manifest) or None
    done = manifest.get("repetitions_done")
    return done if manifest.get("status") == "partial" and type(done) is int and done > 0 else None


def whole_blocks(experiment: dict[str, Any], trials_planned: int, blocks: int | None) -> tuple[int, list[str]]:
    """Return how many trials are of whole blocks, and a sentence on it. Trials are numbered block by block."""
    if blocks is None:
        return trials_planned, []
    repetitions = get_count(experiment, "repetitions", trials_planned)
    if repetitions == 0:
        raise ValueError(f"{repetitions} repetitions of {trials_planned} trials")
    if blocks >= repetitions:
        return trials_planned, []
    text = f"{blocks} of {repetitions} blocks are measured: the study goes on with `stevec run --resume`."
    return trials_planned // repetitions * blocks, [text]


def sample_words(manifest: dict[str, Any]) -> str:
    """A sentence on a study in blocks: how many are measured, and why it is no sample; '' for any other."""
    sample = get_object(manifest, "sample")
    done, planned = _sample_blocks(manifest), sample.get("blocks_planned")
    if type(planned) is not int:
        return ""
    measured = f"{done} of {planned} blocks are measured"
    if sample.get("is_sample") is True:
        return f"{measured}."
    # The lab's first reason is the number of blocks.
    reasons = [text[:REASON_MAX_CHARS] for text in get_texts(sample, "reasons") if text != measured]
    if not reasons:
        return f"{measured}. The study is not a sample yet."
    more = f"; and {len(reasons) - REASONS_MAX} more" if len(reasons) > REASONS_MAX else ""
    return f"{measured}. The study is not a sample: {'; '.join(reasons[:REASONS_MAX])}{more}."


def is_one_stack(manifest: dict[str, Any]) -> bool:
    """Whether all blocks come from one start of the system: it starts again before each block of a sample only."""
    return _sample_blocks(manifest) < 2


def _sample_blocks(manifest: dict[str, Any]) -> int:
    blocks = get_object(manifest, "sample").get("blocks")
    return len(blocks) if isinstance(blocks, list) else 0
