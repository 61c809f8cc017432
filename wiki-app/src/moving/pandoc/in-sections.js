import { randomBytes } from 'node:crypto'
import { joined } from './sections.js'

/** @import {createLimit} from '../../process/limit.js' */
/** @import {Converted} from '../content.js' */
/** @import {ConvertedOnce} from './converted-once.js' */
/** @import {Outcome, Task} from './pandoc.js' */

const MARK_BYTES = 12
/** Of a text, in sections that others have, too. Each question to pandoc takes time: of a new text there is one. */
const KNOWN_MIN = 0.3

/**
 * Converts texts by their sections, each once.
 * @param {object} options
 * @param {(text: string, task: Task) => Promise<Outcome>} options.convertOne
 * @param {ReturnType<typeof createLimit>} options.limit
 * @param {number} options.cpuMs  of all sections of a text
 */
export function createInSections ({ convertOne, limit, cpuMs }) {
  // No text can have it, so that none can imitate the notes of a section.
  const mark = randomBytes(MARK_BYTES).toString('hex')

  return {
    /** @param {string[][]} texts  their sections @param {ConvertedOnce} once */
    isWorth (texts, once) {
      const isShared = sharedBy(texts)
      return (/** @type {string[]} */ sections) => {
        const known = sections.filter((section) => isShared(section) || once.has(`${mark}${section}`))
        return sections.length > 1 && charsOf(known) >= KNOWN_MIN * charsOf(sections)
      }
    },

    /**
     * @param {string[]} sections @param {Task} given @param {ConvertedOnce} once
     * @returns {Promise<Converted | null>} null: pandoc refuses one, or all take as long as no text may
     */
    async convert (sections, given, once) {
      const task = { ...given, settings: { ...given.settings, notes: mark } }
      let [left, isOver] = [cpuMs, false]
      const outcomes = await Promise.all(sections.map((section) => once.of(`${mark}${section}`, () => limit.run(
        async () => {
          if (isOver) return null
          const outcome = await convertOne(section, task)
          left -= outcome.cpuMs
          isOver ||= left < 0 || outcome.converted.problem !== undefined
          return outcome
        }
      ))))
      const converted = outcomes.flatMap((outcome) =>
        outcome === null || outcome.converted.problem !== undefined ? [] : [outcome.converted])
      return left < 0 || converted.length < sections.length ? null : joined(converted, mark)
    }
  }
}

/** @param {string[]} sections */
const charsOf = (sections) => sections.reduce((sum, { length }) => sum + length, 0)

/** @param {string[][]} texts @returns {(section: string) => boolean} whether two of the texts have it */
function sharedBy (texts) {
  /** @type {Set<string>} */
  const seen = new Set()
  /** @type {Set<string>} */
  const shared = new Set()
  for (const sections of texts) {
    for (const section of new Set(sections)) (seen.has(section) ? shared : seen).add(section)
  }
  return (section) => shared.has(section)
}
