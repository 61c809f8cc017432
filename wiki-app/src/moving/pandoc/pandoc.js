import { availableParallelism } from 'node:os'
import { createLimit } from '../../process/limit.js'
import { codeBlock } from './code-block.js'
import { ConvertedOnce } from './converted-once.js'
import { createConverter } from './converter.js'
import { dokuWikiLinks, dokuWikiSettings, mediaName } from './dokuwiki-links.js'
import { createInSections } from './in-sections.js'
import { mediaWikiLinks, mediaWikiSettings, withUpperFirst } from './mediawiki-links.js'
import { sectionsOf } from './sections.js'

/** @import {AboutTexts, Convert, Converted} from '../content.js' */
/** @import {Answer, Limits, Question, Result} from './converter.js' */

/** A page of 100 kB takes a fifth of a second. */
const LIMITS = { cpuMs: 10_000, memoryMib: 768, outputBytes: 16_777_216 }
const TEXT_MAX_CHARS = 4_194_304
/** A process that dies beside a text may have been stopped by somebody. */
const ATTEMPTS = 2
const STARTS_MAX = 3

/** pandoc cannot be run. */
export class PandocError extends Error {}

/**
 * `cpuMs`: what it took now; 0 of a text that was converted before.
 * @typedef {{converted: Converted, cpuMs: number}} Outcome
 * @typedef {{settings: object, answer: (questions: Question[]) => Answer[]}} Task
 * @typedef {ReturnType<typeof createConverter>} Converter
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

  /** @type {WeakMap<AboutTexts, ConvertedOnce>} */
  const known = new WeakMap()

  /** @param {string[]} texts @param {Task} task */
  async function ask (texts, task) {
    const converter = /** @type {Converter} */ (free.pop())
    try {
      return await asked(converter, texts, task, command)
    } finally {
      free.push(converter)
    }
  }

  /** @param {string} text @param {Task} task @returns {Promise<Outcome>} */
  async function convertOne (text, task) {
    if (text.length > TEXT_MAX_CHARS) return refused(text, `it has more than ${TEXT_MAX_CHARS} characters`)
    const outcome = await ask([text], task)
    if ('refused' in outcome) return refused(text, outcome.refused)
    const [result] = outcome.results
    if ('refused' in result) return refused(text, result.refused)
    return { converted: withTags(result), cpuMs: outcome.cpuMs }
  }

  /** @param {string[]} texts @param {Task} task @param {number} leftMs */
  const convertAll = async (texts, task, leftMs) => oneByOne(texts, {
    outcome: texts.length > 1 ? await ask(texts, task) : { refused: '', cpuMs: 0 },
    leftMs,
    convertOne: (text) => convertOne(text, task)
  })

  const refused = (/** @type {string} */ text, /** @type {string} */ reason) => refusal(text, reason, from)

  const inSections = createInSections({ convertAll, limit, cpuMs: options.limits.cpuMs })

  return {
    convert (texts, given = {}) {
      const about = { ...given, pictureUrl: given.pictureUrl ?? pictureUrl }
      const task = taskOf(from, about)
      const once = known.get(given) ?? new ConvertedOnce()
      known.set(given, once)
      const cut = texts.map((text) => text.length > TEXT_MAX_CHARS ? [text] : MARKUPS[from].sectionsOf(text))
      const isWorth = inSections.isWorth(cut, once)
      return Promise.all(texts.map(async (text, index) => {
        const converted = isWorth(cut[index]) ? await inSections.convert(cut[index], task, once) : null
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

/**
 * @param {Converter} converter @param {string[]} texts @param {Task} task @param {string} command
 * @returns {Promise<({results: Result[]} | {refused: string}) & {cpuMs: number}>}
 * @throws {PandocError} when pandoc does not start
 */
async function asked (converter, texts, { settings, answer }, command) {
  for (let attempt = 1, starts = 1; ; attempt++) {
    const outcome = await converter.convert(texts, settings, answer)
    if (!('died' in outcome)) return outcome
    if (!outcome.started && starts++ === STARTS_MAX) {
      throw new PandocError(`pandoc (${command}) does not start: ${outcome.died}`)
    }
    if (outcome.started && attempt >= ATTEMPTS) return { refused: `pandoc ended at it (${outcome.died})`, cpuMs: 0 }
  }
}

/**
 * Outcomes of texts that were one question. Where it failed, each is asked for alone, until one is refused or all took
 * too long.
 * @param {string[]} texts
 * @param {object} options
 * @param {({results: Result[]} | {refused: string}) & {cpuMs: number}} options.outcome
 * @param {number} options.leftMs  of processor time
 * @param {(text: string) => Promise<Outcome>} options.convertOne
 * @returns {Promise<(Outcome | null)[]>}  null: it is not converted
 */
async function oneByOne (texts, { outcome, leftMs, convertOne }) {
  const share = outcome.cpuMs / texts.length
  let left = leftMs - outcome.cpuMs
  let isOver = false
  const outcomes = []
  for (const [index, text] of texts.entries()) {
    const result = 'refused' in outcome ? outcome : outcome.results[index]
    if (!('refused' in result)) {
      outcomes.push({ converted: withTags(result), cpuMs: share })
    } else if (isOver || left < 0) {
      outcomes.push(null)
    } else {
      const alone = await convertOne(text)
      left -= alone.cpuMs
      isOver = alone.converted.problem !== undefined
      outcomes.push({ ...alone, cpuMs: share + alone.cpuMs })
    }
  }
  return outcomes
}

/** @param {{content: string, tags: string[]}} outcome @returns {Converted} */
const withTags = ({ content, tags }) => ({ content, ...tags.length === 0 ? {} : { tags } })

/** @param {string} text @param {string} reason @param {'mediawiki' | 'dokuwiki'} from @returns {Outcome} */
const refusal = (text, reason, from) => ({
  converted: {
    content: codeBlock(text, from === 'mediawiki' ? 'wikitext' : 'dokuwiki'),
    problem: `It stays as it was written: ${reason}.`
  },
  cpuMs: 0
})

/** @param {'mediawiki' | 'dokuwiki'} from @param {AboutTexts} about @returns {Task} */
function taskOf (from, about) {
  const { settings, links, picture } = MARKUPS[from]
  const answerLink = links(about)
  return {
    settings: settings(about),
    answer: (questions) => questions.map(({ kind, target }) => {
      if (kind === 'link') return answerLink(target)
      const href = about.pictureUrl?.(picture(target, about))
      return href === undefined ? {} : { href }
    })
  }
}
