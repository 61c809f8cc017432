import mongoose from 'mongoose'
import { inTransaction } from '../database/transaction.js'
import { nullWhenRefused } from '../pages/current-html.js'
import { countNow } from '../pages/counts.js'
import { HEAD_FIELDS, kindOf, linkTargetsOf } from '../pages/head.js'

const UPGRADED_AT_ONCE = 100
/** Earlier versions stored no links. */
const OF_EARLIER_VERSIONS = { links: mongoose.trusted({ $exists: false }) }

/** @param {import('../pages/commit.js').WriteContext} context @returns {import('./migrate.js').Migration} */
export function linkTargets ({ models, targets, currentHtml, renderer }) {
  const { Pages } = models

  /** @returns {Promise<number>} number of changed pages */
  async function run () {
    for (let count = 0; ; count += UPGRADED_AT_ONCE) {
      /** @type {{_id: string}[]} */
      const old = await Pages.find(OF_EARLIER_VERSIONS, { _id: 1 }).limit(UPGRADED_AT_ONCE).lean().exec()
      for (const { _id } of old) await upgradePage(_id)
      if (old.length < UPGRADED_AT_ONCE) return count + old.length
    }
  }

  /** @param {string} name */
  async function upgradePage (name) {
    const old = { _id: name, ...OF_EARLIER_VERSIONS }
    const source = await Pages.findOne(old, { content: 1, revision: 1, deleted_at: 1 }).lean().exec()
    if (source === null) return
    const rendered = source.deleted_at != null
      ? null
      : await renderer.render(source.content, { yields: true }).catch(nullWhenRefused)
    // A text that can no longer be rendered keeps its stored HTML.
    const links = rendered?.links ?? []
    await inTransaction(Pages.db, async (session) => {
      const same = { ...old, revision: source.revision }
      const head = await Pages.findOne(same, { ...HEAD_FIELDS, modified_at: 1 }, { session }).lean().exec()
      if (head === null) return
      const tags = head.tags ?? []
      await countNow(models, {
        name, links: [{ before: [], after: linkTargetsOf({ ...head, links }) }], tags: { before: [], after: tags }
      }, session)
      await targets.setKind(session, name, kindOf(head), null)
      const made = rendered === null
        ? { renderer: renderer.version, rendered_at: new Date() }
        : currentHtml.storedFields(name, rendered, head.modified_at, await targets.missing(links, session))
      await Pages.updateOne({ _id: name }, { $set: { links, tags, ...made } }, { session }).exec()
    })
  }

  return { number: 1, name: 'link-targets', run }
}
