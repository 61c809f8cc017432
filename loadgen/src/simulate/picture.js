import { createStaleness } from '../histories/staleness.js'

/** @import {Event, FaultEvent, ReadEvent, SaveEvent} from './events.js' */

/** More than that cannot be seen. */
export const EVENTS_MAX = 2_000
const [LEFT, TOP, RIGHT, BOTTOM] = [60, 58, 30, 20]
const [LANE, GAP] = [150, 6]
const PX_PER_MS = 0.3
const LABEL_HEIGHT = 11
const GRID_MS = 250
/** Faults of one lane that last at the same time stand side by side. */
const [BARS_MAX, BAR] = [3, 20]
const LANES = ['database', 'wiki 0', 'wiki 1', 'wiki 2', 'edge 0', 'edge 1', 'edge 2', 'edge 3']
const COLOURS = {
  fault: '#d8d8d8', save: '#1a7f37', HIT: '#9aa4af', fetched: '#0969da', stale: '#d97706', old: '#c0182b'
}

/** @param {string} text */
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
/** @param {number} ms */
const yOf = (ms) => TOP + ms * PX_PER_MS
/** @param {string} lane */
const xOf = (lane) => LEFT + LANES.indexOf(lane) * LANE

/** @param {number} x @param {number} y @param {string} text @param {string} [more]  attributes */
const label = (x, y, text, more = '') => `<text x="${x}" y="${y.toFixed(1)}"${more}>${escaped(text)}</text>`

/** @param {number} x @param {number} y @param {{width: number, height: number, fill: string, title: string}} shape */
const box = (x, y, { width, height, fill, title }) =>
  `<rect x="${x}" y="${y.toFixed(1)}" width="${width}" height="${height.toFixed(1)}" fill="${fill}">` +
  `<title>${escaped(title)}</title></rect>`

/**
 * A history as a picture: time goes down, each process has a lane. Faults are bars, saves and reads are marks; a read
 * of a text that was not the newest one says how old it was. It ends with the last read.
 * @param {Event[]} all  in their order @param {{title: string, boundMs: number}} options
 * @returns {string} an SVG
 */
export function pictureOf (all, { title, boundMs }) {
  const events = all.slice(0, 1 + all.map(({ kind }) => kind).lastIndexOf('read'))
  const endMs = events.at(-1)?.at_ms ?? 0
  const [width, height] = [LEFT + LANES.length * LANE + RIGHT, yOf(endMs) + BOTTOM]
  const of = (/** @type {Event['kind']} */ kind) => /** @type {any[]} */ (events.filter((event) => event.kind === kind))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height.toFixed(0)}" width="${width}" ` +
      `height="${height.toFixed(0)}" font-family="sans-serif" font-size="10">`,
    `<rect width="${width}" height="${height.toFixed(0)}" fill="#ffffff"/>`,
    label(8, 16, title, ' font-size="13"'),
    ...legendOf(boundMs),
    ...gridOf(endMs, width),
    ...barsOf(of('fault'), endMs),
    ...of('purge').map(({ at_ms: ms, edge, what }) => box(xOf(`edge ${edge}`) + 62, yOf(ms) - 1,
      { width: 10, height: 2, fill: '#000000', title: `${ms.toFixed(1)} ms: purge of ${what.join(' ')}` })),
    ...savesOf(of('save')),
    ...readsOf(of('read'), { saves: of('save'), boundMs }),
    '</svg>',
    ''
  ].join('\n')
}

/** @param {number} boundMs */
function legendOf (boundMs) {
  const marks = /** @type {const} */ ([
    ['fault', 'fault'], ['save', 'save'], ['HIT', 'read, HIT'], ['fetched', 'read, fetched'], ['stale', 'stale read'],
    ['old', `read older than ${boundMs} ms`]
  ])
  return [
    ...marks.flatMap(([name, text], index) => [
      box(8 + index * 105, 24, { width: 10, height: 8, fill: COLOURS[name], title: text }),
      label(22 + index * 105, 32, text)
    ]),
    box(8 + marks.length * 105 + 40, 27, { width: 10, height: 2, fill: '#000000', title: 'purge' }),
    label(22 + marks.length * 105 + 40, 32, 'purge')
  ]
}

