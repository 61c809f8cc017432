"""An experiment that is not one of the study's: a table of its cells, and what every section has."""


def blocks(analysis):
    """Nothing of its own: the cells, distributions, drift and failures say what can be said of any factors."""
    return []


def evidence(analysis):
    """No rule was fixed for its hypothesis, so there is no verdict."""
    return None
