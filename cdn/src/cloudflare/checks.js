import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from './door.js'

const READS = 5
const NOT_CACHED = ['BYPASS', 'DYNAMIC']
const CDN_HEADERS = ['cf-ray', 'cf-cache-status']

/** @typedef {import('./door.js').Answer} Answer */
/** @typedef {import('./verify.js').Doors} Doors */

/** What experiments assume of the doors. The first check must pass before the others. */
export const CHECKS = /** @type {import('./verify.js').CheckDefinition[]} */ ([
  {
    id: 'source',
    title: 'the door source leads to the origin, past the CDN',
    todo: 'the DNS record of source must be DNS-only (stevec cloudflare apply), and the origin must answer there',
    observe: observeSource
  },
  {
    id: 'hit',
    title: 'through cached a page is a MISS, then a HIT with an Age',
    todo: 'check that the rule stevec_cached exists and is the last (stevec cloudflare plan), and that the origin ' +
      'allows storing (Cache-Control)',
    observe: observeHit
  },
  {
    id: 'nocache',
    title: 'through nocache nothing is cached',
    todo: 'check that the rule stevec_nocache exists and is the last (stevec cloudflare plan)',
    observe: observeNocache
  },
  {
    id: 'personal',
    title: 'the counter, the API and editing are not cached at the door cached',
    todo: 'check that the rule stevec_personal exists, after stevec_cached (stevec cloudflare plan)',
    observe: observePersonal
  },
  {
    id: 'browser_ttl',
    title: 'browsers receive the Cache-Control of the origin',
    todo: 'Browser Cache TTL of the zone or another rule overrides it: stevec_cached must be the last rule that ' +
      'matches',
    observe: observeBrowserTtl
  },
  {
    id: 'etag',
    title: 'the ETag arrives as the origin made it',
    todo: 'respect_strong_etags of the rule stevec_cached keeps it; Rocket Loader, Email Obfuscation or another ' +
      'rewriting undoes it (apply --tune)',
    observe: observeEtag
  },
  {
    id: 'counter',
    title: `of ${READS} reads of a page that is not cached yet one reaches the origin`,
    todo: 'verify again when nobody else uses the wiki. If it fails again, Tiered Cache may be on, or several points ' +
      'of presence answer',
    observe: observeCounter
  },
  {
    id: 'age_limit',
    title: 'a copy is not used beyond its lifetime',
    todo: 'Edge TTL must respect the origin: stevec_cached must be the last rule that matches',
    observe: observeAgeLimit
  }
])

/** @param {Doors} doors */
async function observeSource ({ urls, page }) {
  let answer = await ask(urls.source + page)
  let written = ''
  if (answer.status === 404) {
    const made = await ask(urls.source + page, {
      method: 'POST',
      headers: { 'content-type': 'text/markdown' },
      body: 'A page for `stevec cloudflare verify`.'
    })
    written = `; wrote ${page} (${made.status})`
    answer = await ask(urls.source + page)
  }
  const present = CDN_HEADERS.filter((name) => name in answer.headers)
  const passed = present.length === 0 ? 'no header of Cloudflare' : present.join(' and ')
  const advice = answer.status === 200 ? '' : '; choose a page that exists with --page'
  return { ok: answer.status === 200 && present.length === 0, saw: `${answer.status}, ${passed}${written}${advice}` }
}

/** @param {Doors} doors */
async function observeHit ({ unseenUrl }) {
  const url = unseenUrl()
  const answers = [await ask(url), await ask(url)]
  const [first, second] = answers
  return {
    ok: first.status === 200 &&
      first.cacheStatus === 'MISS' &&
      second.cacheStatus === 'HIT' &&
      second.ageS !== null,
    saw: `${statusesOf(answers)}, Age ${second.ageS ?? 'missing'}${popsOf(answers)}`
  }
}

