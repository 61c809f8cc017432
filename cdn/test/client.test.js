import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { inspect } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parseApiUrl } from '../src/cloudflare/api-url.js'
import { createClient } from '../src/cloudflare/client.js'
import { CloudflareError } from '../src/cloudflare/error.js'
import { createPurge } from '../src/cloudflare/purge.js'
import { tokenWarnings } from '../src/cloudflare/rights.js'
import { readToken } from '../src/cloudflare/token.js'
import { findZone } from '../src/cloudflare/zone.js'
import { LEAST, startFake, TOKEN } from './fake/cloudflare.js'

const ZONES = /^GET .*\/zones$/
const PURGE = /^POST .*\/purge_cache$/

/**
 * @param {import('./fake/cloudflare.js').Fake} fake
 * @param {Partial<Parameters<typeof createClient>[0]>} [options]
 */
const clientOf = (fake, options = {}) =>
  createClient({ token: TOKEN, apiUrl: fake.url, pauseMs: 1, timeoutMs: 10_000, ...options })

describe('an API call', { concurrency: true }, () => {
  for (const [what, fault] of /** @type {[string, Partial<import('./fake/cloudflare.js').Fault>][]} */ ([
    ['500', { how: 'status', status: 500 }],
    ['503', { how: 'status', status: 503, headers: { 'retry-after': '0' } }],
    ['429', { how: 'status', status: 429, headers: { 'retry-after': '0' } }],
    ['a connection that breaks before the response', { how: 'lost' }],
    ['half a response on a connection that stays open', { how: 'half' }],
    ['no response', { how: 'stall' }],
    ['a response that is too slow', { how: 'slow', delayMs: 12_000 }]
  ])) {
    test(`succeeds at the third attempt after two failures: ${what}`, async (t) => {
      const fake = await startFake(t)
      /** @type {string[]} */
      const messages = []
      fake.fail({ match: ZONES, times: 2, ...fault, how: fault.how ?? 'status' })
      const zone = await findZone(clientOf(fake, { onRetry: (message) => messages.push(message) }), 'example.com')
      assert.equal(zone.id, fake.zone.id)
      assert.equal(fake.requests.length, 3)
      assert.equal(messages.length, 2)
      for (const message of messages) assert.match(message, /^look for the zone example\.com: .*; retrying in 0\.\d s$/)
    })
  }
})

test('the time limit of an attempt holds while memory is collected', async (t) => {
  const fake = await startFake(t)
  setFlagsFromString('--expose-gc')
  const collecting = setInterval(runInNewContext('gc'), 10)
  t.after(() => clearInterval(collecting))
  for (const how of /** @type {const} */ (['half', 'stall'])) {
    fake.fail({ match: ZONES, how })
    await assert.rejects(findZone(clientOf(fake, { attemptsMax: 1, timeoutMs: 1_000 }), 'example.com'),
      /no complete response within 1 s/)
  }
})

test('a call fails with a typed error after attemptsMax attempts, or if Retry-After exceeds waitMaxMs', async (t) => {
  const fake = await startFake(t)
  fake.fail({ match: ZONES, times: 99, how: 'status', status: 502 })
  await assert.rejects(
    findZone(clientOf(fake, { attemptsMax: 3 }), 'example.com'),
    (error) => error instanceof CloudflareError && error.kind === 'unavailable' && error.status === 502
  )
  assert.equal(fake.requests.length, 3)

  const limited = await startFake(t)
  limited.fail({ match: ZONES, times: 99, how: 'status', status: 429, headers: { 'retry-after': '300' } })
  const startedAt = performance.now()
  await assert.rejects(
    findZone(clientOf(limited), 'example.com'),
    (error) =>
      error instanceof CloudflareError &&
      error.kind === 'rate_limited' &&
      error.retryAfterMs === 300_000 &&
      /; try again in \d+ s$/.test(error.message)
  )
  assert.equal(limited.requests.length, 1)
  assert.ok(performance.now() - startedAt < 300_000)
})

