import { definesLinks, sectionsOf } from '../markdown/html.js'
import { LAST } from './section-numbers.js'

/** @import {Section} from '../markdown/sections.js' */

/**
 * `section`: its number in `base`, from 1, or LAST. `shown`: the newer text in which it is looked for.
 * @typedef {{base: string, section: number, shown: string}} Find
 * @typedef {Find & {addition: string}} Append  `addition`: comes after the section, in `shown`
 * @typedef {{base: string, section: number, text: string}} Splice  `text`: replaces the section
 * @typedef {{definitions: string, section: number}} Define  Markdown
 * @typedef {Find | Append | Splice | Define} OfSection
 *
 * @typedef {{number: number, title: string, id: string, text: string}} Found
 * @typedef {{content: string, title: string, id: string}} Spliced  `title`: as before; `id`: of the section's heading;
 *   '' if it has none now
 * @typedef {{lost: 'above' | 'below' | 'added', title: string}} Lost  nothing is spliced: what is above the section, or
 *   the next heading, would not stay as it is, or what is added would be in the block above it
 */

/**
 * Takes as long as rendering: for a worker thread.
 * @param {OfSection} task @returns {Found | Spliced | Lost | {defines: boolean} | null}
 */
export function sectionWork (task) {
  if ('definitions' in task) return { defines: definesLinks(task.definitions) }
  if ('addition' in task) return append(task)
  return 'text' in task ? splice(task) : find(task)
}

/** @param {Find} task @returns {Found | null} null: there is no such section any more */
function find (task) {
  const { found, now } = foundIn(task)
  if (found === undefined) return null
  const { title, id, start, end } = found
  return { number: now.indexOf(found) + 1, title, id, text: withoutEnd(task.shown.slice(start, end)) }
}

/** @param {Append} task @returns {Spliced | Lost | null} null: there is no such section any more */
function append (task) {
  const { found, now } = foundIn(task)
  if (found === undefined) return null
  const text = withoutEnd(task.shown.slice(found.start, found.end))
  const closed = `${text}\n\n`
  if (sectionsOf(`${closed}# x`).at(-1)?.start !== closed.length) return { lost: 'added', title: found.title }
  return replaced(task.shown, now, found, `${closed}${task.addition}`)
}

/** @param {Splice} task @returns {Spliced | Lost | null} null: `base` has no such section */
function splice ({ base, section: number, text }) {
  const sections = sectionsOf(base)
  const section = sections[number - 1]
  return section === undefined ? null : replaced(base, sections, section, text)
}

/** @param {Find} task @returns {{found: Section | undefined, now: Section[]}} `now`: all that `shown` has */
function foundIn ({ base, section: number, shown }) {
  const before = sectionsOf(base)
  const wanted = number === LAST ? before.at(-1) : before[number - 1]
  if (wanted === undefined || base === shown) return { found: wanted, now: before }
  const now = sectionsOf(shown)
  return { found: sameAs(wanted, { before, now, base, shown }), now }
}

/**
 * By its path; where several have or had one path, the one with the same text, or with more after it,
 * or the one at the same place among as many.
 * @param {Section} wanted @param {{before: Section[], now: Section[], base: string, shown: string}} texts
 */
function sameAs (wanted, { before, now, base, shown }) {
  const candidates = now.filter(({ path }) => path === wanted.path)
  const namesakes = before.filter(({ path }) => path === wanted.path)
  if (candidates.length <= 1 && namesakes.length === 1) return candidates[0]
  const text = withoutEnd(base.slice(wanted.start, wanted.end))
  const longer = candidates.filter(({ start, end }) => shown.slice(start, end).startsWith(text))
  if (longer.length === 1) return longer[0]
  const equal = longer.filter(({ start, end }) => withoutEnd(shown.slice(start, end)) === text)
  if (equal.length === 1) return equal[0]
  return candidates.length > 1 && namesakes.length === candidates.length
    ? candidates[namesakes.indexOf(wanted)]
    : undefined
}

