import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SPECIAL } from '../src/request-headers.js'
import { runLua } from './lua.js'

const NOW_S = 1_800_000_000
const DECIDE = `
  local decide = require("decide").decide
  local actions = {}
  for index, case in ipairs(input) do
    actions[index] = decide(case.entry, case.request, case.now_s, case.rules)
  end
  return actions`

/**
 * A stored response with a lifetime of 60 s and a validator.
 * @param {number} ageS
 * @param {Record<string, unknown>} [more]
 */
const entry = (ageS, more = {}) => ({
  lifetime_s: 60,
  initial_age_s: 0,
  received_s: NOW_S - ageS,
  always_validate: false,
  stale_forbidden: false,
  stale_while_revalidate_s: 0,
  stale_if_error_s: 0,
  etag: '"1"',
  ...more
})

/**
 * @param {Record<string, string | string[]>} [fields]
 * @param {string} [method]
 */
const get = (fields = {}, method = 'GET') =>
  ({ method, fields, special: SPECIAL.some((name) => fields[name] !== undefined) })
/** @param {Record<string, string | string[]>} [fields] */
const head = (fields) => get(fields, 'HEAD')
/** @param {string | string[]} text  Cache-Control */
const wants = (text) => get({ 'cache-control': text })

const FRESH = entry(10)
const STALE = entry(70)
const UNVALIDATABLE = entry(70, { etag: undefined })
const WHILE_REVALIDATING = entry(70, { stale_while_revalidate_s: 20 })
const UNCHANGED = get({ 'if-none-match': '"1"' })
const RANGE = get({ range: 'bytes=0-1' })

/** @typedef {ReturnType<typeof entry> | null} Entry */
/** @typedef {[what: string, entry: Entry, request: ReturnType<typeof get>, action: string]} Case */

/** @type {Case[]} */
const ANY_PROFILE = [
  ['nothing is stored', null, get(), 'fetch: GET, collapsing, may wait'],
  ['a fresh response', FRESH, get(), 'serve_fresh: HIT'],
  ['the last moment of freshness', entry(59), get(), 'serve_fresh: HIT'],
  ['the end of the lifetime', entry(60), get(), 'revalidate: GET, entry, collapsing, may wait'],
  ['the age on arrival counts', entry(10, { initial_age_s: 50 }), get(), 'revalidate: GET, entry, collapsing, may wait'],
  ['a stale response', STALE, get(), 'revalidate: GET, entry, collapsing, may wait'],
  ['a Last-Modified is a validator', entry(70, { etag: undefined, last_modified: 'x' }), get(),
    'revalidate: GET, entry, collapsing, may wait'],
  ['a stale response without a validator', UNVALIDATABLE, get(), 'fetch: GET, entry, collapsing, may wait'],
  ['a soft purge makes a response stale', entry(10, { stale_since_s: NOW_S - 1 }), get(),
    'revalidate: GET, entry, collapsing, may wait'],
  ['no-cache from the origin', entry(10, { always_validate: true }), get(),
    'revalidate: GET, entry, collapsing, may wait'],
  ['stale-while-revalidate', WHILE_REVALIDATING, get(), 'serve_while_revalidating: UPDATING, GET, entry, collapsing'],
  ['the last second of stale-while-revalidate', entry(80, { stale_while_revalidate_s: 20 }), get(),
    'serve_while_revalidating: UPDATING, GET, entry, collapsing'],
  ['after the end of stale-while-revalidate', entry(81, { stale_while_revalidate_s: 20 }), get(),
    'revalidate: GET, entry, collapsing, may wait'],
  ['must-revalidate together with stale-while-revalidate', { ...WHILE_REVALIDATING, stale_forbidden: true }, get(),
    'revalidate: GET, entry, collapsing, may wait'],
  ['stale-if-error has no effect before an error', entry(70, { stale_if_error_s: 600 }), get(),
    'revalidate: GET, entry, collapsing, may wait'],
  ['a condition on a fresh response', FRESH, UNCHANGED, 'serve_fresh: HIT'],
  ['a condition on a stale response', STALE, UNCHANGED, 'fetch_whole: GET, entry, collapsing, may wait'],
  ['a range of a fresh response', FRESH, RANGE, 'serve_fresh: HIT'],
  ['a range of a stale response', UNVALIDATABLE, RANGE, 'fetch_whole: GET, entry, collapsing, may wait'],
  ['a HEAD on a fresh response', FRESH, head(), 'serve_fresh: HIT'],
  ['Authorization, a fresh response', FRESH, get({ authorization: 'x' }), 'serve_fresh: HIT'],
  ['Authorization, nothing stored', null, get({ authorization: 'x' }), 'fetch: GET'],
  ['Authorization, a stale response', STALE, get({ authorization: 'x' }), 'revalidate: GET, entry'],
  ['Authorization and a condition, a stale response', STALE, get({ ...UNCHANGED.fields, authorization: 'x' }),
    'revalidate: GET, entry'],
  ['Authorization and a range, a stale response without a validator', UNVALIDATABLE,
    get({ ...RANGE.fields, authorization: 'x' }), 'forward: GET, own_conditions, no_store']
]

