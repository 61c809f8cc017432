import { historyOf } from '../pages/histories.js'
import { StaleEdit } from '../pages/preconditions.js'
import { refuseErased, RevisionIsDeletion, RevisionMissing } from './history.js'

/** @import {Attribution, Precondition} from '../pages/commit.js' */

/** @param {{store: import('../pages/store.js').PageStore, history: import('./history.js').History}} parts */
export const createBringBack = ({ store, history }) =>
  /**
   * Saves an old text anew. The transaction looks again whether that is erased: an erasure writes the page, too, so of
   * both at once one sees the other.
   * @param {{name: string, revision: number}} old @param {Attribution} attribution
   * @param {Precondition} precondition
   * @returns {ReturnType<import('../pages/store.js').PageStore['save']>}
   * @throws {Error} 404; 410 when it is erased; 412 also when the page was renamed meanwhile; as `save`
   */
  async function bringBack ({ name, revision }, attribution, precondition) {
    const old = await history.find(name, revision)
    if (old === null) throw new RevisionMissing(revision, name)
    if (old.deleted) throw new RevisionIsDeletion(revision, name)
    return store.save(name, old, attribution, (head, source) => {
      precondition(head, source)
      if (head === null || historyOf(head) !== old.history) throw new StaleEdit()
      refuseErased({ ...old, erased_at: source?.erased_at })
    }, { source: { history: old.history, _id: old._id } })
  }
