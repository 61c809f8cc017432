import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from './door.js'

const READS = 5
const LATENCY_MAX_MS = 30_000
const POLL_MS = 20
/** Longest Cache-Control lifetime for which the check waits until it expires. */
const AGE_WAIT_MAX_S = 300
const NOT_CACHED = ['BYPASS', 'DYNAMIC']
const CDN_HEADERS = ['cf-ray', 'cf-cache-status']
export const PAGE = '/wiki/stevec-verify'

/**
 * @typedef {'ok' | 'failed' | 'skipped'} Outcome
 * @typedef {{id: string, outcome: Outcome, title: string, saw: string, todo: string}} Check
 * @typedef {Record<'cached' | 'nocache' | 'source', string>} DoorUrls  without a slash at the end
 * @typedef {'url' | 'tag' | 'host' | 'prefix' | 'everything'} PurgeKind
 */

/**
 * Checks that the doors behave as the experiments assume. It reads the counter, which resets it to 0, and purges cached
 * content of the door `cached`. It writes the page if it does not exist.
 * @param {object} options
 * @param {DoorUrls} options.doors
 * @param {import('./purge.js').Purge} options.purge
 * @param {string} [options.page]  path of a page that caches may store
 * @param {boolean} [options.everything]  also purge the whole zone, including content that is not ours
 * @param {number} [options.ageWaitMaxS]  pages with a longer lifetime are skipped
 * @param {(check: Check) => void} [options.onCheck]
 * @returns {Promise<Check[]>}
 */
