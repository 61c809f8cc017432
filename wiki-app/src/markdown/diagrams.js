import { t } from '../language.js'

/** @import {MarkdownIt, Token} from 'markdown-it' */
/** @import {PageEnv} from './html.js' */
/** @import {Drawing} from './diagram-work.js' */

/** @typedef {Map<string, Drawing>} Drawings  by source */

const FENCE = /^mermaid(?:\s|$)/
export const DIAGRAMS_MAX = 20
const SOURCE_MAX_BYTES = 8_192

/** @param {Pick<Token, 'type' | 'info'>} token */
const isDiagram = ({ type, info }) => type === 'fence' && FENCE.test(info.trim())
/** @param {string} source */
const isLong = (source) => Buffer.byteLength(source) > SOURCE_MAX_BYTES

/**
 * Different sources that can be drawn; drawing takes a thread of its own (draw-diagrams.js).
 * @param {Token[]} tokens  of a page
 */
export function diagramsIn (tokens) {
  const sources = tokens.filter(isDiagram).map(({ content }) => content).filter((source) => !isLong(source))
  return [...new Set(sources)].slice(0, DIAGRAMS_MAX)
}

/**
 * Fenced code of the language `mermaid`, with its drawing above it.
 * @param {MarkdownIt} markdownIt
 */
export function diagrams (markdownIt) {
  const { rules } = markdownIt.renderer
  const asCode = /** @type {NonNullable<typeof rules.fence>} */ (rules.fence)
  const { escapeHtml } = markdownIt.utils
  rules.fence = (tokens, index, options, env, self) => {
    const code = asCode(tokens, index, options, env, self)
    const token = tokens[index]
    if (!isDiagram(token)) return code
    const { svg, reason } = drawingOf(token.content, /** @type {PageEnv} */ (env))
    return reason === ''
      ? `<div class="diagram">${svg}<details><summary>${sourceTitle()}</summary>${code}</details></div>\n`
      : `${code}<p><small>(${escapeHtml(t('no diagram: {{reason}}', { reason }))})</small></p>\n`
  }
}

/** @param {string} source @param {PageEnv} env @returns {Drawing} */
function drawingOf (source, { drawings }) {
  if (isLong(source)) return refused(t('its source has more than {{bytes}} bytes', { bytes: SOURCE_MAX_BYTES }))
  const drawing = drawings.bySource.get(source)
  if (drawing === undefined) return refused(t('a page has at most {{most}} diagrams', { most: DIAGRAMS_MAX }))
  drawings.charsLeft -= drawing.svg.length
  return drawings.charsLeft < 0 ? refused(t('the diagrams of this page are too large')) : drawing
}

const sourceTitle = () => t('Source of the diagram')

/** @param {string} reason @returns {Drawing} */
const refused = (reason) => ({ svg: '', reason })
