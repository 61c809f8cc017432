const SLUG_MAX_CHARS = 80
/** No more of a text is looked at than can matter. */
const TEXT_MAX_UNITS = 1_000

/**
 * A text as part of a URL that a person can read: letters and digits of any script, with single hyphens between the words.
 * The slug of a slug is itself.
 * @param {string} text
 * @returns {string} of at most 80 characters, never empty
 */
export function slugOf (text) {
  const words = text.slice(0, TEXT_MAX_UNITS).toLowerCase().normalize('NFC').replace(/[^\p{L}\p{N}\p{M}]+/gu, '-').replace(/^-/, '')
  return [...words].slice(0, SLUG_MAX_CHARS).join('').replace(/-$/, '') || 'section'
}

/**
 * Tells sections with the same slug apart by numbers.
 * @returns {(slug: string) => string} never gives the same answer twice
 */
export function createSlugs () {
  const taken = new Set()
  /** Where to go on looking for a free number, so that a thousand equal headings need not try each other's. @type {Map<string, number>} */
  const next = new Map()

  return function unique (slug) {
    let candidate = slug
    let number = next.get(slug) ?? 2
    while (taken.has(candidate)) candidate = `${slug}-${number++}`
    next.set(slug, number)
    taken.add(candidate)
    return candidate
  }
}