test('permanent errors are not retried and give their reason', async (t) => {
  const fake = await startFake(t)
  const purge = createPurge({ client: clientOf(fake), zoneId: fake.zone.id })
  for (const [attempt, kind, message] of /** @type {[() => Promise<unknown>, string, RegExp][]} */ ([
    [() => purge.purgeUrls(['https://other.example/']), 'refused', /purge 1 URLs: 400, Invalid purge item .* \(1048\)/],
    [
      () => createPurge({ client: clientOf(fake), zoneId: 'f'.repeat(32) }).purgeEverything(),
      'permission',
      /\(9109\); does the token have the permissions that the README lists/
    ],
    [() => createPurge({ client: clientOf(fake), zoneId: '../../user' }).purgeEverything(), 'not_found', /\(7003\)/],
    [
      () => findZone(clientOf(fake, { token: 'another-token' }), 'example.com'),
      'token',
      /Invalid API Token \(1000\); is the token right/
    ],
    [() => findZone(clientOf(fake), 'example.org'), 'not_found', /the token has access to no zone example\.org/]
  ])) {
    const before = fake.requests.length
    await assert.rejects(
      attempt,
      (error) => error instanceof CloudflareError && error.kind === kind && message.test(error.message),
      String(message)
    )
    const { refused } = /** @type {any} */ (await attempt().catch((error) => error))
    assert.equal(refused, kind === 'refused', '`refused` is true only if the API refuses an item of the call')
    assert.equal(fake.requests.length, before + 2)
  }
  fake.fail({ match: ZONES, how: 'text' })
  await assert.rejects(findZone(clientOf(fake), 'example.com'), (error) => {
    return error instanceof CloudflareError && !error.refused && /is not Cloudflare's API/.test(error.message)
  })
})

test('an aborted call ends without waiting for the next attempt', async (t) => {
  const fake = await startFake(t)
  fake.fail({ match: ZONES, times: 99, how: 'status', status: 503, headers: { 'retry-after': '60' } })
  const controller = new AbortController()
  const running = findZone(
    clientOf(fake, { signal: controller.signal, onRetry: () => controller.abort() }),
    'example.com'
  )
  await assert.rejects(running, { name: 'AbortError' })
})

test('the token is only in the Authorization header, and other credentials are not sent', async (t) => {
  const fake = await startFake(t)
  const secret = `${TOKEN}-hunter2`
  for (const [name, value] of [
    ['CLOUDFLARE_API_KEY', 'old-key'],
    ['CLOUDFLARE_EMAIL', 'me@example.com'],
    ['CLOUDFLARE_API_USER_SERVICE_KEY', 'service'],
    ['CLOUDFLARE_LOG', 'debug'],
    ['CLOUDFLARE_BASE_URL', 'http://127.0.0.1:9']
  ]) {
    const before = process.env[name]
    process.env[name] = value
    t.after(() => { if (before === undefined) delete process.env[name]; else process.env[name] = before })
  }
  /** @type {unknown[]} */
  const printed = []
  for (
    const method of /** @type {const} */ (['log', 'debug', 'info', 'warn', 'error'])
  ) t.mock.method(console, method, (/** @type {unknown[]} */ ...args) => { printed.push(...args) })
  const client = clientOf(fake, { token: secret })
  const shown = []
  for (const how of /** @type {const} */ (['status', 'lost', 'half', 'text'])) {
    fake.fail({ match: ZONES, how, status: 403 })
    const error = await findZone(clientOf(fake, { token: secret, attemptsMax: 1 }), 'example.com')
      .catch((error) => error)
    shown.push(inspect(error, { depth: 20, showHidden: true }), JSON.stringify(error), error.stack)
  }
  assert.ok(
    !`${shown.join()}${inspect(client, { depth: 20 })}${inspect(printed, { depth: 20 })}${process.title}`
      .includes('hunter2')
  )
  assert.equal(fake.requests[0].headers.authorization, `Bearer ${secret}`)
  assert.deepEqual(Object.keys(fake.requests[0].headers).filter((name) => name.startsWith('x-auth')), [])
  assert.ok(!fake.requests.some(({ path }) => path.includes('hunter2')))
})

