import { createRequire } from 'node:module'
import { toCore } from './math-core.js'

const FORMULAS_MAX = 2_000
const FORMULA_MAX_CHARS = 4_000
const EXPANSIONS_MAX = 1_000
/** A formula that defines macros has a lower limit: each use of a macro writes all of its text again. */
const WITH_MACROS_MAX_CHARS = 2_000
const MACROS_MAX_CHARS = 100_000
const DEFINES = /\\(?:[gex]?def|(?:re)?newcommand|providecommand|(?:future)?let)(?![a-zA-Z])/
/** In em. */
const SIZE_MAX = 10
/** Of MathML. */
const HTML_MAX_CHARS = 524_288
const REASON_MAX_CHARS = 120

const TOO_MANY = `a page has at most ${FORMULAS_MAX} formulas`

const require = createRequire(import.meta.url)
/** @type {typeof import('katex').default | undefined} */
let katex
/** With the first formula: it costs a thread a tenth of a second and some MiB. */
const loaded = () => (katex ??= /** @type {typeof import('katex').default} */ (require('katex')))

/** @typedef {{content: string, markup: string}} Formula  `markup`: the dollars around it; '' in fenced code */

/**
 * The formulas of one page. What is no formula is shown as it was written, with the reason.
 * @param {{maxChars: number, escapeHtml: (text: string) => string}} options  `maxChars` of HTML: once there is more,
 *   the rest is left out, as no one will see the page
 */
export function createFormulas ({ maxChars, escapeHtml }) {
  let [count, chars] = [0, 0]

  /** @param {string} source @param {boolean} isDisplay @returns {{html: string, reason: string}} one is '' */
  function convert (source, isDisplay) {
    if (chars > maxChars) return { html: '', reason: '' }
    count++
    const result = count > FORMULAS_MAX ? refused(TOO_MANY) : mathMl(source, isDisplay)
    chars += result.html.length
    return result
  }

  /** @param {Formula} formula */
  const asWritten = ({ content, markup }) => escapeHtml(`${markup}${content}${markup}`)
  const note = (/** @type {string} */ reason) => `<small>(no formula: ${escapeHtml(reason)})</small>`

  return {
    /** @param {Formula} formula */
    inline (formula) {
      const isDisplay = formula.markup === '$$'
      const { html, reason } = convert(formula.content, isDisplay)
      if (reason !== '') return `<code>${asWritten(formula)}</code> ${note(reason)}`
      return isDisplay ? `<span class="math">${html}</span>` : html
    },

    /** @param {Formula} formula */
    block (formula) {
      const { html, reason } = convert(formula.content, true)
      return reason === ''
        ? `<div class="math">${html}</div>\n`
        : `<pre><code>${asWritten(formula)}</code></pre>\n<p>${note(reason)}</p>\n`
    }
  }
}

/** @typedef {ReturnType<typeof createFormulas>} Formulas */

/** Macros are those of one formula. @param {string} source @param {boolean} displayMode */
function mathMl (source, displayMode) {
  const defines = DEFINES.test(source)
  const maxChars = defines ? WITH_MACROS_MAX_CHARS : FORMULA_MAX_CHARS
  if (source.length > maxChars) {
    return refused(`a formula${defines ? ' with macros' : ''} has at most ${maxChars} characters`)
  }
  try {
    const markup = loaded().renderToString(source, {
      displayMode,
      output: 'mathml',
      trust: false,
      // What is not allowed is shown by its name.
      errorColor: 'currentcolor',
      // After a comment without an end, text would be lost. All else is written for readers, not for TeX.
      strict: (code) => code === 'commentAtEnd' ? 'error' : 'ignore',
      maxExpand: defines ? Math.floor(Math.min(EXPANSIONS_MAX, MACROS_MAX_CHARS / source.length)) : EXPANSIONS_MAX,
      maxSize: SIZE_MAX
    })
    return markup.length > HTML_MAX_CHARS ? refused('it is too long') : toCore(markup)
  } catch (error) {
    return refused(reasonOf(/** @type {any} */ (error)))
  }
}

/** @param {string} reason */
const refused = (reason) => ({ html: '', reason })

/** @param {{rawMessage?: string}} error  the parser's, or a RangeError when the stack is full */
function reasonOf ({ rawMessage }) {
  if (rawMessage === undefined) return 'it is nested too deeply'
  if (rawMessage.startsWith('Too many expansions')) return 'its macros are too long'
  return rawMessage.length > REASON_MAX_CHARS ? `${rawMessage.slice(0, REASON_MAX_CHARS)}…` : rawMessage
}
