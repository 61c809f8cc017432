import { createWait, inTransaction } from '../database/transaction.js'
import { driverOf } from '../database/driver.js'
import { hashOf } from '../http/hash.js'
import { countsOf } from './counts.js'
import { HEAD_FIELDS, kindOf, linkTargetsOf, NO_TEXT } from './head.js'
import { NameTaken } from './page-errors.js'
import { searchKey } from './search-key.js'

/** @import {Head} from './head.js' */

/** @param {import('./commit.js').WriteContext} context */
export const createLead = ({ models: { Pages }, targets, later, purges, renderer, runExclusive }) =>
  /**
   * A name that leads to a page, as a former name does after a renaming.
   * @param {string} name  of no page, also of no deleted one @param {string} to  of a page
   * @throws {Error} 409 when there is a page of this name
   */
  async function lead (name, to) {
    const wait = createWait(Pages.db)
    await runExclusive(name, () => inTransaction(Pages.db, async (session) => {
      const head = /** @type {Head | null} */ (
        await driverOf(Pages).findOne({ _id: name }, { projection: HEAD_FIELDS, session }))
      if (head !== null && !head.redirect_to) throw new NameTaken(name)
      const now = new Date()
      const revision = (head?.revision ?? 0) + 1
      const linking = await targets.setKind(session, name, 'redirect', kindOf(head))
      await later(countsOf({ name, links: [{ before: linkTargetsOf(head), after: [to] }] }), session)
      await driverOf(Pages).updateOne({ _id: name }, {
        $set: { revision, deleted_at: now, redirect_to: to, links: [], tags: [] },
        $setOnInsert: { search_key: searchKey(name), created_at: now, modified_at: now, ...noText(now, renderer) }
      }, { session, upsert: true })
      const commit = { name, revision, authors: [], tags: [], linking, links: [to], listed: false, above: [] }
      await later(purges.ofCommits([commit]), session)
    }, wait))
    purges.added()
  }

/** @param {Date} now @param {{version: number}} renderer */
const noText = (now, { version }) => ({
  ...NO_TEXT,
  html_hash: hashOf('', now.toISOString()),
  renderer: version,
  links_outdated: null,
  rendered_at: now
})
