import { freePorts } from '@stevec/harness/ports'
import { DEFAULT_PORTS } from '../../src/config.js'
import { describe, readProfile } from '../../src/profile/profile.js'
import { engageProfile } from '../../src/stack/engage-profile.js'
import { startStack, stopStack } from '../../src/stack/stack.js'
import { addressesOf } from '../../scenarios/crawl-addresses.js'
import { ask, inParallel, textOf } from './requests.js'

/** @import {Size} from '../../scenarios/crawl-addresses.js' */

/** As `stevec up` has it. */
const REQUESTS_AT_ONCE_MAX = 256
const SAVES_AT_ONCE = 32

/**
 * A wiki that is slow only once `slow` was called.
 * @typedef {object} Subject
 * @property {string} origin  where it is asked without a cache
 * @property {string} url  where people and crawlers ask
 * @property {number} first  see crawl-addresses.js
 * @property {() => Promise<void>} slow
 * @property {() => Promise<void>} stop
 */

/**
 * @typedef {Size & {share: number, door: 'cached' | 'source', directory: string,
 *   note: (text: string) => void}} Wanted  `share`: of a core, for all processes behind the door
 */

/** @param {Wanted} wanted @returns {Promise<Subject>} behind an edge that edits purge, with all its revisions */
export async function startStevec ({ share, door, directory, note, ...size }) {
  const { profile: none } = readProfile('none')
  const profile = describe({ ...none, origin: { ...none.origin, cpu_share: share } }, 'of the benchmark', true)
  if (!profile.applied.cpu) throw new Error(`the origin cannot be limited: ${profile.missing.join(', ')}`)
  const names = Object.keys(DEFAULT_PORTS)
  const free = await freePorts(names.length)
  const stack = await startStack({
    directory,
    profile,
    ports: /** @type {import('../../src/config.js').Ports} */ (
      Object.fromEntries(names.map((name, index) => [name, free[index]]))
    ),
    engage: false,
    requestsAtOnceMax: REQUESTS_AT_ONCE_MAX,
    wikiEnvironment: { CACHE_POLICY: 'purge-tag', WRITES_PER_MINUTE: '0' },
    onProgress: (part) => note(`starts ${part} …`)
  })
  const stop = async () => { await stopStack(directory) }
  const origin = `http://127.0.0.1:${new URL(stack.doors.source.url).port}`
  try {
    await fill(origin, size, note)
  } catch (error) {
    await stop()
    throw error
  }
  return { origin, url: stack.doors[door].url, first: 0, slow: () => engageProfile(stack), stop }
}

/** @param {string} origin @param {Size} size @param {(text: string) => void} note */
async function fill (origin, size, note) {
  const { save } = addressesOf('stevec', size, 0)
  for (let revision = 1; revision <= size.revisions; revision++) {
    note(`writes revision ${revision} of ${size.revisions} …`)
    await inParallel(size.pages, SAVES_AT_ONCE, async (page) => {
      const { method, path, type, body } = save(page, textOf(page, revision))
      await ask(origin + path, { method, headers: { 'content-type': type }, body })
    })
  }
}