/** @param {Doors} doors */
async function observeNocache ({ urls, page }) {
  const answers = [await ask(urls.nocache + page), await ask(urls.nocache + page)]
  return {
    ok: answers.every(({ status, cacheStatus }) => status === 200 && NOT_CACHED.includes(cacheStatus)),
    saw: statusesOf(answers)
  }
}

/** @param {Doors} doors */
async function observePersonal ({ urls }) {
  const answers = []
  for (const path of ['/wiki/stevec', '/api/', '/edit/']) {
    for (let time = 0; time < 2; time++) answers.push({ path, ...await ask(urls.cached + path) })
  }
  return {
    ok: answers.every(({ cacheStatus }) => NOT_CACHED.includes(cacheStatus)),
    saw: answers
      .filter((_answer, index) => index % 2 === 1)
      .map(({ path, cacheStatus }) => `${path} ${cacheStatus || 'no CF-Cache-Status'}`)
      .join(', ')
  }
}

/** @param {Doors} doors */
async function observeBrowserTtl ({ urls, page }) {
  const [through, direct] = [await ask(urls.cached + page), await ask(urls.source + page)].map(
    ({ headers }) => headers['cache-control'] ?? 'nothing'
  )
  return {
    ok: through === direct,
    saw: through === direct ? `Cache-Control: ${through}` : `through cached "${through}", from the origin "${direct}"`
  }
}

/** @param {Doors} doors */
async function observeEtag ({ urls, page }) {
  const [through, direct] = [await ask(urls.cached + page), await ask(urls.source + page)].map(
    ({ headers }) => headers.etag ?? 'none'
  )
  return {
    ok: through === direct,
    saw: through === direct ? through : `through cached ${through}, from the origin ${direct}`
  }
}

/** @param {Doors} doors */
async function observeCounter ({ urls, unseenUrl }) {
  const url = unseenUrl()
  await readCounter(urls.source)
  const answers = []
  for (let time = 0; time < READS; time++) answers.push(await ask(url))
  const requests = await readCounter(urls.source)
  const hits = answers.filter(({ cacheStatus }) => cacheStatus === 'HIT').length
  return {
    ok: requests === 1 && hits === READS - 1,
    saw: `${hits} HITs of ${READS}, the counter says ${requests}${popsOf(answers)}`
  }
}

/** @param {Doors} doors */
async function observeAgeLimit ({ urls, page, unseenUrl, ageWaitMaxS }) {
  const { headers } = await ask(urls.source + page)
  const directives = String(headers['cache-control'] ?? '')
  const lifetimeS = Number(/s-maxage=(\d+)/.exec(directives)?.[1] ?? /max-age=(\d+)/.exec(directives)?.[1] ?? NaN)
  if (!(lifetimeS <= ageWaitMaxS)) {
    return { ok: null, saw: `Cache-Control: ${directives || 'none'}; the check waits for lifetimes up to ${ageWaitMaxS} s (CACHE_TTL_S of the wiki)` }
  }
  const url = unseenUrl()
  let answer = await ask(url)
  const filledAt = performance.now()
  let oldestS = 0
  do {
    answer = await ask(url)
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

/**
 * @param {string} sourceUrl
 * @returns {Promise<number>} requests at the wiki since the last call
 */
async function readCounter (sourceUrl) {
  const { status, body } = await ask(`${sourceUrl}/wiki/stevec`)
  if (status !== 200) throw new Error(`the counter at source answered ${status}`)
  return JSON.parse(body).requests
}

/** @param {Answer[]} answers */
const statusesOf = (answers) =>
  answers.map(({ status, cacheStatus }) => `${status} ${cacheStatus || 'no CF-Cache-Status'}`).join(', then ')

/** @param {Answer[]} answers */
function popsOf (answers) {
  const pops = [...new Set(answers.map(({ pop }) => pop ?? '?'))]
  return pops.length > 1 ? `; answered by ${pops.join(' and ')}, each with a cache of its own` : `, by ${pops[0]}`
}
