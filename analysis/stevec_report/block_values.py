"""One value per block, for tests. The levels of a load or of a size are fixed factors, and blocks are the repetitions.

Levels within a block share its minutes on the machine. As replicates of each other they would count one observation
many times (decision 29).
"""

import statistics
from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

from stevec_report.analysis import Analysis
from stevec_report.hypothesis_tests import PairedTest, ratio_test
from stevec_report.outcomes import BlockKey, MeasuredOutcome

Level = TypeVar("Level", bound=Hashable)


def block_means(values: Mapping[tuple[Level, BlockKey], float], needed: Collection[Level]) -> dict[BlockKey, float]:
    """{block: mean over the `needed` levels} of the blocks that have them all; {} if none is needed.

    A mean over other levels in one block than in the next would take a difference between levels for one of blocks.
    """
    blocks = {block for _, block in values} if needed else set()
    return {
        block: statistics.fmean(values[level, block] for level in needed)
        for block in sorted(blocks)
        if all((level, block) in values for level in needed)
    }


def block_test(analysis: Analysis, logs: Mapping[BlockKey, float], against: float = 1.0) -> PairedTest:
    """`ratio_test` of the log ratios of blocks; it counts the run's other blocks as left out."""
    blocks = {outcome.block for outcome in analysis.outcomes if isinstance(outcome, MeasuredOutcome)}
    return ratio_test(logs, against, len(blocks - logs.keys()))
