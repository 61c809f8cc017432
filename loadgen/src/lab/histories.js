import { writePages } from './pages.js'

/**
 * Gives pages the revisions that they have before the first trial.
 * @param {number} seed  of the pages' texts
 */
export function createHistories (seed) {
  /** By page, those beside its newest. @type {Map<number, number>} */
  const older = new Map()
  const missing = (/** @type {import('./definition.js').Settings} */ { revisions }, /** @type {number} */ page) =>
    Math.max(0, revisions - 1 - (older.get(page) ?? 0))
  const numbersOf = (/** @type {number} */ pages) => Array.from({ length: pages }, (_, page) => page)
  return {
    clear: () => older.clear(),

    /** @param {import('./definition.js').Settings} settings */
    areMissing: (settings) => numbersOf(settings.pages).some((page) => missing(settings, page) > 0),

    /**
     * Writes what is missing; the pages' newest texts come afterwards.
     * @param {object} options
     * @param {import('./definition.js').Settings} options.settings
     * @param {(page: number) => number} options.sizeOf  characters
     * @param {Omit<Parameters<typeof writePages>[0], 'seed' | 'pages'>} options.to
     */
    async write ({ settings, sizeOf, to }) {
      for (let round = 1; round < settings.revisions; round++) {
        const pages = numbersOf(settings.pages).filter((page) => missing(settings, page) > 0)
          .map((page) => ({ page, sizeChars: sizeOf(page) }))
        await writePages({ ...to, seed: seed + round, pages })
        for (const { page } of pages) older.set(page, (older.get(page) ?? 0) + 1)
      }
    }
  }
}