/** @type {Case[]} */
const RFC_9111 = [
  ['no-cache', FRESH, wants('no-cache'), 'revalidate: GET, entry, collapsing, may wait'],
  ['no-cache in Pragma', FRESH, get({ pragma: 'No-Cache' }), 'revalidate: GET, entry, collapsing, may wait'],
  ['Pragma is ignored beside Cache-Control', FRESH, get({ pragma: 'no-cache', 'cache-control': 'max-age=60' }),
    'serve_fresh: HIT'],
  ['max-age, the response is younger', FRESH, wants('max-age=10'), 'serve_fresh: HIT'],
  ['max-age, the response is older', FRESH, wants('max-age=9'), 'revalidate: GET, entry, collapsing, may wait'],
  ['max-age, malformed', FRESH, wants('max-age=x'), 'revalidate: GET, entry, collapsing, may wait'],
  ['max-age on several lines', FRESH, wants(['no-transform', 'max-age=9']),
    'revalidate: GET, entry, collapsing, may wait'],
  ['min-fresh, enough lifetime is left', FRESH, wants('min-fresh=50'), 'serve_fresh: HIT'],
  ['min-fresh, too little lifetime is left', FRESH, wants('min-fresh=51'),
    'revalidate: GET, entry, collapsing, may wait'],
  ['max-stale without a value', STALE, wants('max-stale'), 'serve_stale: STALE'],
  ['max-stale, not exceeded', STALE, wants('max-stale=10'), 'serve_stale: STALE'],
  ['max-stale, exceeded', STALE, wants('max-stale=9'), 'revalidate: GET, entry, collapsing, may wait'],
  ['max-stale, malformed', STALE, wants('max-stale=x'), 'revalidate: GET, entry, collapsing, may wait'],
  ['must-revalidate overrides max-stale', entry(70, { stale_forbidden: true }), wants('max-stale'),
    'revalidate: GET, entry, collapsing, may wait'],
  ['max-stale, the response exceeds max-age', STALE, wants('max-stale, max-age=60'),
    'revalidate: GET, entry, collapsing, may wait'],
  ['max-age alone refuses a stale response', WHILE_REVALIDATING, wants('max-age=600'),
    'revalidate: GET, entry, collapsing, may wait'],
  ['max-stale allows stale-while-revalidate beside max-age', WHILE_REVALIDATING, wants('max-age=600, max-stale=1'),
    'serve_while_revalidating: UPDATING, GET, entry, collapsing'],
  ['only-if-cached, fresh', FRESH, wants('only-if-cached'), 'serve_fresh: HIT'],
  ['only-if-cached, stale', STALE, wants('only-if-cached'), 'gateway_timeout'],
  ['only-if-cached, stale, with max-stale', STALE, wants('only-if-cached, max-stale'), 'serve_stale: STALE'],
  ['only-if-cached, nothing stored', null, wants('only-if-cached'), 'gateway_timeout'],
  ['no-store, nothing stored', null, wants('no-store'), 'fetch: GET, no_store'],
  ['no-store, stale', STALE, wants('no-store'), 'revalidate: GET, entry, no_store'],
  ['no-store, fresh', FRESH, wants('no-store'), 'serve_fresh: HIT'],
  ['a HEAD, nothing stored', null, head(), 'forward: HEAD, own_conditions, may wait'],
  ['a HEAD, stale', STALE, head(), 'forward: HEAD, entry, own_conditions, may wait'],
  ['a HEAD with no-store', STALE, head({ 'cache-control': 'no-store' }),
    'forward: HEAD, entry, own_conditions, no_store'],
  ['a condition, nothing stored', null, UNCHANGED, 'forward: GET, own_conditions, may wait'],
  ['a range, nothing stored', null, RANGE, 'forward: GET, own_conditions, may wait'],
  ['a condition with no-store', null, get({ ...UNCHANGED.fields, 'cache-control': 'no-store' }),
    'forward: GET, own_conditions, no_store']
]

