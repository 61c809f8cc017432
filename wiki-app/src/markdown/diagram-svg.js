import sax from 'sax'
import { DIAGRAM_ATTRIBUTES } from './diagram-elements.js'

/** @typedef {{name: string, attributes: Record<string, string>, children: (Element | string)[]}} Element */
/** @typedef {{x: number, y: number}} Point */

const NUMBERS = /^(?:[-+.\d\s,]|\de[-+]\d)*$/
/** @type {Record<string, RegExp>} */
const VALUES = {
  d: /^[-+.\d\s,MLHVCSQTAZ]*$/i,
  transform: /^(?:(?:translate|scale|rotate)\([-+.\d\s,]*\)\s*)+$/,
  'font-weight': /^(?:\d+|bold)$/
}
/** The library's variables for colours: src/theme.ts of beautiful-mermaid. @type {Record<string, string>} */
const COLOURS = {
  none: 'none',
  'var(--bg)': 'var(--paper)',
  'var(--_text)': 'var(--ink)',
  'var(--_text-sec)': 'var(--soft)',
  'var(--_text-muted)': 'var(--soft)',
  'var(--_text-faint)': 'var(--soft)',
  'var(--_line)': 'var(--edge)',
  'var(--_arrow)': 'var(--soft)',
  'var(--_node-fill)': 'var(--tint)',
  'var(--_node-stroke)': 'var(--edge)',
  'var(--_group-fill)': 'var(--paper)',
  'var(--_group-hdr)': 'var(--tint)',
  'var(--_inner-stroke)': 'var(--line)',
  'var(--_key-badge)': 'var(--paper)'
}
/** What need not be written. @type {Record<string, string>} */
const DEFAULTS = { rx: '0', ry: '0', 'stroke-width': '1', 'font-weight': '400', 'text-anchor': 'start' }
/** Two digits: a tenth of a pixel is not seen. */
const LONG_NUMBER = /-?\d+\.\d{2,}(?:e[-+]\d+)?/g

/**
 * Of a drawing only shapes, texts and the page's colours are left. Arrowheads are copied to where they belong, so that
 * no id is needed.
 * @param {string} drawing  SVG from beautiful-mermaid
 * @returns {{viewBox: string, width: string, height: string, content: string, texts: string[]}} escaped, but `texts`
 */
