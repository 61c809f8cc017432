import { t } from '../language.js'
import { flowLines } from './diagram-flow.js'
import { unknownIn } from './diagram-lines.js'

const FRONT_MATTER = /^---[ \t]*\n([^]*?)\n---[ \t]*(?:\n|$)/
const TITLE = /^[ \t]*title:[ \t]*(.+)$/m
const ACCESSIBLE_TITLE = /^[ \t]*accTitle[ \t]*:[ \t]*(.+)$/m
const DESCRIPTION = /^[ \t]*accDescr[ \t]*(?::.*|\{[^}]*\})$/gm

/** Links, scripts and colours: a diagram has the colours of the page, and leads nowhere. */
const LEFT_OUT = /^(?:(?:click|style|classDef|linkStyle|cssClass|callback|link)\s+["\w]|class\s+[\w,-]+\s+\w+$)/
const LEFT_OUT_OF_SEQUENCES = /^(?:(?:links?|properties|details)\s+[^:>]+:|autonumber\b|(?:de)?activate\s)/
/** Without a way to draw it, yet without a loss. */
const DIRECTION = /^direction\s+(?:TD|TB|LR|BT|RL)$/

const KINDS = [
  { kind: 'Flowchart', header: /^(?:graph|flowchart)(?:\s+(TD|TB|LR|BT|RL))?$/i, leftOut: LEFT_OUT },
  { kind: 'State diagram', header: /^stateDiagram(?:-v2)?$/i, leftOut: LEFT_OUT },
  { kind: 'Sequence diagram', header: /^sequenceDiagram$/i, leftOut: LEFT_OUT_OF_SEQUENCES },
  { kind: 'Class diagram', header: /^classDiagram(?:-v2)?$/i, leftOut: LEFT_OUT, directed: false },
  { kind: 'Diagram of entities', header: /^erDiagram$/i, leftOut: LEFT_OUT, directed: false }
]

const NAMES = 'graph, flowchart, stateDiagram-v2, sequenceDiagram, classDiagram, erDiagram'
const LINE_MAX_CHARS = 60

/** @typedef {{kind: string, title: string, text: string}} Prepared  `title`: '' without one */

/**
 * What the library takes for parts of the drawing, and is none, is left out.
 * @param {string} source  in Mermaid's language: https://mermaid.js.org/intro/syntax-reference.html
 * @returns {Prepared | {refusal: string}}
 */
export function prepare (source) {
  const [, matter = ''] = FRONT_MATTER.exec(source) ?? []
  const rest = source.replace(FRONT_MATTER, '')
  const [, title = ''] = ACCESSIBLE_TITLE.exec(rest) ?? TITLE.exec(matter) ?? []
  const [first = '', ...others] = rest
    .replace(ACCESSIBLE_TITLE, '')
    .replace(DESCRIPTION, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('%%'))
  const [header, ...statements] = first.split(';').map((part) => part.trim())
  const known = KINDS.find((each) => each.header.test(header))
  if (known === undefined) return { refusal: t('its first line names none of {{kinds}}', { kinds: NAMES }) }
  const { kind, leftOut, directed = true } = known
  const lines = [...statements.filter((line) => line !== ''), ...others.map((line) => line.replace(/\s*;$/, ''))]
    .filter((line) => !leftOut.test(line) && (directed || !DIRECTION.test(line)))
  const body = bodyOf(kind, lines)
  if ('unknown' in body) return { refusal: t('this line is not known here: {{line}}', { line: cut(body.unknown) }) }
  return {
    kind,
    title: title.trim().replace(/^(["'])(.*)\1$/, '$2'),
    text: [headerOf(header, kind), ...body.lines].join('\n')
  }
}

/** @param {string} kind @param {string[]} lines @returns {{lines: string[]} | {unknown: string}} */
function bodyOf (kind, lines) {
  if (kind === 'Flowchart') return flowLines(lines)
  const unknown = unknownIn(kind, lines)
  return unknown === undefined ? { lines } : { unknown }
}

/** @param {string} line */
const cut = (line) => line.length > LINE_MAX_CHARS ? `${[...line].slice(0, LINE_MAX_CHARS).join('')}…` : line

/** As the library writes it. @param {string} header @param {string} kind */
function headerOf (header, kind) {
  if (kind === 'Class diagram') return 'classDiagram'
  return kind === 'Flowchart' && !/\s/.test(header) ? `${header} TD` : header
}
