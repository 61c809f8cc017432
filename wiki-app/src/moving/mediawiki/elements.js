import sax from 'sax'

/** Deeper than any dump: https://www.mediawiki.org/xml/export-0.11.xsd */
const DEPTH_MAX = 32
const LINE_MAX_CHARS = 20_000
/** No wiki here takes a longer text. */
export const TEXT_MAX_CHARS = 4_194_304
/** A picture of 50 MiB as base64. */
const CONTENTS_MAX_CHARS = 72_000_000
const ROOT = 'mediawiki'

/** Elements whose text counts, and how much of it. @type {Map<string, number>} */
const TEXTS = new Map(Object.entries({
  'siteinfo/sitename': LINE_MAX_CHARS,
  'siteinfo/dbname': LINE_MAX_CHARS,
  'siteinfo/base': LINE_MAX_CHARS,
  'siteinfo/case': LINE_MAX_CHARS,
  'siteinfo/namespaces/namespace': LINE_MAX_CHARS,
  'page/title': LINE_MAX_CHARS,
  'page/id': LINE_MAX_CHARS,
  'page/ns': LINE_MAX_CHARS,
  'page/revision/id': LINE_MAX_CHARS,
  'page/revision/timestamp': LINE_MAX_CHARS,
  'page/revision/contributor/username': LINE_MAX_CHARS,
  'page/revision/contributor/ip': LINE_MAX_CHARS,
  'page/revision/comment': LINE_MAX_CHARS,
  'page/revision/model': LINE_MAX_CHARS,
  'page/revision/text': TEXT_MAX_CHARS,
  'page/upload/timestamp': LINE_MAX_CHARS,
  'page/upload/contributor/username': LINE_MAX_CHARS,
  'page/upload/contributor/ip': LINE_MAX_CHARS,
  'page/upload/filename': LINE_MAX_CHARS,
  'page/upload/contents': CONTENTS_MAX_CHARS
}))

/**
 * `path`: below the root. `isTooLong`: `text` is only its beginning.
 * @typedef {{path: string, attributes: Record<string, string>, text: string, isTooLong: boolean}} Element
 */

/**
 * Elements of a dump as they close, those without a text that counts also as they open. Memory is bounded by TEXTS: sax
 * hands over long texts in pieces of 64 kB, and refuses longer names and attributes.
 * Entities of a document type are not expanded: a dump has none, so one ends the reading.
 * @param {{open: (path: string, attributes: Record<string, string>) => void, close: (element: Element) => void}} on
 */
export function createElements (on) {
  const parser = sax.parser(true, { trim: false, normalize: false, xmlns: false, position: true })
  /** @type {{path: string, attributes: Record<string, string>, max: number, pieces: Buffer[], length: number}[]} */
  const stack = []
  /** @type {string | null} */
  let problem = null
  let isBegun = false

  /** @param {string} reason */
  function stop (reason) {
    problem ??= `${reason} (line ${parser.line + 1})`
  }

  parser.onerror = (error) => {
    stop(`it is no well-formed XML: ${error.message.split('\n')[0]}`)
    // It refuses to go on with an error.
    parser.error = /** @type {any} */ (null)
  }
  parser.ondoctype = () => stop('it has a document type, which no dump has')
  parser.onopentag = ({ name, attributes }) => {
    if (problem !== null) return
    if (stack.length >= DEPTH_MAX) return stop('its elements are nested too deeply')
    if (stack.length === 0 && name !== ROOT) return stop(`it is no dump of MediaWiki: it begins with <${name}>`)
    isBegun = true
    const path = stack.length < 2 ? (stack.length === 0 ? '' : name) : `${stack[stack.length - 1].path}/${name}`
    const given = /** @type {Record<string, string>} */ (attributes)
    stack.push({ path, attributes: given, max: TEXTS.get(path) ?? 0, pieces: [], length: 0 })
    on.open(path, given)
  }
  parser.ontext = parser.oncdata = (text) => {
    const top = stack[stack.length - 1]
    if (problem !== null || top === undefined || top.max === 0) return
    // As bytes: sax puts a string together from thousands of pieces, which take many times its length.
    if (top.length < top.max) top.pieces.push(Buffer.from(text.slice(0, top.max - top.length)))
    top.length += text.length
  }
  parser.onclosetag = () => {
    const top = stack.pop()
    if (problem !== null || top === undefined) return
    const { path, attributes, pieces, length, max } = top
    on.close({ path, attributes, text: Buffer.concat(pieces).toString(), isTooLong: length > max })
  }

  return {
    /** @param {string} text */
    write (text) { if (problem === null) parser.write(text) },
    end () {
      if (problem === null && !isBegun) stop('it is no dump of MediaWiki: it has no elements')
      if (problem === null) parser.close()
    },
    /** Why nothing more is read, a sentence; null: nothing is wrong. */
    problem: () => problem
  }
}
