import { sectionsOf } from '../markdown/html.js'
import { LAST } from './section-numbers.js'

/** @import {Section} from '../markdown/sections.js' */

/**
 * `section`: its number in `base`, from 1, or LAST. `shown`: the newer text in which it is looked for.
 * @typedef {{base: string, section: number, shown: string}} Find
 * @typedef {{base: string, section: number, text: string}} Splice  `text`: replaces the section
 * @typedef {{number: number, title: string, id: string, text: string}} Found
 * @typedef {{content: string, id: string}} Spliced  `id`: of the section's heading; '' if it has none now
 */

/** Takes as long as rendering: for a worker thread. @param {Find | Splice} task @returns {Found | Spliced | null} */
export const sectionWork = (task) => 'text' in task ? splice(task) : find(task)

/** @param {Find} task @returns {Found | null} null: there is no such section any more */
function find ({ base, section: number, shown }) {
  const before = sectionsOf(base)
  const wanted = number === LAST ? before.at(-1) : before[number - 1]
  if (wanted === undefined) return null
  const now = base === shown ? before : sectionsOf(shown)
  const found = base === shown ? wanted : sameAs(wanted, { before, now, base, shown })
  if (found === undefined) return null
  const { title, id, start, end } = found
  return { number: now.indexOf(found) + 1, title, id, text: withoutEnd(shown.slice(start, end)) }
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

/** @param {Splice} task @returns {Spliced | null} null: `base` has no such section */
function splice ({ base, section: number, text }) {
  const section = sectionsOf(base)[number - 1]
  if (section === undefined) return null
  const [before, old, after] = [
    base.slice(0, section.start), base.slice(section.start, section.end), base.slice(section.end)
  ]
  const written = withoutEnd(text)
  const content = `${before}${written}${written === '' ? '' : endOf(old, after)}${after}`
  return { content, id: written === '' ? '' : sectionsOf(content)[number - 1]?.id ?? '' }
}

/** @param {string} text */
const withoutEnd = (text) => text.slice(0, text.length - ending(text).length)

/** Blank lines. A regular expression would look at each line. @param {string} text */
function ending (text) {
  let at = text.length
  while (at > 0 && ' \t\r\n'.includes(text[at - 1])) at--
  return text.slice(at)
}

/** What stood between the section and the next heading; the last line must not become a part of that one. */
const endOf = (/** @type {string} */ old, /** @type {string} */ after) => {
  const end = ending(old).replace(/^[ \t]+/, '')
  if (after === '' || /^ {0,3}#/.test(after) || end.replaceAll('\r\n', '\n').length > 1) return end
  return '\n\n'
}
