import createError from '@fastify/error'
import mongoose from 'mongoose'
import { HEAD_FIELDS } from './head.js'
import { writableName } from './name.js'
import { NameTaken } from './page-errors.js'
import { englishSize } from '../readable.js'
import { belowOf } from './subpage-names.js'
import { isAmongTalk, TALK, talkOf } from './talk.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Head} from './head.js' */

/** In one transaction, which the database gives up after some seconds. */
const SUBPAGES_MAX = 100
const SUBPAGES_MAX_BYTES = 4_194_304
const COUNTED_MAX = 10_000
const TAKEN_SHOWN_MAX = 10

const NamesTaken = createError(
  'WIKI_NAMES_TAKEN', 'Nothing was renamed: these names have pages, or the histories of deleted ones: %s.', 409
)
const TooManySubpages = createError(
  'WIKI_TOO_MANY_SUBPAGES',
  `Nothing was renamed: the page has %s subpages, and at most ${SUBPAGES_MAX} can be renamed with it. ` +
    'Rename some of them first, with theirs.',
  409
)
const SubpagesTooLong = createError(
  'WIKI_SUBPAGES_TOO_LONG',
  'Nothing was renamed: the texts of the subpages and talk pages have more than ' +
    `${englishSize(SUBPAGES_MAX_BYTES)} together. Rename some subpages first, with theirs.`,
  409
)
const NoTalkOfTalk = createError(
  'WIKI_NO_TALK_OF_TALK',
  `Nothing was renamed: its talk page “%s” cannot go along, because names that begin with “${TALK}” have ` +
    'none. Choose another name, or give the talk page another name first.',
  409
)
const SubpageNameTooLong = createError(
  'WIKI_SUBPAGE_NAME_TOO_LONG', 'Nothing was renamed: “%s” cannot be the name of a page. A shorter name is needed.', 409
)

/**
 * `existing`: what is stored under the new name, which is free.
 * @typedef {{from: string, to: string, existing: Head | null, isTalk: boolean}} Move
 */

/** @typedef {{_id: string, content_bytes: number}} Sized */

/** @param {Sized[]} pages */
const bytesOf = (pages) => pages.reduce((sum, page) => sum + page.content_bytes, 0)

/** @param {Pick<import('./model.js').Models, 'Pages'>} models */
export function createRenamePlan ({ Pages }) {
  /** @param {string} name @param {ClientSession} session @returns {Promise<Sized[]>} @throws {Error} 409 */
  async function pagesBelow (name, session) {
    /** @type {Sized[]} */
    const found = await Pages
      .find(belowOf(name), { content_bytes: 1 }, { session })
      .sort({ _id: 1 })
      .limit(SUBPAGES_MAX + 1)
      .lean()
      .exec()
    if (found.length > SUBPAGES_MAX) {
      const count = await Pages.countDocuments(belowOf(name), { session, limit: COUNTED_MAX + 1 }).exec()
      throw new TooManySubpages(count > COUNTED_MAX ? `more than ${COUNTED_MAX}` : count)
    }
    return found
  }

  /**
   * The talk pages of pages go with them.
   * @param {{from: string, to: string}[]} moves  of pages @param {ClientSession} session
   * @returns {Promise<{talks: Omit<Move, 'existing'>[], bytes: number}>} `bytes`: of their texts
   */
  async function talksOf (moves, session) {
    const talks = moves.flatMap(({ from, to }) => {
      const talk = talkOf(from)
      return talk === null ? [] : [{ from: talk, to: `${TALK}${to}`, isTalk: true }]
    })
    /** @type {Sized[]} */
    const found = await Pages
      .find({ _id: mongoose.trusted({ $in: talks.map(({ from }) => from) }), deleted_at: null }, { content_bytes: 1 }, {
        session
      })
      .lean()
      .exec()
    const written = new Set(found.map(({ _id }) => _id))
    return { talks: talks.filter(({ from }) => written.has(from)), bytes: bytesOf(found) }
  }

  /**
   * The page first.
   * @param {{name: string, target: string, subpages: boolean}} renaming @param {ClientSession} session
   * @returns {Promise<Move[]>} @throws {Error} 409
   */
  return async function planned ({ name, target, subpages }, session) {
    const below = subpages ? await pagesBelow(name, session) : []
    const names = [name, ...below.map(({ _id }) => _id)]
    const pages = names.map((from) => ({ from, to: target + from.slice(name.length), isTalk: false }))
    const { talks, bytes } = await talksOf(pages, session)
    // One transaction has all of them.
    if (bytesOf(below) + bytes > SUBPAGES_MAX_BYTES) throw new SubpagesTooLong()
    if (isAmongTalk(target) && talks.length > 0) throw new NoTalkOfTalk(talks[0].from)
    const moves = [...pages, ...talks]
    for (const { to } of moves) refuseTooLong(to)
    const among = mongoose.trusted({ $in: moves.map(({ to }) => to) })
    /** @type {Head[]} */
    const heads = await Pages.find({ _id: among }, HEAD_FIELDS, { session }).lean().exec()
    const existing = new Map(heads.map((head) => [head._id, head]))
    // A deleted page has its history still; a former name has none.
    const taken = heads.filter(({ redirect_to: redirect }) => !redirect).map(({ _id }) => _id)
    if (taken.length > 0) {
      throw subpages || !taken.includes(target) ? new NamesTaken(shown(taken)) : new NameTaken(target)
    }
    return moves.map((move) => ({ ...move, existing: existing.get(move.to) ?? null }))
  }
}

/** @param {string} name @throws {Error} 409 */
function refuseTooLong (name) {
  try {
    writableName(name)
  } catch {
    throw new SubpageNameTooLong(name)
  }
}

/** @param {string[]} names */
function shown (names) {
  const more = names.length - TAKEN_SHOWN_MAX
  const quoted = names.slice(0, TAKEN_SHOWN_MAX).map((name) => `“${name}”`).join(', ')
  return more > 0 ? `${quoted} and ${more} more` : quoted
}
