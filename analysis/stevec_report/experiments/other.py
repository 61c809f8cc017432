"""Any experiment without a module of its own: only the blocks that every section has, such as the table of cells."""

from stevec_report.analysis import Analysis
from stevec_report.blocks import Block


def blocks(analysis: Analysis) -> list[Block]:
    """No blocks of its own: those of every section (cells, distributions, drift, failures) suit any factors."""
    return []


def evidence(analysis: Analysis) -> None:
    """No hypothesis here; `expectations.py` decides the expectations that an experiment states itself."""
    return None
