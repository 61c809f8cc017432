"""Models how the requests spread over the pages: Zipf's law, with a few classes of nearly equally popular pages.

Page i of n gets the share i^-s / Σ k^-s of the requests (L. Breslau, P. Cao, L. Fan, G. Phillips, S.
Shenker, "Web caching and Zipf-like distributions: evidence and implications", INFOCOM 1999, section 3); s =
0 is uniform.
"""

from dataclasses import dataclass

import numpy as np

# Each of the most popular pages is a class of its own; the others share a class with pages of similar popularity.
SINGLE_RANKS = 2_000
RANK_STEP = 0.004  # the largest relative difference between the ranks in one class
PAGES_MAX = 10**10
EXPONENT_MAX = 3.0


@dataclass(frozen=True)
class Popularity:
    """Classes of pages, all arrays of shape (classes,). Shares are of all requests, for one page.

    `pages` is the number of pages in each class; `share` is their mean share, `highest` and `lowest` are the shares
    of the first and the last page.
    """

    first: np.ndarray
    last: np.ndarray
    pages: np.ndarray
    share: np.ndarray
    highest: np.ndarray
    lowest: np.ndarray


def zipf(pages: int, exponent: float) -> Popularity:
    """Return the `Popularity` of `pages` pages (1 … 10^10) with Zipf exponent 0 … 3.

    Sums over ranks beyond `SINGLE_RANKS` are approximated by integrals that begin half a rank before the first and
    end half a rank after the last. Their relative error is below s(s + 1) / (24 · SINGLE_RANKS²), less than 10^-6.
    """
    if not 1 <= pages <= PAGES_MAX or not 0 <= exponent <= EXPONENT_MAX:
        raise ValueError(f"pages are 1 to {PAGES_MAX}, the exponent is 0 to {EXPONENT_MAX:g}")
    if exponent == 0:
        one, same = np.array([1.0]), np.array([1 / pages])
        return Popularity(one, np.array([float(pages)]), np.array([float(pages)]), same, same, same)
    first, last = _classes(pages)
    weight = np.where(last == first, first**-exponent, _integral(first - 0.5, last + 0.5, exponent))
    total = weight.sum()
    count = last - first + 1
    return Popularity(first, last, count, weight / count / total, first**-exponent / total, last**-exponent / total)


def shares_for(popularity: Popularity, pages: int, exponent: float) -> np.ndarray:
    """Mean share of one page in each class of `popularity` under another exponent, with the same ranking: the shares
    of the edits, for example. Shape (classes,)."""
    if exponent == 0:
        return np.full(popularity.first.shape, 1 / pages)
    if popularity.first.size == 1 and pages > 1:
        raise ValueError("edits cannot be ranked where reads are not: give reads an exponent above 0")
    first, last = popularity.first, popularity.last
    weight = np.where(last == first, first**-exponent, _integral(first - 0.5, last + 0.5, exponent))
    return weight / popularity.pages / weight.sum()


def _classes(pages: int) -> tuple[np.ndarray, np.ndarray]:
    single = np.arange(1, min(pages, SINGLE_RANKS) + 1, dtype=float)
    if pages <= SINGLE_RANKS:
        return single, single
    steps = int(np.ceil(np.log(pages / SINGLE_RANKS) / np.log1p(RANK_STEP)))
    ends = np.unique(np.floor(SINGLE_RANKS * (pages / SINGLE_RANKS) ** (np.arange(1, steps + 1) / steps)))
    ends[-1] = pages
    begins = np.concatenate([[SINGLE_RANKS], ends[:-1]]) + 1
    return np.concatenate([single, begins]), np.concatenate([single, ends])


def _integral(low: np.ndarray, high: np.ndarray, exponent: float) -> np.ndarray:
    if abs(exponent - 1) < 1e-9:
        return np.log(high / low)
    return (high ** (1 - exponent) - low ** (1 - exponent)) / (1 - exponent)
