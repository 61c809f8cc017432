/** Texts of all revisions differ, as those of a wiki do. */
const WORDS = 'words and words '.repeat(300)

/** @param {number} page @param {number} revision */
export const textOf = (page, revision) => `Revision ${revision} of page ${page}. ${WORDS}${revision}`

/**
 * @param {number} count @param {number} atOnce
 * @param {(index: number) => Promise<void>} work
 */
export async function inParallel (count, atOnce, work) {
  let next = 0
  await Promise.all(Array.from({ length: atOnce }, async () => { while (next < count) await work(next++) }))
}

/**
 * @param {string} url @param {RequestInit} [options]
 * @returns {Promise<string>} the body
 * @throws {Error} unless the status is 2xx
 */
export async function ask (url, options) {
  const answer = await fetch(url, options)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${options?.method ?? 'GET'} ${url} was answered ${answer.status}`)
  return text
}