export function toInert (drawing) {
  const root = parse(drawing)
  /** @type {Map<string, Element>} */
  const markers = new Map()
  /** @type {string[]} */
  const texts = []
  const elements = root.children.filter((child) => typeof child !== 'string')
  for (const defs of elements.filter(({ name }) => name === 'defs')) {
    for (const child of defs.children) if (typeof child !== 'string') markers.set(child.attributes.id, child)
  }

  /** @param {Element | string} node @returns {string} */
  function write (node) {
    if (typeof node === 'string') return ''
    const { name, attributes, children } = node
    if (name === 'text') {
      texts.push(textOf(node))
      return writeText(node)
    }
    const known = Object.hasOwn(DIAGRAM_ATTRIBUTES, name)
    const ofThis = known ? attributesOf(name, attributes) : ''
    if (name === 'g') return inGroup(ofThis, children.map(write).join(''))
    return known ? `<${name}${ofThis}></${name}>${heads(node)}` : ''
  }

  /** @param {Element} node */
  const heads = ({ attributes }) => ['start', 'end'].map((where) => {
    const marker = markers.get(/^url\(#(.+)\)$/.exec(attributes[`marker-${where}`])?.[1] ?? '')
    const transform = marker && placeOf(marker.attributes, attributes, where === 'start')
    return transform ? inGroup(` transform="${transform}"`, marker.children.map(write).join('')) : ''
  }).join('')

  const content = elements.map(write).join('')
  const [viewBox, width, height] = ['viewBox', 'width', 'height'].map((name) => number(root.attributes[name] ?? ''))
  return { viewBox, width, height, content, texts }
}

/** @param {string} attributes @param {string} content */
const inGroup = (attributes, content) => attributes === '' ? content : `<g${attributes}>${content}</g>`

/** @param {Element | string} node @returns {string} */
function writeText (node) {
  if (typeof node === 'string') return escaped(node)
  const { name, attributes, children } = node
  return `<${name}${attributesOf(name, attributes)}>${children.map(writeText).join('')}</${name}>`
}

/** @param {Element | string} node @returns {string} */
const textOf = (node) => typeof node === 'string'
  ? node
  : node.children.map(textOf).join(' ').replace(/\s+/g, ' ').trim()

/** @param {string} name @param {Record<string, string>} attributes @returns {string} */
function attributesOf (name, attributes) {
  const mono = attributes.class === 'mono' ? { 'font-family': 'var(--mono)' } : {}
  return Object.entries({ ...attributes, ...mono }).map(([key, value]) => {
    const rule = DIAGRAM_ATTRIBUTES[name].find((each) => (typeof each === 'string' ? each : each.name) === key)
    if (rule === undefined || DEFAULTS[key] === value) return ''
    const written = key === 'fill' || key === 'stroke' ? colourOf(value, name, key) : number(value)
    const fits = typeof rule === 'string' ? (VALUES[key] ?? NUMBERS).test(written) : rule.values.includes(written)
    return fits ? ` ${key}="${written}"` : ''
  }).join('')
}

/** An author's own would be unreadable on a dark page, or on a light one. @param {string[]} _ */
const colourOf = (...[value, name, key]) =>
  COLOURS[value] ?? (/^t/.test(name) ? 'var(--ink)' : key === 'fill' ? 'var(--tint)' : 'var(--edge)')

/** @param {string} value */
const number = (value) => value.replace(LONG_NUMBER, (long) => String(Number(Number(long).toFixed(1))))

/**
 * Nearly as a browser would place a marker: https://www.w3.org/TR/SVG2/painting.html#RenderingMarkers
 * @param {Record<string, string>} marker @param {Record<string, string>} line @param {boolean} isStart
 * @returns {string} '' when the line has no direction
 */
function placeOf (marker, line, isStart) {
  const points = pointsOf(line)
  if (isStart) points.reverse()
  const at = points.at(-1)
  const from = at && points.reverse().find(({ x, y }) => x !== at.x || y !== at.y)
  if (!from) return ''
  // Some of the library's markers begin where the line ends, and the box there would hide them.
  const turned = Number(marker.refX) < Number(marker.markerWidth) / 2 ? 180 : 0
  const angle = Math.atan2(at.y - from.y, at.x - from.x) * 180 / Math.PI + turned
  const scale = Number(line['stroke-width'] ?? 1)
  return number(`translate(${at.x.toFixed(2)} ${at.y.toFixed(2)}) rotate(${angle.toFixed(2)})`) +
    (scale === 1 ? '' : ` scale(${scale})`) + ` translate(${-Number(marker.refX)} ${-Number(marker.refY)})`
}

/** @param {Record<string, string>} line @returns {Point[]} */
const pointsOf = ({ points, x1, y1, x2, y2 }) => points === undefined
  ? [{ x: Number(x1), y: Number(y1) }, { x: Number(x2), y: Number(y2) }]
  : points.split(/\s+/).map((pair) => pair.split(',').map(Number)).map(([x, y]) => ({ x, y }))

/** @param {string} xml @returns {Element} */
function parse (xml) {
  const parser = sax.parser(true)
  /** @type {Element[]} */
  const open = [{ name: '', attributes: {}, children: [] }]
  parser.onerror = (error) => { throw error }
  parser.onopentag = ({ name, attributes }) => {
    const element = { name, attributes: /** @type {Record<string, string>} */ (attributes), children: [] }
    open[open.length - 1].children.push(element)
    open.push(element)
  }
  parser.onclosetag = () => { open.pop() }
  parser.ontext = (text) => { open[open.length - 1].children.push(text) }
  parser.write(xml).close()
  return /** @type {Element} */ (open[0].children.find((child) => typeof child !== 'string'))
}

/** @param {string} text */
export const escaped = (text) =>
  text.replace(/[&<>"]/g, (sign) => /** @type {Record<string, string>} */ (ESCAPES)[sign])
const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
