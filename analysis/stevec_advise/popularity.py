"""How unequally the URLs of a class are read, and how often they are edited."""

import numpy as np
from scipy.optimize import minimize_scalar

from stevec_predict.popularity import EXPONENT_MAX


def zipf_exponent(counts: np.ndarray) -> float | None:
    """The exponent of Zipf's law, 0 to 3, by maximum likelihood: URLs in the order of their counts, shape (n,).

    None for fewer than ten URLs or a hundred requests. The order comes from the same counts, so that seldom requested
    URLs make it a little too large.
    """
    counts = np.sort(counts[counts > 0])[::-1].astype(float)
    if len(counts) < 10 or counts.sum() < 100:
        return None
    log_rank = np.log(np.arange(1, len(counts) + 1))
    weighted = float(counts @ log_rank)

    def unlikelihood(exponent: float) -> float:
        return exponent * weighted + float(counts.sum()) * float(np.log(np.sum(np.exp(-exponent * log_rank))))

    return float(minimize_scalar(unlikelihood, bounds=(0, EXPONENT_MAX), method="bounded").x)