export async function verifyDoors ({
  doors,
  purge,
  page = PAGE,
  everything = false,
  ageWaitMaxS = AGE_WAIT_MAX_S,
  onCheck = () => {}
}) {
  /** @type {Check[]} */
  const checks = []
  const read = (/** @type {string} */ url) => ask(url)
  /** Returns a URL that no cache has seen: the wiki renders the page for any query. */
  const unseen = () => `${doors.cached}${page}?verify=${randomBytes(8).toString('hex')}`

  /**
   * @param {string} id
   * @param {string} title
   * @param {string} todo  the next step if the check fails
   * @param {() => Promise<{ok: boolean | null, saw: string}>} look  ok is null if this cannot be checked here
   */
  async function check (id, title, todo, look) {
    const { ok, saw } = await look().catch((error) => ({ ok: false, saw: error.message }))
    /** @type {Check} */
    const result = {
      id,
      title,
      outcome: ok === null ? 'skipped' : ok ? 'ok' : 'failed',
      saw,
      todo: ok === true ? '' : todo
    }
    checks.push(result)
    onCheck(result)
    return ok === true
  }
  const statuses = (/** @type {import('./door.js').Answer[]} */ answers) =>
    answers.map(({ status, cacheStatus }) => `${status} ${cacheStatus || 'no CF-Cache-Status'}`).join(', then ')

  const reachable = await check(
    'source',
    'the door source leads to the origin, past the CDN',
    'the record of source must be DNS-only (stevec cloudflare apply), and the origin must answer there',
    async () => {
      let answer = await read(doors.source + page)
      let written = ''
      if (answer.status === 404) {
        const made = await ask(doors.source + page, {
          method: 'POST',
          headers: { 'content-type': 'text/markdown' },
          body: 'A page for `stevec cloudflare verify`.'
        })
        written = `; wrote ${page} (${made.status})`
        answer = await read(doors.source + page)
      }
      const present = CDN_HEADERS.filter((name) => name in answer.headers)
      return {
        ok: answer.status === 200 && present.length === 0,
        saw: `${answer.status}, ${present.length === 0 ? 'no header of Cloudflare' : present.join(' and ')}${written}${
          answer.status === 200 ? '' : '; name a page that is there with --page'
        }`
      }
    }
  )
  if (!reachable) return checks

  await check(
    'hit',
    'through cached a page is a MISS, then a HIT with an Age',
    'is the rule stevec_cached there and last (stevec cloudflare plan)? Does the origin allow storing ' +
    '(Cache-Control)?',
    async () => {
      const url = unseen()
      const answers = [await read(url), await read(url)]
      const [first, second] = answers
      return {
        ok: first.status === 200 &&
          first.cacheStatus === 'MISS' &&
          second.cacheStatus === 'HIT' &&
          second.ageS !== null,
        saw: `${statuses(answers)}, Age ${second.ageS ?? 'missing'}${fromPops(answers)}`
      }
    }
  )

  await check(
    'nocache',
    'through nocache nothing is cached',
    'is the rule stevec_nocache there and last? (stevec cloudflare plan)',
    async () => {
      const answers = [await read(doors.nocache + page), await read(doors.nocache + page)]
      return {
        ok: answers.every(({ status, cacheStatus }) => status === 200 && NOT_CACHED.includes(cacheStatus)),
        saw: statuses(answers)
      }
    }
  )

  await check(
    'personal',
    'the counter, the API and editing are not cached at the door cached',
    'is the rule stevec_personal there, after stevec_cached? (stevec cloudflare plan)',
    async () => {
      const answers = []
      for (const path of ['/wiki/stevec', '/api/', '/edit/']) {
        for (let time = 0; time < 2; time++) answers.push({ path, ...await read(doors.cached + path) })
      }
      return {
        ok: answers.every(({ cacheStatus }) => NOT_CACHED.includes(cacheStatus)),
        saw: answers
          .filter((_answer, index) => index % 2 === 1)
          .map(({ path, cacheStatus }) => `${path} ${cacheStatus || 'no CF-Cache-Status'}`)
          .join(', ')
      }
    }
  )

  await check(
    'browser_ttl',
    'browsers are told what the origin says',
    'Browser Cache TTL of the zone or another rule overrides it: stevec_cached must be the last rule that matches',
    async () => {
      const [through, direct] = [await read(doors.cached + page), await read(doors.source + page)].map(
        ({ headers }) => headers['cache-control'] ?? 'nothing'
      )
      return {
        ok: through === direct,
        saw: through === direct
          ? `Cache-Control: ${through}`
          : `through cached "${through}", from the origin "${direct}"`
      }
    }
  )

  await check(
    'etag',
    'the ETag arrives as the origin made it',
    'respect_strong_etags of the rule stevec_cached keeps it; Rocket Loader, Email Obfuscation or another ' +
    'rewriting undoes it (apply --tune)',
    async () => {
      const [through, direct] = [await read(doors.cached + page), await read(doors.source + page)].map(
        ({ headers }) => headers.etag ?? 'none'
      )
      return {
        ok: through === direct,
        saw: through === direct ? through : `through cached ${through}, from the origin ${direct}`
      }
    }
  )

  await check(
    'counter',
    `of ${READS} reads of a page that is not cached yet one reaches the origin`,
    'is the wiki used by others at this moment? Then again when it is not. Otherwise Tiered Cache may be on, or ' +
    'several points of presence answer',
    async () => {
      const url = unseen()
      await counter()
      const answers = []
      for (let time = 0; time < READS; time++) answers.push(await read(url))
      const { requests } = await counter()
      const hits = answers.filter(({ cacheStatus }) => cacheStatus === 'HIT').length
      return {
        ok: requests === 1 && hits === READS - 1,
        saw: `${hits} HITs of ${READS}, the counter says ${requests}${fromPops(answers)}`
      }
    }
  )

  await check(
    'age_limit',
    'a copy is not used beyond its lifetime',
    'Edge TTL must respect the origin: stevec_cached must be the last rule that matches',
    async () => {
      const { headers } = await read(doors.source + page)
      const directives = String(headers['cache-control'] ?? '')
      const lifetimeS = Number(/s-maxage=(\d+)/.exec(directives)?.[1] ?? /max-age=(\d+)/.exec(directives)?.[1] ?? NaN)
      if (!(lifetimeS <= ageWaitMaxS)) {
        return { ok: null, saw: `Cache-Control: ${directives || 'none'}; only lifetimes up to ${ageWaitMaxS} s are waited for (CACHE_TTL_S of the wiki)` }
      }
      const url = unseen()
      let answer = await read(url)
      const filledAt = performance.now()
      let oldestS = 0
      do {
        answer = await read(url)
        oldestS = Math.max(oldestS, answer.cacheStatus === 'HIT' ? answer.ageS ?? 0 : 0)
        if (answer.cacheStatus !== 'HIT') break
        await sleep(Math.min(1_000, 100 * lifetimeS))
      } while (performance.now() - filledAt < 1000 * (lifetimeS + 5))
      // Age is in whole seconds, and the response spends time in transit.
      return {
        ok: answer.cacheStatus !== 'HIT' && oldestS <= lifetimeS + 1,
        saw: `lifetime ${lifetimeS} s; the oldest HIT was ${oldestS} s old, then ${answer.cacheStatus}`
      }
    }
  )

  const { headers } = await read(doors.source + page)
  const tag = String(headers['cache-tag'] ?? '').split(',')[0].trim()
  const host = new URL(doors.cached).hostname
  /** @type {[PurgeKind, ((url: string) => Promise<void>) | null, string][]} */
  const kinds = [
    ['url', (url) => purge.purgeUrls([url]), ''],
    ['tag', tag === '' ? null : () => purge.purgeTags([tag]), 'the origin sends no Cache-Tag'],
    ['prefix', () => purge.purgePrefixes([`${host}${page}`]), ''],
    ['host', () => purge.purgeHosts([host]), ''],
    [
      'everything',
      everything ? () => purge.purgeEverything() : null,
      'it would empty the cache of the whole zone; --everything does it'
    ]
  ]
  for (const [kind, purgeIt, reason] of kinds) {
    await check(
      `purge_${kind}`,
      `a purge by ${kind} works`,
      purgeIt === null
        ? reason
        : 'may the token purge (Cache Purge)? Is the page asked for under the very URL that is purged?',
      async () => {
        if (purgeIt === null) return { ok: null, saw: 'not tried' }
        const url = unseen()
        await read(url)
        const { cacheStatus } = await read(url)
        if (cacheStatus !== 'HIT') {
          return { ok: false, saw: `nothing to purge: the second read was ${cacheStatus || 'without CF-Cache-Status'}` }
        }
        await purgeIt(url)
        const ms = await gone(url)
        return {
          ok: ms !== null,
          saw: ms === null
            ? `still a HIT ${LATENCY_MAX_MS / 1000} s after the answer`
            : `the first answer that was no HIT began ${Math.round(ms)} ms after the purge was answered`
        }
      }
    )
  }
  return checks

  /**
   * @param {string} url
   * @returns {Promise<number | null>} milliseconds until the start of the first request that is no HIT
   */
  async function gone (url) {
    const startedAt = performance.now()
    while (performance.now() - startedAt < LATENCY_MAX_MS) {
      const sentAt = performance.now()
      const { cacheStatus } = await read(url)
      if (cacheStatus !== 'HIT') return sentAt - startedAt
      await sleep(POLL_MS)
    }
    return null
  }

  async function counter () {
    const { status, body } = await read(`${doors.source}/wiki/stevec`)
    if (status !== 200) throw new Error(`the counter at source answered ${status}`)
    return /** @type {{requests: number}} */ (JSON.parse(body))
  }
}

/** @param {import('./door.js').Answer[]} answers */
function fromPops (answers) {
  const pops = [...new Set(answers.map(({ pop }) => pop ?? '?'))]
  return pops.length > 1 ? `; answered by ${pops.join(' and ')}, each with a cache of its own` : `, by ${pops[0]}`
}
