import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startEdge } from './edge-helper.js'
import { answerRange, textOf } from './ranged-origin.js'

const SEED = 20261129
const STEPS = 1000
const AT_ONCE = 6
const URLS = 16
const BYTES_MAX = 200_000

const offset = fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: BYTES_MAX }))
const between = fc.tuple(offset, offset).map(([one, other]) =>
  `bytes=${Math.min(one, other)}-${Math.max(one, other)}`)
const step = fc.record({
  url: fc.integer({ min: 0, max: URLS - 1 }),
  range: fc.oneof(
    { weight: 6, arbitrary: between },
    { weight: 1, arbitrary: offset.map((first) => `bytes=${first}-`) },
    { weight: 1, arbitrary: offset.map((count) => `bytes=-${count}`) },
    { weight: 1, arbitrary: fc.constantFrom(`bytes=${BYTES_MAX}-`, 'bytes=-0') },
    { weight: 1, arbitrary: fc.constant(undefined) }),
  directive: fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, fc.constantFrom('no-cache', 'no-store')),
  before: fc.oneof(
    { weight: 20, arbitrary: fc.constant(/** @type {const} */ ('nothing')) },
    fc.constantFrom(/** @type {const} */ ('change'), 'purge', 'soft purge', 'break off', 'ignore ranges'))
})

test('9111 §3.4: each answer is a right slice of one version, of none before a purge, whatever happens', async (t) => {
  /** All versions of each URL: the last one is current. */
  const versions = Array.from({ length: URLS }, () => [textOf(BYTES_MAX)])
  const faults = Array.from({ length: URLS }, () => 'nothing')
  const tagOf = (/** @type {number} */ version) => `"${version}"`
  const edge = await startEdge(t, (request, response) => {
    const url = Number(request.url?.slice(1))
    const version = versions[url].length - 1
    const fault = faults[url]
    faults[url] = 'nothing'
    if (fault === 'ignore ranges') delete request.headers.range
    if (fault === 'break off') {
      const breakOff = (/** @type {string} */ body = '') => {
        response.write(body.slice(0, body.length / 2), () => response.destroy())
      }
      response.end = /** @type {any} */ (breakOff)
    }
    answerRange(request, response, { body: versions[url][version], etag: tagOf(version) })
  }, { profile: 'rfc9111', maxSizeBytes: 8_000_000 })
  /** The version that each URL had at its last purge. */
  const oldest = Array.from({ length: URLS }, () => 0)
  const counts = { part: 0, whole: 0, unsatisfiable: 0, broken: 0, hit: 0, partial: 0 }

  /** @param {import('./edge-helper.js').Answer} answer @param {number} url @param {number} least */
  const check = ({ status, headers, body }, url, least) => {
    if (status === 416) {
      counts.unsatisfiable++
      const size = Number(/^bytes \*\/(\d+)$/.exec(String(headers['content-range']))?.[1])
      return assert.ok(versions[url].some(({ length }) => length === size))
    }
    const version = Number(JSON.parse(String(headers.etag)))
    const whole = versions[url][version]
    assert.ok(version >= least, `version ${version} of /${url} after a purge of all before ${least}`)
    if (status === 200) {
      counts.whole++
      return assert.ok(body === whole, `the whole of version ${version}`)
    }
    counts.part++
    assert.equal(status, 206)
    const said = String(headers['content-range'])
    const [first, last, size] = (/^bytes (\d+)-(\d+)\/(\d+)$/.exec(said) ?? []).slice(1).map(Number)
    assert.equal(size, whole.length, said)
    assert.ok(body === whole.slice(first, last + 1), `${said} of version ${version}`)
  }

  const run = async (/** @type {any} */ { url, range, directive, before }) => {
    if (before === 'change') {
      const version = versions[url].length
      versions[url].push(textOf(version % 3 === 0 ? BYTES_MAX - version : BYTES_MAX, version))
    } else if (before.endsWith('purge')) {
      const current = versions[url].length - 1
      const files = [`http://${edge.host}/${url}`]
      await edge.purge({ files, ...before === 'soft purge' && { invalidate_cache: true } })
      oldest[url] = Math.max(oldest[url], current)
    } else if (before !== 'nothing') faults[url] = before
    const least = oldest[url]
    const headers = { ...range && { range }, ...directive && { 'cache-control': directive } }
    try {
      const answer = await edge.get(`/${url}`, headers)
      if (answer.cache === 'HIT') counts.hit++
      if (/fwd=partial/.test(String(answer.headers['cache-status']))) counts.partial++
      check(answer, url, least)
    } catch (error) {
      if (!/aborted|hang up|socket/.test(String(error))) throw error
      counts.broken++
    }
  }

  const steps = fc.sample(step, { numRuns: STEPS, seed: SEED })
  for (let at = 0; at < steps.length; at += AT_ONCE) await Promise.all(steps.slice(at, at + AT_ONCE).map(run))
  for (const [what, count] of Object.entries(counts)) assert.ok(count > 0, `${what}: ${JSON.stringify(counts)}`)
  t.diagnostic(JSON.stringify(counts))
  assert.equal(edge.errors().includes('[error]'), false, edge.errors())
})
