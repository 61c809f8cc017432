import { MATH_CLASSES } from './math-elements.js'
import { letters } from './math-letters.js'

/** Browsers take long for deeper nesting. Of elements, not of TeX. */
const NESTING_MAX = 100
const TAG = /<(\/?)([a-z]+)([^<>]*)>([^<]*)/g
const ATTRIBUTE = / ([a-z]+) ?="([^"]*)"/g
/** @typedef {{name: string, end: string, table?: Table}} Open */
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
  let deepest = 0
  const html = markup.replace(TAG, (_whole, slash, name, rest, text) => {
    if (slash) return `${open.pop()?.end ?? ''}${text}`
    const isEmpty = rest.endsWith('/')
    const attributes = Object.fromEntries([...rest.matchAll(ATTRIBUTE)].map(([, key, value]) => [key, value]))
    const element = elementOf(name, attributes, text, open)
    if (!isEmpty) deepest = Math.max(deepest, open.push({ name, end: element.end, table: element.table }))
    return `${element.start}${isEmpty ? element.end : ''}${element.text}`
  })
  return deepest > NESTING_MAX ? { html: '', reason: 'it is nested too deeply' } : { html, reason: '' }
}

/**
 * @param {string} name @param {Record<string, string>} attributes @param {string} text @param {Open[]} open
 * @returns {{start: string, end: string, text: string, table?: Table}}
 */
function elementOf (name, attributes, text, open) {
  const parent = open.at(-1)
  // A span, as KaTeX has styles for one; a style that cells have anyway.
  const isNothing = name === 'span' ||
    (name === 'mstyle' && parent?.name === 'mtd' && attributes.scriptlevel === '0' && attributes.displaystyle === 'false')
  if (isNothing) return { start: '', end: '', text }
  const classes = []
  let [tag, shown] = [name, text]
  /** @type {Table | undefined} */
  let table
  if (name === 'menclose') {
    tag = 'mrow'
    // What `\boxed`, `\cancel` and their like draw.
    classes.push(...words(attributes.notation).filter((each) => MATH_CLASSES.mrow.includes(each)))
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
  // Core has no negative lengths, and some browsers would.
  const kept = Object.entries(attributes).filter(([key, value]) => key !== 'class' && !value.startsWith('-'))
  if (classes.length > 0) kept.push(['class', classes.join(' ')])
  return { start: `<${tag}${kept.map(([key, value]) => ` ${key}="${value}"`).join('')}>`, end: `</${tag}>`, text: shown, table }
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
