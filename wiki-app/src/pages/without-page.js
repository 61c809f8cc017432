import { driverOf } from '../database/driver.js'
import { NO_TEXT } from './head.js'

/**
 * Earlier versions left the last text with the name of a page that was deleted or renamed, beside its revisions. There
 * it could not be erased. A backup of such a wiki brings it along.
 * @param {Pick<import('./model.js').Models, 'Pages'>} models @returns {Promise<number>} of how many names
 */
export async function emptyNamesWithoutPage ({ Pages }) {
  const kept = { deleted_at: { $gt: new Date(0) }, content_bytes: { $gt: 0 } }
  const { modifiedCount } = await driverOf(Pages).updateMany(kept, { $set: NO_TEXT })
  return modifiedCount
}
