"""An experiment that is not one of the study's: a table of its cells, and what every section has."""


def blocks(analysis):
    """Nothing of its own: the cells, distributions, drift and failures say what can be said of any factors."""
    return []


def evidence(analysis):
    """No rule is known here; what an experiment states by itself is decided in `expectations.py`."""
    return None
