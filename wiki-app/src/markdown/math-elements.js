const LETTERS = ['math-bold', 'math-italic', 'math-monospace', 'math-sans']

/**
 * Elements of MathML Core that KaTeX writes, with their attributes: https://www.w3.org/TR/mathml-core/
 * None has an address or a style, and what is too large for its box is cut off or scrolls (markdown.css).
 * @type {Record<string, (string | {name: string, values: string[]})[]>}
 */
export const MATH_ATTRIBUTES = {
  math: [{ name: 'display', values: ['block'] }],
  semantics: [],
  annotation: [{ name: 'encoding', values: ['application/x-tex'] }],
  mrow: ['class'],
  mi: ['class', { name: 'mathvariant', values: ['normal'] }],
  mn: ['class'],
  mo: ['class', 'fence', 'largeop', 'lspace', 'maxsize', 'minsize', 'rspace', 'separator', 'stretchy'],
  mtext: ['class'],
  mspace: ['width', 'height', 'depth', 'mathbackground'],
  mstyle: ['displaystyle', 'mathcolor', 'mathsize', 'scriptlevel'],
  mpadded: ['width', 'lspace', 'mathbackground'],
  mphantom: [],
  mfrac: ['linethickness'],
  msqrt: [],
  mroot: [],
  msub: [],
  msup: [],
  msubsup: [],
  munder: ['accentunder'],
  mover: ['accent'],
  munderover: [],
  mtable: ['class'],
  mtr: [],
  mtd: ['class']
}

/** @type {Record<string, string[]>} */
export const MATH_CLASSES = {
  mrow: ['box', 'updiagonalstrike', 'downdiagonalstrike', 'horizontalstrike', 'left', 'right', 'top', 'bottom'],
  mi: LETTERS,
  mn: LETTERS,
  mo: LETTERS,
  mtext: LETTERS,
  mtable: ['tagged'],
  mtd: ['left', 'right', 'line-after', 'line-below']
}
