/** @typedef {import('@stevec/harness/trace-receiver').ReceivedSpan} ReceivedSpan */

/** Shorter times without a span are nobody's wait. */
const GAP_MIN_MS = 0.3
const DEPTH_MAX = 50

/**
 * A line of the waterfall; `span` null: a time in which no step of the span above runs.
 * @typedef {{depth: number, start_ms: number, end_ms: number, span: ReceivedSpan | null, within: string}} Row
 */

/** @param {ReceivedSpan[]} spans @returns {Row[]} parents before their steps, in the order of time */
export function rowsOf (spans) {
  const known = new Set(spans.map(({ span_id: id }) => id))
  const below = (/** @type {string | null} */ parent) => spans
    .filter(({ parent_id: id }) => parent === null ? id === null || !known.has(id) : id === parent)
    .sort((a, b) => a.start_ms - b.start_ms)
  const seen = new Set()
  /** @type {(span: ReceivedSpan, depth: number) => Row[]} */
  const rows = (span, depth) => {
    if (seen.has(span.span_id) || depth > DEPTH_MAX) return []
    seen.add(span.span_id)
    const children = below(span.span_id)
    const own = { depth, start_ms: span.start_ms, end_ms: span.end_ms, span, within: span.name }
    return [own, ...withGaps(span, children, depth + 1, rows)]
  }
  return below(null).flatMap((span) => rows(span, 0))
}

/**
 * @param {ReceivedSpan} parent
 * @param {ReceivedSpan[]} children
 * @param {number} depth
 * @param {(span: ReceivedSpan, depth: number) => Row[]} rows
 */
function withGaps (parent, children, depth, rows) {
  if (children.length === 0) return []
  /** @type {Row[]} */
  const found = []
  let until = parent.start_ms
  const gap = (/** @type {number} */ end) => {
    if (end - until >= GAP_MIN_MS) found.push({ depth, start_ms: until, end_ms: end, span: null, within: parent.name })
  }
  for (const child of children) {
    // Work on the queue begins after its parent's end.
    gap(Math.min(child.start_ms, parent.end_ms))
    found.push(...rows(child, depth))
    until = Math.max(until, child.end_ms)
  }
  gap(parent.end_ms)
  return found
}

/** @param {unknown} text */
const escaped = (text) => String(text).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)

/**
 * One file without a script, a font or a link: names in it may come from anybody.
 * @param {{title: string, spans: ReceivedSpan[], at: Date}} trace
 * @returns {string} HTML
 */
export function waterfall ({ title, spans, at }) {
  const rows = rowsOf(spans)
  const begin = Math.min(...rows.map(({ start_ms: ms }) => ms))
  const whole = Math.max(0.001, Math.max(...rows.map(({ end_ms: ms }) => ms)) - begin)
  const lines = rows.map((row) => lineOf(row, begin, whole)).join('\n')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Trace of ${escaped(title)}</title>
<style>
:root { color-scheme: light dark; --bar: #2563a8; --gap: #c9ced6; --bad: #b3261e; --line: #d5d9e0 }
@media (prefers-color-scheme: dark) { :root { --bar: #7fb2e8; --gap: #4a5260; --bad: #f2867e; --line: #3a4150 } }
body { font: 15px/1.4 system-ui, sans-serif; margin: 1.5em }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: 2px 8px; border-bottom: 1px solid var(--line); vertical-align: top }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.time { width: 45%; padding: 6px 8px }
td.time div { height: 12px; min-width: 2px; background: var(--bar); border-radius: 2px }
tr.gap td { color: GrayText } tr.gap td.time div { background: var(--gap) }
tr.failed td.time div { background: var(--bad) }
dl { margin: 4px 0; display: grid; grid-template-columns: max-content 1fr; gap: 0 12px; font-size: 13px }
dd { margin: 0; overflow-wrap: anywhere }
</style>
<h1>Trace of ${escaped(title)}</h1>
<p>${escaped(at.toISOString())}, ${whole.toFixed(1)} ms. Times of nginx are from its log, in whole milliseconds. A gray
line is a time in which no step of the span above it runs: its own work, or a wait.</p>
<table>
<thead><tr><th scope="col">span</th><th scope="col">of</th><th scope="col" class="number">begins, ms</th>
<th scope="col" class="number">takes, ms</th><th scope="col">when</th></tr></thead>
<tbody>
${lines}
</tbody>
</table>
</html>
`
}

/** @param {Row} row @param {number} begin @param {number} whole */
function lineOf ({ depth, start_ms: start, end_ms: end, span, within }, begin, whole) {
  const [from, takes] = [start - begin, Math.max(0, end - start)]
  const kind = span === null ? 'gap' : span.failed ? 'failed' : ''
  const name = span === null ? `no step of ${escaped(within)}` : nameOf(span)
  const bar = `margin-left: ${(100 * from / whole).toFixed(2)}%; width: ${(100 * takes / whole).toFixed(2)}%`
  return `<tr class="${kind}"><td style="padding-left: ${depth * 1.2 + 0.5}em">${name}</td>` +
    `<td>${escaped(span?.service ?? '')}</td><td class="number">${from.toFixed(1)}</td>` +
    `<td class="number">${takes.toFixed(1)}</td>` +
    `<td class="time" aria-hidden="true"><div style="${bar}"></div></td></tr>`
}

/** @param {ReceivedSpan} span */
function nameOf ({ name, attributes, failed }) {
  const facts = Object.entries(attributes)
  const text = `${escaped(name)}${failed ? ' (failed)' : ''}`
  if (facts.length === 0) return text
  const list = facts.map(([key, value]) => `<dt>${escaped(key)}</dt><dd>${escaped(value)}</dd>`).join('')
  return `<details><summary>${text}</summary><dl>${list}</dl></details>`
}
