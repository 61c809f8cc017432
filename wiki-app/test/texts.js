import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Eta } from 'eta'
import ts from 'typescript'

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url))
/** Made by bin/codemirror.js. Its functions have short names, too. */
const BUNDLE = 'assets/codemirror.js'
const FUNCTIONS = new Set(['t', 'html', 'htmlText'])
const eta = new Eta()

/** @typedef {{text: string, counted: boolean, file: string, isError?: boolean}} Use  `counted`: with a plural */

/** @param {string} ending @returns {string[]} paths below src/ */
const filesWith = (ending) => readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith(ending)).sort()

/** @param {string} file */
const read = (file) => readFileSync(path.join(SOURCES, file), 'utf8')

/** Of templates, scripts for browsers and modules. @returns {Use[]} all texts that go through the catalogue */
export function textsInUse () {
  const templates = filesWith('.eta').map((file) => ({ file, code: eta.compileToString(read(file)) }))
  const modules = filesWith('.js').filter((file) => file !== BUNDLE).map((file) => ({ file, code: read(file) }))
  return [...templates, ...modules].flatMap(({ file, code }) => usesIn(file, code))
}

/** What templates show without the catalogue. @returns {{file: string, text: string}[]} */
export function literalTexts () {
  return filesWith('.eta').flatMap((file) => {
    const html = eta.parse(read(file)).map((part) => typeof part === 'string' ? part.replaceAll('\\n', '\n') : '\u0000')
      .join('')
    const attributes = [...html.matchAll(/\b(?:aria-label|placeholder|title|alt)="([^"]*)"/g)].map(([, text]) => text)
    const texts = html.replace(/<[^>]*>/g, '\n').split('\n')
    return [...texts, ...attributes].filter((text) => /\p{L}/u.test(text)).map((text) => ({ file, text: text.trim() }))
  })
}

/** @param {string} file @param {string} code @returns {Use[]} @throws {Error} for a text that is no literal */
function usesIn (file, code) {
  /** @type {Use[]} */
  const uses = []
  const visit = (/** @type {ts.Node} */ node) => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
      const [first, second] = node.arguments
      if (FUNCTIONS.has(node.expression.text) && file !== 'language.js') {
        uses.push({ file, text: literal(first, file), counted: isCounted(file, second) })
      }
      if (node.expression.text === 'createError') {
        uses.push({ file, text: pattern(node.arguments[1]), counted: false, isError: true })
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true))
  return uses
}

/** @param {string} file @param {ts.Node | undefined} values */
const isCounted = (file, values) => values !== undefined &&
  ((ts.isObjectLiteralExpression(values) && values.properties.some((each) => each.name?.getText() === 'count')) ||
    file === 'archive/report.js')

/** @param {ts.Expression} node @param {string} file @returns {string} */
function literal (node, file) {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isBinaryExpression(node)) return literal(node.left, file) + literal(node.right, file)
  throw new Error(`${file}: t(${node.getText()}) is not a text as such, so nothing finds it`)
}

/**
 * What an error says, with `%s` also for what is put in while modules load.
 * @param {ts.Expression} node @returns {string}
 */
function pattern (node) {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isBinaryExpression(node)) return pattern(node.left) + pattern(node.right)
  if (!ts.isTemplateExpression(node)) return ''
  return node.head.text + node.templateSpans.map(({ literal: { text } }) => `%s${text}`).join('')
}
