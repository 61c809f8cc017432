import { WRITE_TIMEOUT_MS } from './pages.js'

/** A PNG of 67 bytes: one black pixel. https://www.w3.org/TR/png-3/ */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg==', 'base64')

/**
 * Uploads the picture of created pages. A wiki stores equal files once, however many pages show them.
 * @param {string} wikiUrl
 * @returns {Promise<string>} Markdown that shows it
 * @throws {Error} when the wiki refuses it
 */
export async function uploadPicture (wikiUrl) {
  const form = new FormData()
  form.set('alt', 'dot')
  form.set('file', new Blob([PNG], { type: 'image/png' }), 'dot.png')
  const signal = AbortSignal.timeout(WRITE_TIMEOUT_MS)
  const response = await fetch(`${wikiUrl}/edit/upload`, {
    method: 'POST', headers: { accept: 'application/json' }, body: form, signal
  })
  const body = await response.text()
  if (!response.ok) throw new Error(`the wiki refused the picture with ${response.status}: ${body}`)
  const { markdown } = JSON.parse(body)
  if (typeof markdown !== 'string') throw new Error(`the wiki answered the picture with ${body}`)
  return markdown
}
