/** headings.js writes it, first in the HTML and as one line. */
const START = Buffer.from('<div class="heading text-title">')
/** No name is so long, with its spaces and entities, and it is there three times. Each view looks at it. */
const LINE_MAX_BYTES = 8_192
const TEXT = /><h2 id="[^"]*">([^<]*)</
const ENTITIES = /** @type {Record<string, string>} */ ({ '&lt;': '<', '&gt;': '>', '&amp;': '&' })

/**
 * The document of a page shows its name as the title. A text whose first heading repeats it is shown without it.
 * @param {Buffer} html  from the renderer @param {string} name  of the page @returns {Buffer} a part of `html`
 */
export function withoutTitle (html, name) {
  if (!html.subarray(0, START.length).equals(START)) return html
  const end = html.indexOf('\n') + 1
  if (end > LINE_MAX_BYTES) return html
  const text = TEXT.exec(html.toString('utf8', 0, end))?.[1] ?? ''
  const title = comparable(text.replace(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity]))
  const whole = comparable(name)
  return title === whole || title === whole.slice(whole.lastIndexOf('/') + 1).trim() ? html.subarray(end) : html
}

/** @param {string} text */
const comparable = (text) => text.normalize('NFC').toLowerCase().replace(/[\s_]+/gu, ' ').trim()
