import { MATH_CLASSES } from './math-elements.js'
import { letters } from './math-letters.js'

/** Browsers take long for deeper nesting. Of elements, not of TeX. */
const NESTING_MAX = 100
const TAG = /<(\/?)([a-z]+)([^<>]*)>([^<]*)/g
const ATTRIBUTE = / ([a-z]+) ?="([^"]*)"/g
/** They hold text. Around elements, browsers would not lay these out. */
const TOKENS = new Set(['mi', 'mn', 'mo', 'mtext'])
/** KaTeX names the lines around an array for columns as for rows, and the other way round. */
const SIDES = /** @type {Record<string, string>} */ ({ top: 'left', bottom: 'right', left: 'top', right: 'bottom' })
/**
 * `size`: of its text, in em of the formula's.
 * @typedef {{name: string, end: string, size: number, table?: Table}} Open
 */
/**
 * Words of MathML 3, for each column and row.
 * @typedef {{aligns: string[], columnLines: string[], rowLines: string[], row: number, column: number}} Table
 */

/**
 * KaTeX writes MathML 3, browsers know MathML Core (https://www.w3.org/TR/mathml-core/). Classes and other letters
 * stand for what Core leaves out. Cells are as short as they can be. Attributes that Core lacks go with the sanitizer.
 * @param {string} markup  of KaTeX
 * @returns {{html: string, reason: string}} one is ''
 */
export function toCore (markup) {
  /** @type {Open[]} */
  const open = []
  let [deepest, unknown] = [0, '']
  const html = markup.replace(TAG, (whole, slash, given, rest, text, offset) => {
    if (slash) return `${open.pop()?.end ?? ''}${text}`
    const isEmpty = rest.endsWith('/')
    const attributes = Object.fromEntries([...rest.matchAll(ATTRIBUTE)].map(([, key, value]) => [key, value]))
    const isText = isEmpty || markup.startsWith('</', offset + whole.length)
    const name = TOKENS.has(given) && !isText ? 'mrow' : given
    unknown ||= words(attributes.notation).find((each) => !MATH_CLASSES.mrow.includes(each)) ?? ''
    const size = sizeOf(attributes, open)
    const element = elementOf(name, attributes, text, open)
    if (!isEmpty) deepest = Math.max(deepest, open.push({ name, end: element.end, size, table: element.table }))
    return `${element.start}${isEmpty ? element.end : ''}${element.text}`
  })
  if (unknown) return { html: '', reason: `browsers have no sign for “${unknown}”` }
  return deepest > NESTING_MAX ? { html: '', reason: 'it is nested too deeply' } : { html, reason: '' }
}

/**
 * KaTeX gives sizes of text in those of the formula, browsers take them in those of what is around.
 * @param {Record<string, string>} attributes  its `mathsize` is changed @param {Open[]} open
 */
function sizeOf (attributes, open) {
  const around = open.at(-1)?.size ?? 1
  const size = Number.parseFloat(attributes.mathsize)
  if (Number.isNaN(size)) return around
  attributes.mathsize = `${Number((size / around).toFixed(4))}em`
  return size
}

/**
 * @param {string} name @param {Record<string, string>} attributes @param {string} text @param {Open[]} open
 * @returns {{start: string, end: string, text: string, table?: Table}}
 */
function elementOf (name, attributes, text, open) {
  const parent = open.at(-1)
  // A span, as KaTeX has styles for one; a style that cells have anyway.
  const isNothing = name === 'span' || (name === 'mstyle' && parent?.name === 'mtd' &&
    attributes.scriptlevel === '0' && attributes.displaystyle === 'false')
  if (isNothing) return { start: '', end: '', text }
  const classes = []
  let [tag, shown] = [name, text]
  /** @type {Table | undefined} */
  let table
  if (name === 'menclose') {
    tag = 'mrow'
    // What `\boxed`, `\cancel` and their like draw.
    classes.push(...words(attributes.notation).map((each) => SIDES[each] ?? each))
  } else if (name === 'mtable') {
    // The formula, and its number at the edge.
    if (attributes.width === '100%') classes.push('tagged')
    table = {
      aligns: words(attributes.columnalign),
      columnLines: words(attributes.columnlines),
      rowLines: words(attributes.rowlines),
      row: -1,
      column: -1
    }
  } else if (name === 'mtr' && parent?.table) {
    parent.table.row++
    parent.table.column = -1
  } else if (name === 'mtd') classes.push(...cellClasses(open.at(-2)?.table))
  else if (attributes.mathvariant !== undefined && attributes.mathvariant !== 'normal') {
    const variant = attributes.mathvariant
    const changed = name === 'mtext' ? null : letters(text, variant)
    if (changed === null) classes.push(...variant.split('-').map((word) => `math-${word}`))
    shown = changed ?? text
    delete attributes.mathvariant
  }
  if (name === 'mpadded') padAsCore(attributes)
  if (attributes.mathbackground === 'black') attributes.mathbackground = 'currentcolor'
  // Core has no negative lengths, and some browsers would.
  const kept = Object.entries(attributes).filter(([key, value]) => key !== 'class' && !value.startsWith('-'))
  if (classes.length > 0) kept.push(['class', classes.join(' ')])
  const written = kept.map(([key, value]) => ` ${key}="${value}"`).join('')
  return { start: `<${tag}${written}>`, end: `</${tag}>`, text: shown, table }
}

/**
 * What was to be wider (`+6pt`) or to overlap its neighbour keeps its own size, and a height of 0 would be cut off.
 * @param {Record<string, string>} attributes
 */
function padAsCore (attributes) {
  delete attributes.height
  delete attributes.depth
  if (attributes.width?.startsWith('+') || attributes.lspace?.startsWith('-')) delete attributes.width
  if (attributes.lspace?.startsWith('+')) delete attributes.lspace
}

/** @param {Table | undefined} table @returns {string[]} of its next cell */
function cellClasses (table) {
  if (table === undefined) return []
  table.column++
  const align = table.aligns[table.column]
  const classes = align === 'left' || align === 'right' ? [align] : []
  if (isLine(table.columnLines[table.column])) classes.push('line-after')
  if (isLine(table.rowLines[table.row])) classes.push('line-below')
  return classes
}

/** @param {string | undefined} text */
const words = (text) => text?.split(' ') ?? []
/** @param {string | undefined} word */
const isLine = (word) => word === 'solid' || word === 'dashed'
