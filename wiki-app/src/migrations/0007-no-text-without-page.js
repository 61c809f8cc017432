import { driverOf } from '../database/driver.js'
import { NO_TEXT } from '../pages/head.js'

/**
 * Earlier versions left the last text with the name of a page that was deleted or renamed, beside its revisions. There
 * it could not be erased.
 * @param {import('../pages/commit.js').WriteContext} context @returns {import('./migrate.js').Migration}
 */
export const noTextWithoutPage = ({ models: { Pages } }) => ({
  number: 7,
  name: 'no-text-without-page',
  async run () {
    const kept = { deleted_at: { $gt: new Date(0) }, content_bytes: { $gt: 0 } }
    const { modifiedCount } = await driverOf(Pages).updateMany(kept, { $set: NO_TEXT })
    return modifiedCount
  }
})
