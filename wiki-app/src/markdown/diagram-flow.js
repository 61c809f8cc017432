/** @typedef {{id: string, shape?: string} | {link: string}} Part */

const ID = /[\p{L}\p{N}\p{M}_]+(?:-[\p{L}\p{N}\p{M}_]+)*/uy
const SHAPE = new RegExp([
  '\\(\\(\\(.+?\\)\\)\\)', '\\(\\[.+?\\]\\)', '\\(\\(.+?\\)\\)', '\\[\\[.+?\\]\\]', '\\[\\(.+?\\)\\]',
  '\\[/.+?\\\\\\]', '\\[\\\\.+?/\\]', '\\{\\{.+?\\}\\}', '>.+?\\]',
  '\\["[^"\\]]*"\\]', '\\("[^")]*"\\)', '\\{"[^"}]*"\\}', '\\[[^"\\]]+\\]', '\\([^")]+\\)', '\\{[^"}]+\\}'
].join('|'), 'y')
const CLASS = /:::[\w-]+/y
const SPACE = /\s*/y
const AND = /&/y
const ARROW = /(?<back><?)(?<sign>-{2,}>|-{3,}|-\.+->?|={2,}>|={3,})(?:\s*\|(?<text>[^|]*)\|)?/y
const ARROW_AROUND_TEXT =
  /(?<back><?)(?:--|-\.|==)(?![ox]\s)\s*(?<text>[^\s|>-][^|]*?)\s*(?<sign>-{2,}>|-{3,}|\.+->?|={2,}>|={3,})/y
const OTHER = /^(?:direction\s+(?:TD|TB|LR|BT|RL)|subgraph\s+\S.*|end)$/

/**
 * The library drops what it does not know, keeps the first label of a node instead of its last, takes the dashes of
 * `A-->B` for a part of the name, and knows only names of ASCII. So it gets each line written its own way.
 * @param {string[]} lines  of a flowchart, without its header
 * @returns {{lines: string[]} | {unknown: string}} a line that is not known
 */
export function flowLines (lines) {
  /** @type {(Part[] | string)[]} */
  const statements = []
  for (const line of lines) {
    const statement = OTHER.test(line) ? line : partsOf(line)
    if (statement === null) return { unknown: line }
    statements.push(statement)
  }
  return { lines: written(statements) }
}

/** @param {(Part[] | string)[]} statements */
function written (statements) {
  /** @type {Map<string, string>} */
  const shapes = new Map()
  for (const part of statements.flatMap((statement) => typeof statement === 'string' ? [] : statement)) {
    if ('id' in part && part.shape !== undefined) shapes.set(part.id, part.shape)
  }
  const seen = new Set()
  return statements.map((statement) => typeof statement === 'string'
    ? statement
    : statement.map((part) => {
      if ('link' in part) return part.link
      const { id } = part
      const isFirst = !seen.has(id)
      seen.add(id)
      return nameOf(id) + (isFirst ? shapes.get(id) ?? `["${id}"]` : '')
    }).join(' '))
}

/** Of ASCII, and never the same for two names. @param {string} id */
const nameOf = (id) =>
  `n_${id.replace(/[^a-zA-Z0-9-]/gu, (sign) => `_${/** @type {number} */ (sign.codePointAt(0)).toString(16)}_`)}`

/** @param {string} line @returns {Part[] | null} null: not known */
function partsOf (line) {
  /** @type {Part[]} */
  const parts = []
  let at = 0
  /** @param {RegExp} pattern */
  const take = (pattern) => {
    pattern.lastIndex = at
    const match = pattern.exec(line)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  for (;;) {
    const id = take(ID)
    if (id === null) return null
    parts.push({ id: id[0], shape: take(SHAPE)?.[0] })
    take(CLASS)
    take(SPACE)
    if (at === line.length) return parts
    const link = take(AND)?.[0] ?? linkOf(take(ARROW) ?? take(ARROW_AROUND_TEXT))
    if (link === null) return null
    parts.push({ link })
    take(SPACE)
  }
}

/** @param {RegExpExecArray | null} match */
function linkOf (match) {
  if (match === null) return null
  const { back = '', sign = '', text = '' } = match.groups ?? {}
  const [open, end] = sign.includes('.') ? ['-.-', '-.->'] : sign.includes('=') ? ['===', '==>'] : ['---', '-->']
  return back + (sign.endsWith('>') ? end : open) + (text.trim() === '' ? '' : `|${text.trim()}|`)
}
