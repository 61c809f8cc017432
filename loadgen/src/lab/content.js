import { draw, pageName } from '../../scenarios/plan.js'
import { request } from '../stack/doors.js'

const CONTENT_STREAM = 2_000_000
const CONCURRENCY = 8

/**
 * Words of random letters: what a page says does not matter, its length does.
 * @param {number} seed
 * @param {number} page
 * @param {number} sizeChars
 * @returns {string} exactly `sizeChars` ASCII characters
 */
export function pageContent (seed, page, sizeChars) {
  let text = ''
  for (let index = 0; text.length < sizeChars; index++) {
    const value = draw(seed, CONTENT_STREAM + page, index)
    const length = 2 + Math.floor(value * 9)
    let word = ''
    for (let letter = 0; letter < length; letter++) word += String.fromCharCode(97 + Math.floor((value * 26 ** (letter + 1)) % 26))
    text += index % 60 === 59 ? `${word}.\n\n` : `${word} `
  }
  // Markdown would drop white space at the end.
  return `${text.slice(0, sizeChars - 1)}.`
}

/**
 * Writes the pages that an experiment reads.
 * @param {object} options
 * @param {string} options.wikiUrl
 * @param {number} options.seed
 * @param {number} options.pages
 * @param {number} options.sizeChars
 * @param {AbortSignal} options.signal
 * @throws {Error} when the wiki refuses one
 */
export async function writePages ({ wikiUrl, seed, pages, sizeChars, signal }) {
  let next = 0
  const writer = async () => {
    while (next < pages) {
      signal.throwIfAborted()
      const page = next++
      const { status, body } = await request(`${wikiUrl}/wiki/${pageName(page)}`, {
        method: 'POST', headers: { 'content-type': 'text/markdown' }, body: pageContent(seed, page, sizeChars)
      })
      if (status !== 201 && status !== 200) throw new Error(`the wiki refused ${pageName(page)} with ${status}: ${body}`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, writer))
}
