import createError from '@fastify/error'
import { LAST } from './section-numbers.js'
import { TooCostly } from '../threads/pool.js'
import { currentRevision } from '../pages/head.js'

/** @import {History} from '../history/history.js' */
/** @import {PageSource} from '../pages/read-pages.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {Pool} from './merge-save.js' */
/** @import {Found, Lost, OfSection, Spliced} from './section-work.js' */

const SectionUnknown = createError(
  'WIKI_SECTION_UNKNOWN',
  'The wiki does not find the section that this text replaces. Copy your text, then edit the whole page.',
  409
)
const OpenAtItsEnd = createError(
  'WIKI_SECTION_OPEN',
  'With this text the next heading, “%s”, would become a part of the section. ' +
    'Close what is open at its end, such as a block of code, a comment or a list, or edit the whole page.',
  422
)
const OpenAbove = createError(
  'WIKI_SECTION_OPEN',
  'With this text, what stands above the section would change. ' +
    'Begin it with its heading, look for a comment or block of code that begins above it, or edit the whole page.',
  422
)
export const OpenBefore = createError(
  'WIKI_SECTION_OPEN',
  'Something is open at the end of “%s”, such as a block of code, and would swallow what you add. ' +
    'Edit the whole page and close it, then send this again.',
  422
)

const NUMBER = '^[1-9]\\d{0,6}$'
/** Of the query of the editor's address: what the button of a heading sends. */
export const SECTION_QUERY = {
  type: 'object',
  properties: { section: { type: 'string', pattern: NUMBER }, revision: { type: 'string', pattern: '^\\d{1,9}$' } }
}
/** Of the editor's form. */
export const SECTION_SCHEMA = { type: 'string', pattern: NUMBER }

/** @typedef {{section?: string, revision?: string}} Asked  see SECTION_QUERY */

/**
 * A section is known by its number in one revision of the page. All of it is worked out when somebody edits: nothing
 * about sections is stored.
 * @param {{store: Pick<PageStore, 'findRedirect'>, history: Pick<History, 'findBase'>, pool: Pool}} parts
 */
export function createSections ({ store, history, pool }) {
  /** @param {OfSection} task */
  const run = (task) => {
    const texts = Object.values(task).filter((each) => typeof each === 'string')
    return pool.run(task, { bytes: texts.reduce((sum, { length }) => sum + length, 0), yields: true })
  }

  /** @param {PageSource} page @param {Asked} asked @returns {Promise<string | null>} */
  async function baseOf (page, { revision }) {
    if (revision === undefined || Number(revision) === currentRevision(page)) return page.content
    return (await history.findBase(page._id, Number(revision)))?.content ?? null
  }

  return {
    /**
     * @param {PageSource} page @param {Asked} asked  `revision`: of the text that the reader saw; without: the newest
     * @returns {Promise<Found | null>} in the newest text; null: it is not there any more, or takes too long to find
     * @throws {Error} 503 when the machine is busy
     */
    async find (page, { section, revision }) {
      const base = await baseOf(page, { revision })
      if (base === null) return null
      return run({ base, section: Number(section), shown: page.content }).catch((error) => {
        if (error instanceof TooCostly) return null
        throw error
      })
    },

    /** @param {string} content  Markdown @returns {Promise<Found | null>} the last one; null: there is none */
    last: (content) => run({ base: content, section: LAST, shown: content }),

    /**
     * @param {PageSource} page @param {Asked} asked  as for `find` @param {string} addition  to that section
     * @returns {Promise<Spliced | null>} the newest text with it; null: the section is not there any more
     * @throws {Error} 422 when what is open in that text would swallow other sections, or it takes too long, 503
     */
    async appended (page, { section, revision }, addition) {
      const base = await baseOf(page, { revision })
      return base === null ? null : kept(await run({ base, section: Number(section), shown: page.content, addition }))
    },

    /** @param {string} text  Markdown @returns {Promise<boolean>} whether it defines addresses, as `[a]: /b` does */
    definesLinks: async (text) => text.includes(']:') && (await run({ definitions: text, section: LAST })).defines,

    /**
     * @param {string} name  of a page, also a former one
     * @param {{section: string, revision: number, text: string}} edit  `section`: its number in that revision
     * @returns {Promise<Spliced>} the text of that revision with another section
     * @throws {Error} 409 when that revision has no such section, 422 when other sections would not stay as they are or
     *   it takes too long, 503
     */
    async spliced (name, { section, revision, text }) {
      // The revisions of a page that is renamed move along.
      const base = await history.findBase(name, revision) ??
        await history.findBase(await store.findRedirect(name) ?? name, revision)
      const spliced = base && kept(await run({ base: base.content, section: Number(section), text }))
      if (spliced === null) throw new SectionUnknown()
      return spliced
    }
  }
}

/** @typedef {ReturnType<typeof createSections>} Sections */

/** @param {Spliced | Lost | null} result @returns {Spliced | null} @throws {Error} 422 */
function kept (result) {
  if (result === null || !('lost' in result)) return result
  if (result.lost === 'above') throw new OpenAbove()
  throw new (result.lost === 'below' ? OpenAtItsEnd : OpenBefore)(plainTitle(result.title))
}

const TURNING = /[\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069\uFFFE\uFFFF]/gu
const TITLE_MAX_CHARS = 150

/** What a summary may have of it, in one line. @param {string} title  of a section */
export function plainTitle (title) {
  const plain = [...title.replace(TURNING, '').replace(/\s+/gu, ' ').trim()]
  return plain.slice(0, TITLE_MAX_CHARS).join('') + (plain.length > TITLE_MAX_CHARS ? '…' : '')
}

/** What the author changed, until he says it. @param {string} title  of the section */
export const summaryOf = (title) => {
  const shown = plainTitle(title)
  return shown === '' ? '' : `Section “${shown}”`
}
