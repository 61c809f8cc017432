import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { createLimit } from '../../process/limit.js'
import { codeBlock } from './code-block.js'
import { ConvertedOnce } from './converted-once.js'
import { createConverter } from './converter.js'
import { dokuWikiLinks, dokuWikiSettings, mediaName } from './dokuwiki-links.js'
import { mediaWikiLinks, mediaWikiSettings, withUpperFirst } from './mediawiki-links.js'
import { joined, sectionsOf } from './sections.js'

/** @import {AboutTexts, Convert, Converted} from '../content.js' */
/** @import {Answer, Limits, Question} from './converter.js' */

/** A page of 100 kB takes a fifth of a second. */
const LIMITS = { cpuMs: 10_000, memoryMib: 768, outputBytes: 16_777_216 }
const TEXT_MAX_CHARS = 4_194_304
/** A process that dies beside a text may have been stopped by somebody. */
const ATTEMPTS = 2
const STARTS_MAX = 3
const MARK_BYTES = 12
/** Of a text, in sections that others have, too. Each question to pandoc takes time: of a new text there is one. */
const KNOWN_MIN = 0.3

/** pandoc cannot be run. */
export class PandocError extends Error {}

/**
 * `cpuMs`: what it took now; 0 of a text that was converted before.
 * @typedef {{converted: Converted, cpuMs: number}} Outcome
 * @typedef {{settings: object, answer: (questions: Question[]) => Answer[]}} Task
 */

/** @param {string} text */
const whole = (text) => [text]

const MARKUPS = {
  mediawiki: { settings: mediaWikiSettings, links: mediaWikiLinks, picture: withUpperFirst, sectionsOf },
  dokuwiki: { settings: dokuWikiSettings, links: dokuWikiLinks, picture: mediaName, sectionsOf: whole }
}

/**
 * Converts with long-lived processes of pandoc (3.1.1 or newer). They see no text but through standard input, and a
 * text makes them read no file and no address.
 * @param {object} options
 * @param {'mediawiki' | 'dokuwiki'} options.from
 * @param {string} [options.command]  the path of pandoc
 * @param {number} [options.processes]
 * @param {AboutTexts['pictureUrl']} [options.pictureUrl]  where a call has none
 * @param {Partial<Limits>} [options.limits]
 * @returns {{convert: Convert, close: () => Promise<void>}} `convert` rejects with a PandocError when pandoc cannot be
 *   run, or dies again and again
 */
export function createPandoc ({ from, command = 'pandoc', processes = availableParallelism(), pictureUrl, limits }) {
  const options = { command, from, limits: { ...LIMITS, ...limits } }
  const all = Array.from({ length: processes }, () => createConverter(options))
  const free = [...all]
  const limit = createLimit(processes)

  // No text can have it, so that none can imitate the notes of a section.
  const mark = randomBytes(MARK_BYTES).toString('hex')
  /** @type {WeakMap<AboutTexts, ConvertedOnce>} */
  const known = new WeakMap()

  /** @param {string} text @param {Task} task @returns {Promise<Outcome>} */
  async function convertOne (text, { settings, answer }) {
    if (text.length > TEXT_MAX_CHARS) return refused(text, `it has more than ${TEXT_MAX_CHARS} characters`)
    const converter = /** @type {ReturnType<typeof createConverter>} */ (free.pop())
    try {
      for (let attempt = 1, starts = 1; ; attempt++) {
        const outcome = await converter.convert(text, settings, answer)
        if ('content' in outcome) return { converted: withTags(outcome), cpuMs: outcome.cpuMs }
        if ('refused' in outcome) return refused(text, outcome.refused)
        if (!outcome.started && starts++ === STARTS_MAX) {
          throw new PandocError(`pandoc (${command}) does not start: ${outcome.died}`)
        }
        if (outcome.started && attempt >= ATTEMPTS) return refused(text, `pandoc ended at it (${outcome.died})`)
      }
    } finally {
      free.push(converter)
    }
  }

  /** @param {string} text @param {string} reason @returns {Outcome} */
  const refused = (text, reason) => ({
    converted: {
      content: codeBlock(text, from === 'mediawiki' ? 'wikitext' : 'dokuwiki'),
      problem: `It stays as it was written: ${reason}.`
    },
    cpuMs: 0
  })

  /**
   * @param {string[]} sections @param {Task} task @param {ConvertedOnce} once
   * @returns {Promise<Converted | null>} null: pandoc refuses one, or all take as long as no text may
   */
  async function convertSections (sections, { settings, answer }, once) {
    const task = { settings: { ...settings, notes: mark }, answer }
    let [left, isOver] = [options.limits.cpuMs, false]
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

  return {
    convert (texts, given = {}) {
      const about = { ...given, pictureUrl: given.pictureUrl ?? pictureUrl }
      const answerLink = MARKUPS[from].links(about)
      /** @type {Task} */
      const task = {
        settings: MARKUPS[from].settings(about),
        answer: (questions) => questions.map(({ kind, target }) => {
          if (kind === 'link') return answerLink(target)
          const href = about.pictureUrl?.(MARKUPS[from].picture(target, about))
          return href === undefined ? {} : { href }
        })
      }
      const once = known.get(given) ?? new ConvertedOnce()
      known.set(given, once)
      const cut = texts.map((text) => text.length > TEXT_MAX_CHARS ? [text] : MARKUPS[from].sectionsOf(text))
      const isShared = sharedBy(cut)
      const isKnown = (/** @type {string} */ section) => isShared(section) || once.has(`${mark}${section}`)
      return Promise.all(texts.map(async (text, index) => {
        const sections = cut[index]
        const isWorth = sections.length > 1 && charsOf(sections.filter(isKnown)) >= KNOWN_MIN * text.length
        const converted = isWorth ? await convertSections(sections, task, once) : null
        if (converted !== null) return converted
        const outcome = await once.of(text, () => limit.run(() => convertOne(text, task)))
        return /** @type {Outcome} */ (outcome).converted
      }))
    },

    async close () {
      await Promise.all(all.map((converter) => converter.close()))
    }
  }
}

/** @param {{content: string, tags: string[]}} outcome @returns {Converted} */
const withTags = ({ content, tags }) => ({ content, ...tags.length === 0 ? {} : { tags } })

/** @param {string[]} sections */
const charsOf = (sections) => sections.reduce((sum, { length }) => sum + length, 0)

/** @param {string[][]} texts @returns {(section: string) => boolean} whether two of the texts have it */
function sharedBy (texts) {
  const [seen, shared] = [/** @type {Set<string>} */ (new Set()), /** @type {Set<string>} */ (new Set())]
  for (const sections of texts) {
    for (const section of new Set(sections)) (seen.has(section) ? shared : seen).add(section)
  }
  return (section) => shared.has(section)
}