test('the API URL must use https or this machine, and must not hold credentials or a query', () => {
  assert.equal(parseApiUrl(), 'https://api.cloudflare.com/client/v4')
  assert.equal(parseApiUrl('https://api.example/'), 'https://api.example/client/v4')
  assert.equal(parseApiUrl('http://127.0.0.1:8000/client/v4/'), 'http://127.0.0.1:8000/client/v4')
  for (const url of [
    'http://api.cloudflare.com', 'http://127.0.0.1.example.com', 'http://localhost.example.com', 'ftp://127.0.0.1',
    'https://me:hunter2@api.example', 'https://api.example?key=hunter2', 'nothing', ''
  ]) {
    assert.throws(
      () => parseApiUrl(url),
      (error) => error instanceof RangeError && !error.message.includes('hunter2'),
      url
    )
  }
})

test('the token comes from the environment, or from a file that only its owner may read', (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-token-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = path.join(directory, 'token')
  writeFileSync(file, `${TOKEN}\n`, { mode: 0o600 })
  assert.equal(readToken({ file }), TOKEN)
  chmodSync(file, 0o400)
  assert.equal(readToken({ file }), TOKEN)
  assert.equal(readToken({ token: ' token-of-the-environment\n', file }), 'token-of-the-environment')
  for (const mode of [0o644, 0o640, 0o660, 0o601]) {
    chmodSync(file, mode)
    assert.throws(() => readToken({ file }), /chmod 600 it/)
  }
  writeFileSync(file, `${TOKEN}\nand more`)
  chmodSync(file, 0o600)
  assert.throws(
    () => readToken({ file }),
    (error) => /must hold one API token/.test(String(error)) && !String(error).includes(TOKEN)
  )
  assert.throws(() => readToken({ token: '' }), /no API token: set CLOUDFLARE_API_TOKEN/)
  assert.throws(() => readToken({ file: path.join(directory, 'none') }), /cannot be read: ENOENT/)
})

test('tokenWarnings names rights that are not needed, as far as the API reports them', async (t) => {
  const fake = await startFake(t, { zones: [{ name: 'example.com' }, { name: 'example.org' }] })
  const warningsOf = async () => tokenWarnings(clientOf(fake), await findZone(clientOf(fake), 'example.com'))
  assert.deepEqual(await warningsOf(), [])
  fake.tokens.set(TOKEN, {
    id: 'a'.repeat(32),
    status: 'active',
    permissions: [...LEAST, '#worker:edit', '#user_tokens:read'],
    zones: fake.zones.map(({ id }) => id)
  })
  assert.deepEqual(await warningsOf(), [
    'the token never expires; set an end for it',
    'the token may do more than is needed: #worker:edit, #user_tokens:read',
    'the token is for more zones than example.com; limit it to that one',
    'the token may read API tokens, which nothing here needs'
  ])
  fake.tokens.set(TOKEN, {
    id: 'a'.repeat(32),
    status: 'active',
    permissions: ['#zone:read'],
    zones: [fake.zone.id],
    expires_on: '2099-01-01T00:00:00Z'
  })
  await assert.rejects(
    createPurge({ client: clientOf(fake), zoneId: fake.zone.id }).purgeEverything(),
    /permissions that the README lists/
  )
})

test('purges are split into calls of 100 distinct items and wait for the plan\'s rate limit', async (t) => {
  const fake = await startFake(t, { limits: { calls_bucket: 1, calls_per_s: 1 } })
  const purge = createPurge({ client: clientOf(fake, { waitMaxMs: 5_000 }), zoneId: fake.zone.id })
  const urls = Array.from({ length: 250 }, (_url, index) => `https://wiki.example.com/wiki/${index}`)
  await purge.purge([...urls, urls[0]], ['a', 'b', 'a'])
  assert.deepEqual(fake.zone.purges.map((body) => (body.files ?? body.tags).length), [100, 100, 50, 2])
  await purge.purgeHosts(['wiki.example.com'])
  await purge.purgeUrls(['https://wiki.example.com/'], { soft: true })
  assert.ok(fake.requests.length > 6, 'a call exceeded the rate limit and was repeated')
  assert.deepEqual(fake.zone.purges.slice(4), [
    { hosts: ['wiki.example.com'], soft: false },
    { files: ['https://wiki.example.com/'], soft: true }
  ])
  const before = fake.requests.length
  await purge.purge([])
  assert.equal(fake.requests.length, before)
  fake.fail({ match: PURGE, how: 'lost' })
  await purge.purgeUrls(['https://wiki.example.com/again'])
  assert.equal(fake.zone.purges.length, 8, 'a purge whose response was lost is sent again')
})
