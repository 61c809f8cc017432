import { driverOf } from '../database/driver.js'
import { HISTORY_FIELDS, historyOf } from '../pages/histories.js'
import { saveUrl } from './deferred-saves.js'
import { SaveUnknown } from './errors.js'

/** @import {Models} from '../pages/model.js' */
/** @import {Accepted, DeferredSaves, Failed, Saved} from './deferred-saves.js' */
/** @import {Failures} from './failures.js' */

const RENAMES_MAX = 20
/** What was shown as saved cannot be lost in a failover. */
const DURABLE = { readConcern: { level: /** @type {const} */ ('majority') } }

/**
 * From any process of any wiki with the same database, and after restarts, for what is stored or has failed.
 * @param {{models: Models, failures: Failures, deferred?: Pick<DeferredSaves, 'isWaiting'>}} parts
 */
export function createSaveStatus ({ models: { Pages, Revisions }, failures, deferred }) {
  /** @param {string} id @param {string} page @returns {Promise<number | null>} */
  async function revisionOf (id, page) {
    for (let [name, renames] = [page, 0]; renames <= RENAMES_MAX; renames++) {
      const head = await driverOf(Pages).findOne({ _id: name }, { projection: HISTORY_FIELDS, ...DURABLE })
      if (head === null) return null
      const key = historyOf(head)
      if (key !== null) {
        const filter = { page: key, save_id: id }
        const found = await driverOf(Revisions).findOne(filter, { projection: { revision: 1 }, ...DURABLE })
        return found?.revision ?? null
      }
      name = String(head.redirect_to)
    }
    return null
  }

  /**
   * @param {string} id @param {string} name  of the page that was saved
   * @returns {Promise<Accepted | Saved | Failed>}
   * @throws {Error} 404 when nothing is known of it, 503 when nothing can be known
   */
  return async function findStatus (id, name) {
    const named = { id, url: saveUrl(id, name), name }
    // First: what does not wait any more has been stored, or has failed.
    if (await deferred?.isWaiting(id, name)) return { ...named, status: 'pending', revision: null, problem: null }
    const revision = await revisionOf(id, name)
    if (revision !== null) return { ...named, status: 'saved', revision, problem: null }
    const problem = await failures.find(id, name)
    if (problem !== null) return { ...named, status: 'failed', revision: null, problem }
    throw new SaveUnknown(name)
  }
}

/** @typedef {ReturnType<typeof createSaveStatus>} FindStatus */