/** @type {Case[]} */
const CLOUDFLARE = [
  ['Cache-Control of the request is ignored', FRESH, wants('no-cache, no-store, max-age=0'), 'serve_fresh: HIT'],
  ['Pragma is ignored', FRESH, get({ pragma: 'no-cache' }), 'serve_fresh: HIT'],
  ['only-if-cached is ignored', null, wants('only-if-cached'), 'fetch: GET, collapsing, may wait'],
  ['max-stale is ignored', STALE, wants('max-stale'), 'revalidate: GET, entry, collapsing, may wait'],
  ['a HEAD fetches the whole response', null, head(), 'fetch: GET, collapsing, may wait'],
  ['a condition, nothing stored', null, UNCHANGED, 'fetch_whole: GET, collapsing, may wait'],
  ['a range, nothing stored', null, RANGE, 'fetch_whole: GET, collapsing, may wait'],
  ['a HEAD with a condition and Authorization', null, head({ 'if-none-match': '"1"', authorization: 'x' }),
    'forward: HEAD, own_conditions, no_store']
]

/** The key is known to be uncacheable, or the edge does not collapse. @type {Case[]} */
const ALONE = [
  ['nothing is stored', null, get(), 'fetch: GET'],
  ['a fresh response', FRESH, get(), 'serve_fresh: HIT'],
  ['a stale response', STALE, get(), 'revalidate: GET, entry'],
  ['a condition, with a validator', STALE, UNCHANGED, 'revalidate: GET, entry'],
  ['a condition, without a validator', UNVALIDATABLE, UNCHANGED, 'forward: GET, own_conditions, no_store'],
  ['a background refresh', WHILE_REVALIDATING, get(),
    'serve_while_revalidating: UPDATING, GET, entry, collapsing']
]

const TABLES = [
  { name: 'rfc9111', cases: [...ANY_PROFILE, ...RFC_9111], rules: { cloudflare: false, collapse: true } },
  { name: 'cloudflare', cases: [...ANY_PROFILE, ...CLOUDFLARE], rules: { cloudflare: true, collapse: true } },
  { name: 'rfc9111, without collapsing', cases: ALONE, rules: { cloudflare: false, collapse: false } },
  { name: 'cloudflare, without collapsing', cases: ALONE, rules: { cloudflare: true, collapse: false } }
]

/** @param {Record<string, any>} action */
function spell ({ kind, cache_status: cacheStatus, may_wait: mayWait, fetch = {} }) {
  const flags = ['own_conditions', 'no_store', 'collapsing'].filter((name) => fetch[name])
  const parts = [cacheStatus, fetch.method, fetch.entry && 'entry', ...flags, mayWait && 'may wait'].filter(Boolean)
  return parts.length === 0 ? kind : `${kind}: ${parts.join(', ')}`
}

for (const { name, cases, rules } of TABLES) {
  test(`the action for each of ${cases.length} requests: ${name}`, () => {
    const actions = runLua(DECIDE, cases.map(([, stored, request]) =>
      ({ entry: stored ?? undefined, request, now_s: NOW_S, rules })))
    const shown = cases.map(([what], index) => `${what} → ${spell(actions[index])}`)
    assert.deepEqual(shown, cases.map(([what, , , action]) => `${what} → ${action}`))
  })
}
