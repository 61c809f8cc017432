import { isForClient } from '../archive/client-error.js'
import { renamingPrefix } from './place.js'

/** @import {PageStore} from '../pages/store.js' */
/** @import {Places} from './place.js' */

const ATTEMPTS_MAX = 4

/**
 * Renames a page here as it was renamed in its wiki: the old name redirects, and its talk page comes along.
 * @param {{store: Pick<PageStore, 'rename'>, places: Pick<Places, 'headOf'>}} parts
 * @param {{kind: string, name: string, target: string}} renaming
 * @returns {Promise<string | null>} why it is not, with what to do; null: it is renamed
 * @throws {Error} of the database
 */
export async function renamedAsThere ({ store, places }, { kind, name, target }) {
  for (let attempt = 1; ; attempt++) {
    try {
      await store.rename(name, target, { role: 'admin' }, undefined, { saveId: `${renamingPrefix(kind)}${target}` })
      return null
    } catch (error) {
      const { code, message } = /** @type {Error & {code?: string}} */ (error)
      if (code === 'WIKI_LOST_RACE' && attempt < ATTEMPTS_MAX) continue
      if (code === 'WIKI_PAGE_MISSING') {
        const to = (await places.headOf(name))?.redirect_to
        if (!to) return `here, “${name}” is deleted`
        return `here, “${name}” has just become “${to}”: run the same again`
      }
      if (code === 'WIKI_NAME_TAKEN' || code === 'WIKI_NAMES_TAKEN') {
        return 'here, that is the name of another page: rename that one, and run the same again'
      }
      if (isForClient(error)) return `it cannot be renamed here: ${message}`
      throw error
    }
  }
}
