import { acceptedStatuses } from '../saves/strategy.js'
import { writeTargets } from './links.js'
import { atOnceOf, linkMessages, newLinksOf, newPageMessages, pageMessages } from './warm-up-messages.js'
import { createWarmUpEdits } from './warm-up-pages.js'
import { combine, FEW_ROUNDS, ROUNDS, warmUp } from './warm-up.js'

/** @typedef {import('./settings.js').Settings} Settings */

/**
 * @param {object} options
 * @param {number} options.seed  of the edits' texts
 * @param {boolean} options.emulated  whether the origin's CPU is emulated
 * @param {AbortSignal} options.signal
 */
export function createWikiWarmer ({ seed, emulated, signal }) {
  // Times of an emulated CPU are not evaluated, and each request takes up to a second there.
  const rounds = emulated ? FEW_ROUNDS : ROUNDS
  const edits = createWarmUpEdits(seed)
  let warmUps = 0
  // No two warm-ups make the same links or pages, even of one database.
  const nextMark = () => `w${++warmUps}`
  let writtenBytes = 0

  /** @param {Settings} settings @param {number} wikis */
  function messagesOfPages (settings, wikis) {
    const next = edits.like(settings)
    const nextEdit = () => {
      const edit = next()
      writtenBytes += edit.text.length
      return edit
    }
    const atOnce = atOnceOf(settings, wikis)
    return settings.edit === 'create-get' && settings.edit_ratio > 0
      ? newPageMessages({ mark: nextMark(), nextEdit, atOnce })
      : pageMessages({ pages: settings.pages, nextEdit, accepted: acceptedStatuses(settings), atOnce })
  }

  /** @param {Settings} settings @param {string} wikiUrl */
  async function messagesOfLinks ({ pages: links }, wikiUrl) {
    const [mark, most] = [nextMark(), newLinksOf(rounds)]
    await writeTargets({ wikiUrl, mark, links: most, signal })
    return linkMessages({ links, mark, most })
  }

  return {
    /** Characters of all edits so far. */
    writtenBytes: () => writtenBytes,

    /**
     * @param {Settings} settings
     * @param {object} options
     * @param {string} options.wikiUrl  where pages may be written
     * @param {Pick<import('../stack/doors.js').Door, 'url' | 'ca_file'>[]} options.doors  that together lead to every
     *   wiki, each to others
     * @returns {Promise<import('./warm-up.js').WarmUp>} of all
     */
    async warm (settings, { wikiUrl, doors }) {
      const done = []
      for (const door of doors) {
        const messages = settings.resource === 'page'
          ? messagesOfPages(settings, doors.length)
          : await messagesOfLinks(settings, wikiUrl)
        done.push(await warmUp({ door, messages, rounds, signal }))
      }
      return combine(done)
    }
  }
}
