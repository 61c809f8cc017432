/** Of the style sheet's variables, so a diagram is dark where the page is. */
export const COLOURS = ['none', ...['ink', 'soft', 'line', 'edge', 'tint', 'paper'].map((name) => `var(--${name})`)]

const paint = ['fill', 'stroke'].map((name) => ({ name, values: COLOURS }))
const STROKE = [...paint, 'stroke-width', 'stroke-dasharray']
const LETTERS = [
  'font-size', 'font-weight',
  { name: 'font-style', values: ['italic'] },
  { name: 'font-family', values: ['var(--mono)'] },
  { name: 'text-decoration', values: ['underline', 'line-through', 'underline line-through'] }
]

/**
 * What a diagram consists of. Nothing here has an address, an id, a style, a script, or a name that another part of
 * the page could take for its own. HTML writes `viewBox` as it likes.
 * @type {Record<string, (string | {name: string, values: string[]})[]>}
 */
export const DIAGRAM_ATTRIBUTES = {
  svg: [
    'viewbox', 'width', 'height', 'aria-label',
    { name: 'role', values: ['img'] },
    { name: 'font-family', values: ['system-ui,sans-serif'] }
  ],
  g: ['transform'],
  rect: ['x', 'y', 'width', 'height', 'rx', 'ry', ...STROKE],
  line: ['x1', 'y1', 'x2', 'y2', ...STROKE],
  polyline: ['points', ...STROKE],
  polygon: ['points', ...STROKE],
  path: ['d', ...STROKE],
  circle: ['cx', 'cy', 'r', ...STROKE],
  ellipse: ['cx', 'cy', 'rx', 'ry', ...STROKE],
  text: ['x', 'y', 'dx', 'dy', { name: 'text-anchor', values: ['start', 'middle', 'end'] }, ...paint, ...LETTERS],
  tspan: ['x', 'dx', 'dy', ...paint, ...LETTERS]
}
