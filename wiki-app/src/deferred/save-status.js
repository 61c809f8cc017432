import { driverOf } from '../database/driver.js'
import { HISTORY_FIELDS, historyOf } from '../pages/histories.js'
import { saveUrl } from './deferred-saves.js'
import { SaveUnknown } from './errors.js'

/** @import {Database} from '../database/database.js' */
/** @import {Models} from '../pages/model.js' */
/** @import {Accepted, DeferredSaves, Failed, Saved} from './deferred-saves.js' */
/** @import {Failures} from './failures.js' */

const RENAMES_MAX = 20
/** What was shown as saved cannot be lost in a failover. */
const DURABLE = { readConcern: { level: /** @type {const} */ ('majority') } }

/**
 * From any process of any wiki with the same database, and after restarts, for what is stored or has failed.
 * @typedef {{models: Models, failures: Failures, database: Pick<Database, 'whileAvailable'>}} Stored
 * @param {Stored & {deferred?: Pick<DeferredSaves, 'isWaiting'>}} parts
 */
export function createSaveStatus ({ models: { Pages, Revisions }, failures, database, deferred }) {
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

  const storedStatus = database.whileAvailable(
    /** @param {import('./deferred-saves.js').Named} named @returns {Promise<Saved | Failed | null>} */
    async (named) => {
      const revision = await revisionOf(named.id, named.name)
      if (revision !== null) return { ...named, status: 'saved', revision, problem: null }
      const problem = await failures.find(named.id, named.name)
      return problem && { ...named, status: 'failed', revision: null, problem }
    }
  )

  /**
   * @param {string} id @param {string} name  of the page that was saved
   * @returns {Promise<Accepted | Saved | Failed>}
   * @throws {Error} 404 when nothing is known of it, 503 when nothing can be known
   */
  return async function findStatus (id, name) {
    const named = { id, url: saveUrl(id, name), name }
    /** @type {unknown} */
    let unknown = new SaveUnknown(name)
    try {
      // First: what does not wait any more has been stored, or has failed.
      if (await deferred?.isWaiting(id, name)) return { ...named, status: 'pending', revision: null, problem: null }
    } catch (error) {
      unknown = error
    }
    const stored = await storedStatus(named)
    if (stored === null) throw unknown
    return stored
  }
}

/** @typedef {ReturnType<typeof createSaveStatus>} FindStatus */
