const SLUG_MAX_CHARS = 80
const TEXT_MAX_UNITS = 1_000

/**
 * Letters and digits of any script, with single hyphens between.
 * @param {string} text @returns {string} of at most 80 characters, never empty; its slug is itself
 */
export function slugOf (text) {
  const words = text
    .slice(0, TEXT_MAX_UNITS)
    .toLowerCase()
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, '-')
    .replace(/^-/, '')
  return [...words].slice(0, SLUG_MAX_CHARS).join('').replace(/-$/, '') || 'section'
}

/** @returns {(slug: string) => string} never returns the same slug twice */
export function createSlugs () {
  const taken = new Set()
  /**
   * A thousand equal headings must not try each other's numbers.
   * @type {Map<string, number>}
   */
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
