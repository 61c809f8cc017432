// Chooses pages by popularity. Node and k6 both run this file: no APIs of either.

/**
 * `uniform`, or Zipf's law: page i of n (from 1, the most popular first) gets the share i^−s / Σ k^−s (L. Breslau et
 * al., "Web caching and Zipf-like distributions: evidence and implications", INFOCOM 1999, section 3).
 * analysis/stevec_predict/popularity.py predicts with the same law.
 * @typedef {'uniform' | {zipf: number}} Popularity
 */

/** An attempt is rejected once in a few at most, so this many in a row never are. */
const ATTEMPTS_MAX = 64

/** @typedef {(uniform: (attempt: number) => number) => number} Sampler  maps draws in [0, 1) to a page, 0…pages − 1 */

/** @type {Map<string, Sampler>} */
const samplers = new Map()

/**
 * @param {Popularity} popularity
 * @param {number} pages
 * @param {(attempt: number) => number} uniform  a draw in [0, 1), a new one for each attempt
 * @returns {number} 0…pages − 1
 */
export function choosePage (popularity, pages, uniform) {
  if (popularity === 'uniform') return Math.floor(uniform(0) * pages)
  const key = `${pages}/${popularity.zipf}`
  let sampler = samplers.get(key)
  if (sampler === undefined) samplers.set(key, sampler = zipfSampler(pages, popularity.zipf))
  return sampler(uniform)
}

/**
 * Rejection-inversion (W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
 * distributions", ACM TOMACS 6(3), 1996): exact Zipf's law without a table, which each of hundreds of VUs would hold.
 * @param {number} pages
 * @param {number} exponent  above 0
 * @returns {Sampler}
 */
function zipfSampler (pages, exponent) {
  const q = 1 - exponent
  const logarithmic = Math.abs(q) < 1e-9
  const weight = (/** @type {number} */ x) => x ** -exponent
  const integral = (/** @type {number} */ x) => logarithmic ? Math.log(x) : (x ** q - 1) / q
  const inverse = (/** @type {number} */ y) => logarithmic ? Math.exp(y) : (1 + y * q) ** (1 / q)
  const begin = integral(1.5) - 1
  const end = integral(pages + 0.5)
  const always = 2 - inverse(integral(2.5) - weight(2))
  return (uniform) => {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const y = end + uniform(attempt) * (begin - end)
      const x = inverse(y)
      const rank = Math.min(pages, Math.max(1, Math.round(x)))
      if (rank - x <= always || y >= integral(rank + 0.5) - weight(rank)) return rank - 1
    }
    return 0
  }
}
