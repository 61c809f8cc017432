import { setTimeout as delay } from 'node:timers/promises'
import { request } from '@stevec/harness/request'
import { pathOfSweep, lengthOfSweep } from '../../scenarios/crawl-addresses.js'
import { UsageError } from '../usage-error.js'
import { cellsOf } from './definition.js'
import { hasCrawlers } from './settings.js'

const WARM_UP_MAX = 2_000
const AT_ONCE = 8
/** Costly reads rest for ten seconds after a view or a save (PEOPLE_MS in wiki-app/src/http/concurrency-limits.js). */
const RESTED_MS = 11_000
const MEASURED_MS = 10_000
const ANSWERED_WITHIN_MS = 60_000

/**
 * Measures how many addresses of a sweep a wiki can show when nobody else asks, with eight requests at a time. Begins
 * at the end of the sweep, so that crawlers ask for others.
 * @param {object} options
 * @param {string} options.url  of the wiki, past its caches
 * @param {import('../../scenarios/crawl-addresses.js').Addresses} options.addresses
 * @param {import('../../scenarios/crawl-addresses.js').Size} options.size
 * @param {() => Promise<void>} options.slow  limits the wiki, once its code is compiled
 * @param {AbortSignal} options.signal
 * @param {number} [options.restedMs]  without people
 * @param {number} [options.measuredMs]
 * @returns {Promise<number>} a second
 * @throws {Error} when the wiki refuses one
 */
export async function measureCapacity ({
  url, addresses, size, slow, signal, restedMs = RESTED_MS, measuredMs = MEASURED_MS
}) {
  const length = lengthOfSweep(size)
  let asked = 0
  const askWhile = (/** @type {() => boolean} */ isWanted) => Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (isWanted()) {
      const path = pathOfSweep(addresses, length - 1 - asked++ % length, size)
      const { status } = await request(url + path, { timeoutMs: ANSWERED_WITHIN_MS, signal })
      if (status !== 200) throw new Error(`the wiki answered ${path} with ${status} before the crawlers began`)
    }
  }))
  await delay(restedMs, undefined, { signal })
  const warmUps = Math.min(WARM_UP_MAX, Math.floor(length / 10))
  await askWhile(() => asked < warmUps)
  await slow()
  await delay(restedMs, undefined, { signal })
  const [before, startedAt] = [asked, performance.now()]
  await askWhile(() => performance.now() - startedAt < measuredMs)
  return (asked - before) / (performance.now() - startedAt) * 1000
}

/**
 * @param {import('./definition.js').Definition[]} definitions
 * @param {object} where
 * @param {import('../profile/profile.js').Profile} where.profile
 * @param {string} [where.origin]  as --origin
 * @param {unknown} where.zone  null: a stack of the lab
 * @throws {UsageError} where crawlers would share all cores with the wiki: k6 could not send what is to be too much
 */
export function refuseUnlimitedCrawl (definitions, { profile, origin = 'local', zone }) {
  const crawled = definitions.find((definition) => cellsOf(definition).some(({ settings }) => hasCrawlers(settings)))
  if (crawled === undefined) return
  const what = `${crawled.name} has crawlers, which ask for several times what the wiki can show`
  if (zone !== null) throw new UsageError(`${what}: they need a stack of the lab; leave --target out`)
  if (origin !== 'local' || profile.applied.cpu) return
  throw new UsageError(profile.asked.origin.cpu_share === null
    ? `${what}: the wiki must have a share of a core only, so that k6 can send it; add --profile quarter-core`
    : `${what}, and this machine cannot limit the wiki's share of a core (${profile.missing.join('; ')}): run it as ` +
      'root, or on a machine that can')
}
