"""Any experiment without a module of its own: only the blocks that every section has, such as the table of cells."""


def blocks(analysis):
    """No blocks of its own: those of every section (cells, distributions, drift, failures) suit any factors."""
    return []


def evidence(analysis):
    """No hypothesis here; `expectations.py` decides the expectations that an experiment states itself."""
    return None
