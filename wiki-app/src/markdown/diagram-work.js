import { renderMermaidSVG } from 'beautiful-mermaid'
import { t } from '../language.js'
import { cpuTicks, MS_PER_TICK, ownThreadId } from '../threads/thread-time.js'
import { prepare } from './diagram-source.js'
import { escaped, toInert } from './diagram-svg.js'

const SVG_MAX_CHARS = 131_072
const LABEL_MAX_CHARS = 200

/** @type {Record<string, () => string>} */
const NAMES = {
  Flowchart: () => t('Flowchart'),
  'State diagram': () => t('State diagram'),
  'Sequence diagram': () => t('Sequence diagram'),
  'Class diagram': () => t('Class diagram'),
  'Diagram of entities': () => t('Diagram of entities')
}

/** @typedef {{svg: string, reason: string}} Drawing  one is '' */

/**
 * @param {string} source @returns {Drawing & {cpuMs: number}} `svg`: to be shown as it is
 */
export default function work (source) {
  const startMs = cpuMs()
  return { ...draw(source), cpuMs: cpuMs() - startMs }
}

/** @param {string} source @returns {Drawing} */
function draw (source) {
  const prepared = prepare(source)
  if ('refusal' in prepared) return refused(prepared.refusal)
  try {
    const { viewBox, width, height, content, texts } = toInert(renderMermaidSVG(prepared.text))
    if (content === '') return refused(t('nothing in it can be drawn'))
    if (content.length > SVG_MAX_CHARS) return refused(t('it is too large; split it into several'))
    const label = prepared.title || `${NAMES[prepared.kind]()}: ${texts.join(', ')}`
    return {
      svg: `<svg viewbox="${viewBox}" width="${width}" height="${height}" role="img" ` +
        `aria-label="${escaped(shortened(label))}" font-family="system-ui,sans-serif">${content}</svg>`,
      reason: ''
    }
  } catch (error) {
    // The parsers skip what they do not know; the layout fails with names of its own code.
    return refused(error instanceof RangeError ? t('it is nested too deeply') : t('it is too entangled to be laid out'))
  }
}

/** @param {string} reason */
const refused = (reason) => ({ svg: '', reason })

/** @param {string} label */
function shortened (label) {
  const signs = [...label.slice(0, 2 * LABEL_MAX_CHARS + 1)]
  return signs.length > LABEL_MAX_CHARS ? `${signs.slice(0, LABEL_MAX_CHARS).join('')}…` : label
}

const id = ownThreadId()
const cpuMs = () => id < 0 ? performance.now() : cpuTicks(id) * MS_PER_TICK
