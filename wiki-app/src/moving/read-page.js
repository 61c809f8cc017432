import { createKeyedMutex } from '../process/keyed-mutex.js'
import { acceptedName } from './accepted.js'
import { PageWriter } from './store-page.js'

/** @import {MovedPage, ReaderOptions} from './content.js' */
/** @import {Origin, Place, Places} from './place.js' */
/** @import {Outcome} from './report.js' */

/** A reader asks for the places of pages that it reads ahead. */
const PLACES_KEPT_MAX = 1_000
const TURN_MAX_MS = 60_000

/**
 * @param {Omit<ConstructorParameters<typeof PageWriter>[0], 'find' | 'places'> &
 *   {places: Places, onFound?: (name: string, from?: string) => void,
 *   signal?: AbortSignal}} parts  `onFound`: gets the names of pages that are here, or would be,
 *   and the names before, of those that would be renamed
 */
export function createReadPage ({ places, onFound = () => {}, signal, ...parts }) {
  /** @type {Map<string, Place>} */
  const found = new Map()
  // Of two pages that would have one name, the first one gets it.
  const inTurn = createKeyedMutex({ maxMs: TURN_MAX_MS })

  /** @param {string} name @param {Origin} origin @returns {Promise<Place>} */
  async function placeOf (name, origin) {
    const key = keyOf(name, origin)
    const place = found.get(key)
    found.delete(key)
    return place ?? places.find(name, origin)
  }

  return {
    /** @type {NonNullable<ReaderOptions['newestStored']>} */
    async newestStored ({ name: given, ...origin }) {
      const accepted = acceptedName(given)
      if ('reason' in accepted) return null
      const place = await places.find(accepted.name, origin)
      if (found.size < PLACES_KEPT_MAX) found.set(keyOf(accepted.name, origin), place)
      return place.stored
    },

    /**
     * Reads all of its revisions.
     * @param {MovedPage} page
     * @returns {Promise<{bytes: number, finish: () => Promise<Outcome>}>} `finish` may run while others are read
     */
    async readPage ({ source, id, name: given, revisions }) {
      const accepted = acceptedName(given)
      if ('reason' in accepted) {
        for await (const each of revisions) if (each.id) signal?.throwIfAborted()
        return { bytes: 0, finish: async () => ({ source, result: 'untaken', problem: accepted.reason }) }
      }
      const { name, changed } = accepted
      const origin = { source, id }
      const writer = new PageWriter({ ...parts, places, find: () => places.find(name, origin) }, { name, ...origin },
        await placeOf(name, origin))
      await writer.read(revisions)
      return {
        bytes: writer.bytes,
        finish: () => inTurn(name, async () => {
          const { problem, ...stored } = await writer.finish()
          if (stored.result !== 'untaken') onFound(name, stored.from)
          const renamed = changed ? `links to “${given}” do not lead here` : ''
          const problems = [renamed, problem].filter(Boolean).join('; ')
          return { source, name: writer.name, ...stored, ...problems !== '' && { problem: problems } }
        })
      }
    }
  }
}

/** @param {string} name @param {Origin} origin */
const keyOf = (name, { source, id }) => JSON.stringify([name, source, id])