/** @param {number} endMs @param {number} width */
function gridOf (endMs, width) {
  const lines = []
  for (let ms = 0; ms <= endMs; ms += GRID_MS) {
    lines.push(`<path d="M${LEFT} ${yOf(ms)}H${width}" stroke="#eeeeee"/>`)
    lines.push(label(LEFT - 6, yOf(ms) + 3, `${ms} ms`, ' text-anchor="end"'))
  }
  const lanes = LANES.flatMap((lane) => [
    `<path d="M${xOf(lane)} ${TOP - 4}V${yOf(endMs).toFixed(0)}" stroke="#cccccc"/>`,
    label(xOf(lane) + GAP, TOP - 8, lane, ' font-weight="bold"')
  ])
  return [...lines, ...lanes]
}

/** @param {(FaultEvent & {at_ms: number})[]} faults @param {number} endMs */
function barsOf (faults, endMs) {
  /** @type {Map<string, number[]>} by lane: until when each place is taken */
  const taken = new Map()
  return faults.flatMap(({ name, where, ms, at_ms: atMs }) => {
    const places = taken.get(where) ?? Array(BARS_MAX).fill(-Infinity)
    taken.set(where, places)
    const free = places.findIndex((untilMs) => untilMs <= atMs)
    const place = free === -1 ? BARS_MAX - 1 : free
    // Room for its name.
    places[place] = atMs + Math.max(ms, 2 * LABEL_HEIGHT / PX_PER_MS)
    const x = xOf(where) + 2 + place * BAR
    const height = Math.max(2, (Math.min(endMs, atMs + ms) - atMs) * PX_PER_MS)
    const title = `${atMs.toFixed(1)} ms: ${name}, ${ms.toFixed(0)} ms`
    return [
      box(x, yOf(atMs), { width: BAR - 2, height, fill: COLOURS.fault, title }),
      label(x + 1, yOf(atMs) + LABEL_HEIGHT - 2, name, ' font-size="8"')
    ]
  })
}

/** @param {(SaveEvent & {at_ms: number})[]} saves */
function savesOf (saves) {
  const isFree = createPlaces()
  return saves.flatMap(({ at_ms: ms, wiki, page, revision }) => {
    const [x, text] = [xOf(`wiki ${wiki}`) + 74, `${page} r${revision}`]
    const title = `${ms.toFixed(1)} ms: ${text} saved`
    const mark = box(x, yOf(ms) - 1, { width: 12, height: 2, fill: COLOURS.save, title })
    return isFree(x, yOf(ms)) ? [mark, label(x + 16, yOf(ms) + 3, text, ` fill="${COLOURS.save}"`)] : [mark]
  })
}

/**
 * @param {(ReadEvent & {at_ms: number})[]} reads
 * @param {{saves: (SaveEvent & {at_ms: number})[], boundMs: number}} options
 */
function readsOf (reads, { saves, boundMs }) {
  const stalenessOf = createStaleness(saves.map((save) => ({ ...save, acknowledged_ms: save.at_ms })))
  const isFree = createPlaces()
  // The oldest first: they get the room for their labels.
  const judged = reads.map((read) => ({ ...read, ageMs: stalenessOf(read) }))
    .sort((one, other) => other.ageMs - one.ageMs)
  return judged.flatMap(({ at_ms: ms, edge, page, revision, status, ageMs }) => {
    const kind = ageMs > boundMs ? 'old' : ageMs > 0 ? 'stale' : status === 'HIT' ? 'HIT' : 'fetched'
    const x = xOf(`edge ${edge}`) + 74
    const aged = ageMs > 0 ? `, ${ageMs.toFixed(0)} ms old` : ''
    const title = `${ms.toFixed(1)} ms: ${page} revision ${revision}, ${status}${aged}`
    const size = ageMs > 0 ? { width: 12, height: 2 } : { width: 7, height: 1 }
    const mark = box(x, yOf(ms) - 0.5, { ...size, fill: COLOURS[kind], title })
    if (ageMs === 0 || !isFree(x, yOf(ms))) return [mark]
    return [mark, label(x + 14, yOf(ms) + 3, `${page}${aged}`, ` fill="${COLOURS[kind]}"`)]
  })
}

/** Labels do not cover each other. @returns {(x: number, y: number) => boolean} whether there is room; takes it */
function createPlaces () {
  /** @type {Map<number, Set<number>>} */
  const taken = new Map()
  return (x, y) => {
    const rows = taken.get(x) ?? new Set()
    taken.set(x, rows)
    const row = Math.floor(y / LABEL_HEIGHT)
    if ([row - 1, row, row + 1].some((one) => rows.has(one))) return false
    rows.add(row)
    return true
  }
}
