import { warmUp } from '../lab/warm-up.js'
import { AUTHOR, WARM_UP_WATCHER } from './people.js'
import { WARM_UP_PAGE } from './place.js'

const ROUNDS = Object.freeze({ requests: 150, least: 4, most: 10 })
const TEXT = 'A text that is saved again and again, with a [link](/wiki/page-000001).\n\n'
const REPEATED = 60

/**
 * Saves a page with one watcher, and reads the list of that one, until the times of both no longer fall.
 * @param {import('./place.js').Place} place
 * @param {AbortSignal} signal
 */
export function warmUpWatched ({ wiki, tokenOf }, signal) {
  let saves = 0
  const save = () => ({
    method: 'POST',
    path: `/wiki/${encodeURIComponent(WARM_UP_PAGE)}`,
    headers: { 'content-type': 'text/markdown', authorization: `Bearer ${tokenOf(AUTHOR)}` },
    body: `${++saves}\n\n${TEXT.repeat(REPEATED)}`,
    statuses: [200, 201]
  })
  const list = {
    path: '/api/v1/watching/changes?limit=100',
    headers: { authorization: `Bearer ${tokenOf(WARM_UP_WATCHER)}` },
    statuses: [200]
  }
  return warmUp({
    door: { url: wiki.url }, messages: { read: () => list, edit: save, editEvery: 2, atOnce: 2 }, rounds: ROUNDS, signal
  })
}
