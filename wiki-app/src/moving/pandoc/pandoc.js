import { availableParallelism } from 'node:os'
import { createLimit } from '../../process/limit.js'
import { codeBlock } from './code-block.js'
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

/** pandoc cannot be run. */
export class PandocError extends Error {}

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

  /** @param {string} text @param {object} settings @param {(questions: Question[]) => Answer[]} answer */
  async function convertOne (text, settings, answer) {
    if (text.length > TEXT_MAX_CHARS) return refused(text, `it has more than ${TEXT_MAX_CHARS} characters`)
    const converter = /** @type {ReturnType<typeof createConverter>} */ (free.pop())
    try {
      for (let attempt = 1, starts = 1; ; attempt++) {
        const outcome = await converter.convert(text, settings, answer)
        if ('content' in outcome) return withTags(outcome)
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

  /** @param {string} text @param {string} reason @returns {Converted} */
  const refused = (text, reason) => ({
    content: codeBlock(text, from === 'mediawiki' ? 'wikitext' : 'dokuwiki'),
    problem: `It stays as it was written: ${reason}.`
  })

  return {
    convert (texts, given = {}) {
      const about = { ...given, pictureUrl: given.pictureUrl ?? pictureUrl }
      const settings = MARKUPS[from].settings(about)
      const answerLink = MARKUPS[from].links(about)
      const answer = (/** @type {Question[]} */ questions) => questions.map(({ kind, target }) => {
        if (kind === 'link') return answerLink(target)
        const href = about.pictureUrl?.(MARKUPS[from].picture(target, about))
        return href === undefined ? {} : { href }
      })
      /** @type {Map<string, Promise<Converted>>} */
      const converted = new Map()
      const convertOnce = (/** @type {string} */ text) => {
        const present = converted.get(text) ?? limit.run(() => convertOne(text, settings, answer))
        converted.set(text, present)
        return present
      }
      return Promise.all(texts.map(async (text) => {
        const sections = texts.length === 1 ? [text] : MARKUPS[from].sectionsOf(text)
        return sections.length < 2 ? convertOnce(text) : joined(await Promise.all(sections.map(convertOnce)))
      }))
    },

    async close () {
      await Promise.all(all.map((converter) => converter.close()))
    }
  }
}

/** @param {{content: string, tags: string[]}} outcome @returns {Converted} */
const withTags = ({ content, tags }) => ({ content, ...tags.length === 0 ? {} : { tags } })
