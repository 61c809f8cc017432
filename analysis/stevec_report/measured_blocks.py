"""How much of an unfinished run or study is measured: whole blocks, each one repetition of every experiment."""

from typing import Any

from stevec_report.json_fields import get_count, get_object


def blocks_done(manifest: dict[str, Any]) -> int | None:
    """Return how many whole blocks an unfinished run or study has; None if it has none, or is complete.

    A block is one repetition of every experiment of a study.
    """
    if manifest.get("status") == "complete":
        return None
    if manifest["kind"] == "study":
        blocks = get_object(manifest, "sample").get("blocks")
        return len(blocks) if isinstance(blocks, list) and blocks else None
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