/**
 * The other sections stay as they are: with blank lines between them and this one where there must be some.
 * @param {string} base @param {Section[]} sections  of it @param {Section} section  one of them @param {string} text
 * @returns {Spliced | Lost}
 */
function replaced (base, sections, section, text) {
  const { start, end, title } = section
  const [before, old, after] = [base.slice(0, start), base.slice(start, end), base.slice(end)]
  const written = withoutEnd(text)
  const kept = {
    above: sections.filter((other) => other.start < start).map((other) => other.start),
    below: sections.filter((other) => other.start >= end).map((other) => other.start - end)
  }
  const close = { gap: gapBefore(before, old, written), rest: written === '' ? '' : endOf(old, after) }
  const apart = { gap: before === '' ? '' : blankAfter(before), rest: written === '' ? '' : '\n\n' }
  /** @type {Lost['lost'] | undefined} */
  let lost
  for (const { gap, rest } of [close, apart]) {
    const content = `${before}${gap}${written}${rest}${after}`
    const now = sectionsOf(content)
    const at = { start: before.length, text: before.length + gap.length, end: content.length - after.length }
    lost = lostIn(now, at, kept, written)
    const own = now.find((other) => other.start >= at.start && other.start < at.end)
    if (lost === undefined) return { content, title, id: own?.id ?? '' }
  }
  return {
    lost: /** @type {Lost['lost']} */ (lost),
    title: sections.find((other) => other.start >= end)?.title ?? ''
  }
}

/**
 * The same characters are a heading, or not, by what is above them: it is enough to look where headings begin.
 * @param {Section[]} now @param {{start: number, text: number, end: number}} at  of the section
 * @param {{above: number[], below: number[]}} kept  where headings begin @param {string} written
 * @returns {'above' | 'below' | undefined}
 */
function lostIn (now, at, kept, written) {
  const starts = now.map(({ start }) => start)
  if (String(starts.filter((start) => start >= at.end).map((start) => start - at.end)) !== String(kept.below)) {
    return 'below'
  }
  const isOpenAbove = HEADING.test(written) && !starts.includes(at.text)
  return isOpenAbove || String(starts.filter((start) => start < at.start)) !== String(kept.above) ? 'above' : undefined
}

/** @param {string} text */
const withoutEnd = (text) => text.slice(0, text.length - ending(text).length)

/** Blank lines. A regular expression would look at each line. @param {string} text */
function ending (text) {
  let at = text.length
  while (at > 0 && ' \t\r\n'.includes(text[at - 1])) at--
  return text.slice(at)
}

/** `# …`, which is no part of a paragraph above it. */
const HEADING = /^ {0,3}#{1,6}(?:[ \t\r\n]|$)/

/** What stood between the section and the next heading; the last line must not become a part of that one. */
const endOf = (/** @type {string} */ old, /** @type {string} */ after) => {
  const end = ending(old).replace(/^[ \t]+/, '')
  return after === '' || HEADING.test(after) || hasBlankLine(end) ? end : '\n\n'
}

/**
 * A text that begins in another way does not go on with the paragraph above it.
 * @param {string} before @param {string} old @param {string} written
 */
function gapBefore (before, old, written) {
  const isAlike = HEADING.test(written) || firstLine(written) === firstLine(old)
  return before === '' || written === '' || isAlike || hasBlankLine(ending(before)) ? '' : blankAfter(before)
}

/** @param {string} text */
const firstLine = (text) => text.slice(0, /[\r\n]|$/.exec(text)?.index)

/** @param {string} end  blanks at the end of a text */
const hasBlankLine = (end) => end.replaceAll('\r\n', '\n').replace(/[ \t]/g, '').length > 1

/** A line of its own. @param {string} before  ends with the end of a line */
const blankAfter = (before) => before.endsWith('\r') ? '\n\n' : '\n'
