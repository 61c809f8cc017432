import { randomBytes } from 'node:crypto'
import { joined } from './sections.js'

/** @import {createLimit} from '../../process/limit.js' */
/** @import {Converted} from '../content.js' */
/** @import {ConvertedOnce} from './converted-once.js' */
/** @import {Outcome, Task} from './pandoc.js' */

const MARK_BYTES = 12
/** Of a text, in sections that others have, too. Each section takes time of its own. */
const KNOWN_MIN = 0.3
/** Sections of a question: few enough that each process gets some of a long text. */
const BATCH_MAX = 16
const BATCH_MAX_CHARS = 8_192

/**
 * Converts texts by their sections, each once.
 * @param {object} options
 * @param {(texts: string[], task: Task, leftMs: number) => Promise<(Outcome | null)[]>} options.convertAll
 * @param {ReturnType<typeof createLimit>} options.limit
 * @param {number} options.cpuMs  of all sections of a text
 */
export function createInSections ({ convertAll, limit, cpuMs }) {
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
      /** @param {string[]} batch @returns {Promise<(Outcome | null)[]>} */
      const convertBatch = (batch) => limit.run(async () => {
        if (isOver) return batch.map(() => null)
        const outcomes = await convertAll(batch, task, left)
        for (const outcome of outcomes) {
          left -= outcome?.cpuMs ?? 0
          isOver ||= left < 0 || outcome === null || outcome.converted.problem !== undefined
        }
        return outcomes
      })
      const keyOf = (/** @type {string} */ section) => `${mark}${section}`
      for (const batch of batchesOf([...new Set(sections)].filter((section) => !once.has(keyOf(section))))) {
        const converting = convertBatch(batch)
        for (const [index, section] of batch.entries()) once.of(keyOf(section), async () => (await converting)[index])
      }
      // A section that is not kept any more is converted again.
      const outcomes = await Promise.all(sections.map((section) =>
        once.of(keyOf(section), async () => (await convertBatch([section]))[0])))
      const converted = outcomes.flatMap((outcome) =>
        outcome === null || outcome.converted.problem !== undefined ? [] : [outcome.converted])
      return left < 0 || converted.length < sections.length ? null : joined(converted, mark)
    }
  }
}

/** @param {string[]} sections @returns {string[][]} */
function batchesOf (sections) {
  /** @type {string[][]} */
  const batches = []
  let chars = 0
  for (const section of sections) {
    const last = batches.at(-1)
    if (last === undefined || last.length >= BATCH_MAX || chars + section.length > BATCH_MAX_CHARS) {
      batches.push([section])
      chars = section.length
    } else {
      last.push(section)
      chars += section.length
    }
  }
  return batches
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
