import mongoose from 'mongoose'
import { inTransaction } from '../database/transaction.js'
import { nullWhenRefused } from './current-html.js'
import { HEAD_FIELDS, kindOf, linkTargetsOf } from './head.js'

const UPGRADED_AT_ONCE = 100
/** Earlier versions of the wiki did not note where a page links to. */
const OF_EARLIER_VERSIONS = { links: mongoose.trusted({ $exists: false }) }

/** @param {import('./commit.js').WriteContext} context */
export function createUpgrade ({ models: { Pages }, targets, currentHtml, renderer }) {
  /**
   * Brings pages that an earlier version has stored up to this one. An interrupted upgrade goes on where it was, and
   * several processes may upgrade at once.
   * @returns {Promise<number>} how many there were
   */
  async function upgrade () {
    for (let count = 0; ; count += UPGRADED_AT_ONCE) {
      /** @type {{_id: string}[]} */
      const old = await Pages.find(OF_EARLIER_VERSIONS, { _id: 1 }).limit(UPGRADED_AT_ONCE).lean().exec()
      for (const { _id } of old) await upgradePage(_id)
      if (old.length < UPGRADED_AT_ONCE) return count + old.length
    }
  }

  /**
   * Notes where a page links to and that it is there.
   * @param {string} name
   */
  async function upgradePage (name) {
    const old = { _id: name, ...OF_EARLIER_VERSIONS }
    const source = await Pages.findOne(old, { content: 1, revision: 1, deleted_at: 1 }).lean().exec()
    if (source === null) return
    const rendered = source.deleted_at != null
      ? null
      : await renderer.render(source.content, { yields: true }).catch(nullWhenRefused)
    // A text that cannot be rendered any more links nowhere, and is shown as it is stored.
    const links = rendered?.links ?? []
    await inTransaction(Pages.db, async (session) => {
      const same = { ...old, revision: source.revision }
      const head = await Pages.findOne(same, { ...HEAD_FIELDS, modified_at: 1 }, { session }).lean().exec()
      if (head === null) return
      const tags = head.tags ?? []
      await targets.relink(session, [], linkTargetsOf({ ...head, links }))
      await targets.retag(session, [], tags)
      await targets.setKind(session, name, kindOf(head), null)
      const made = rendered === null
        ? { renderer: renderer.version, rendered_at: new Date() }
        : await currentHtml.storedFields(name, rendered, head.modified_at, session)
      await Pages.updateOne({ _id: name }, { $set: { links, tags, ...made } }, { session }).exec()
    })
  }

  return upgrade
}
