import assert from 'node:assert/strict'
import test from 'node:test'
import yazl from 'yazl'
import { createNetworkKey } from '../src/access/client.js'
import { readableDuration } from '../src/readable.js'
import { BROWSER, get, save, submit, useWiki } from './helper.js'
import { bearer, cookieOf, peopleOnly, post } from './people.js'

const wiki = useWiki()

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {string} remoteAddress
 * @param {string} [forwardedFor]
 */
const write = async (app, remoteAddress, forwardedFor) => {
  const headers = {
    'content-type': 'text/markdown',
    ...(forwardedFor !== undefined && { 'x-forwarded-for': forwardedFor })
  }
  return (await app.inject({ method: 'POST', url: '/wiki/a', remoteAddress, headers, payload: 'x' })).statusCode
}

test('a client over the write limit gets 429 with Retry-After; it can still read, others can write', async (t) => {
  const app = await wiki.build(t, { WRITES_PER_MINUTE: '3' })
  for (const status of [201, 200, 200]) assert.equal((await save(app, 'a', 'text')).statusCode, status)
  const refused = await save(app, 'a', 'too much')
  assert.equal(refused.statusCode, 429)
  assert.equal(refused.headers['cache-control'], 'no-store')
  const retryAfterS = Number(refused.headers['retry-after'])
  assert.ok(retryAfterS >= 1 && retryAfterS <= 60, String(retryAfterS))
  assert.match(refused.json().detail,
    new RegExp(`More than 3 changes.*Try again in ${readableDuration(retryAfterS)}\\.`))

  const person = await submit(app, 'a', { content: 'too much' })
  assert.equal(person.statusCode, 429)
  assert.match(person.body, /<h1>Too many requests<\/h1>\n<p>More than 3 changes within a minute/)
  assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/a' })).statusCode, 429)
  assert.equal((await get(app, '/wiki/a')).headers['page-revision'], '3')
  assert.equal((await get(app, '/edit/text/a', BROWSER)).statusCode, 200)
  assert.equal(await write(app, '192.0.2.1'), 200)
})

test('previews do not count towards the write limit and have their own limit', async (t) => {
  const app = await wiki.build(t, { WRITES_PER_MINUTE: '1' })
  const preview = () => app.inject({ method: 'POST', url: '/edit/preview/a', payload: { content: 'text' } })
  for (let count = 1; count <= 5; count++) assert.equal((await preview()).statusCode, 200)
  assert.equal((await save(app, 'a', 'text')).statusCode, 201)
  const refused = await preview()
  assert.equal(refused.statusCode, 429)
  assert.match(refused.json().detail, /More than 5 previews/)
})

test('a form without a session counts, too: its text is read, to be shown again', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), WRITES_PER_MINUTE: '2' })
  for (const status of [401, 401, 429]) {
    assert.equal((await post(app, '/edit/text/a', { content: 'text' })).statusCode, status)
  }
})

/**
 * A write: the address of the connection, X-Forwarded-For, the status, and a name for the client. The status is 429 if
 * that client has written before.
 * @typedef {[string, string | undefined, number, string]} Write
 */

test('X-Forwarded-For names the client only if a trusted proxy sends it', async (t) => {
  const app = await wiki.build(t, { WRITES_PER_MINUTE: '1', TRUSTED_PROXIES: 'loopback,192.0.2.0/24' })
  for (const [remoteAddress, forwardedFor, status, why] of /** @type {Write[]} */ ([
    ['127.0.0.1', '198.51.100.1', 201, 'through nginx'],
    ['127.0.0.1', '198.51.100.1', 429, 'the same client'],
    [
      '::1',
      '203.0.113.9, 198.51.100.1, 192.0.2.7',
      429,
      'the same client through one more proxy; addresses left of it are not trusted'
    ],
    ['127.0.0.1', '198.51.100.2', 200, 'another client'],
    ['198.51.100.3', '198.51.100.4', 200, 'not a trusted proxy'],
    ['198.51.100.3', '198.51.100.5', 429, 'the same client with another header'],
    ['127.0.0.1', undefined, 200, 'nginx itself'],
    ['127.0.0.1', '', 429, 'nginx itself'],
    ['127.0.0.1', 'unknown', 429, 'not an address'],
    ['127.0.0.1', '<script>', 429, 'not an address'],
    ['127.0.0.1', `${'x'.repeat(9_000)}`, 429, 'not an address'],
    ['127.0.0.1', `${'1.1.1.1,'.repeat(1_000)}198.51.100.2`, 429, 'a long list of addresses'],
    ['127.0.0.1', '::ffff:198.51.100.2', 429, 'an IPv4-mapped IPv6 address'],
    ['127.0.0.1', '2001:db8:0:1::1', 200, 'IPv6'],
    ['127.0.0.1', '2001:db8:0:1:ffff::2', 429, 'the same /64'],
    ['127.0.0.1', '2001:db8:0:2::1', 200, 'another /64'],
    ['127.0.0.1', 'fe80::1%eth0', 200, 'an address with a zone ID'],
    ['::ffff:127.0.0.1', '198.51.100.1', 429, 'a proxy with an IPv4-mapped IPv6 address']
  ])) {
    assert.equal(
      await write(app, remoteAddress, forwardedFor),
      status,
      `${remoteAddress} ${forwardedFor?.slice(-50)}: ${why}`
    )
  }
  const trusting = await wiki.build(t, { WRITES_PER_MINUTE: '1', TRUSTED_PROXIES: 'none' })
  assert.equal(await write(trusting, '127.0.0.1', '198.51.100.1'), 201)
  assert.equal(await write(trusting, '127.0.0.1', '198.51.100.2'), 429)
})

test('with WRITES_PER_MINUTE=0 there is no write limit', async (t) => {
  const app = await wiki.build(t, { WRITES_PER_MINUTE: '0' })
  const statuses = await Promise.all(Array.from({ length: 70 }, () => write(app, '192.0.2.1')))
  assert.ok(statuses.every((status) => status < 300))
})

test('forwarded headers for host, scheme and method have no effect', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const claims = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-port': '443',
    forwarded: 'host=evil.example;proto=https',
    'x-original-url': '/wiki/stevec',
    'x-http-method-override': 'DELETE'
  }
  const refused = await app.inject({
    method: 'POST',
    url: '/wiki/a',
    headers: { ...claims, host: 'wiki.example', origin: 'https://evil.example' },
    payload: {}
  })
  assert.equal(refused.statusCode, 403)
  assert.match(refused.json().detail, /another site/)

  const answers = [
    await get(app, '/', claims),
    await get(app, '/wiki/%20a', claims),
    await get(app, '/edit/text/a', { ...BROWSER, ...claims }),
    await get(app, '/changes.atom', claims),
    await post(app, '/edit/sign-in', { name: 'nobody', password: 'x' }, claims),
    await get(app, '/edit/new?name=b', { ...await cookieOf(app, 'editor'), ...claims })
  ]
  for (const { body, headers } of answers) assert.doesNotMatch(body + JSON.stringify(headers), /evil\.example|Secure/)
})

/** @param {number} count  of pages */
async function zipOf (count) {
  const zip = new yazl.ZipFile()
  for (let index = 0; index < count; index++) {
    zip.addBuffer(Buffer.from(`text ${index}`), `${String(index).padStart(3, '0')}.md`)
  }
  zip.end()
  return Buffer.concat(await /** @type {import('node:stream').Readable} */ (zip.outputStream).toArray())
}

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {Buffer} payload
 * @param {{headers?: Record<string, string>, remoteAddress?: string, query?: string}} [options]
 * @returns {Promise<any[]>} lines, the last one with totals
 */
async function importInto (app, payload, { headers, remoteAddress = '192.0.2.1', query = '' } = {}) {
  const answer = await app.inject({
    method: 'POST',
    url: `/api/v1/import${query}`,
    remoteAddress,
    headers: { 'content-type': 'application/zip', ...headers },
    payload
  })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.body.trim().split('\n').map((line) => JSON.parse(line))
}

test('an import stops at the limit of written pages, says when to retry, and then continues', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const app = await wiki.build(t, { WRITES_PER_MINUTE: '3' })
  const zip = await zipOf(70)
  const first = await importInto(app, zip)
  const { reason, retry_after_s: retryAfterS, ...totals } = first[first.length - 1]
  assert.deepEqual(totals, { done: false, created: 30, replaced: 0, unchanged: 0, kept: 0, refused: 0, left: 40 })
  assert.equal(first.length, 31)
  assert.ok(retryAfterS > 0 && retryAfterS <= 600, String(retryAfterS))
  assert.match(
    reason,
    new RegExp('^An import writes at most 30 pages at once\\. Send the same file again in ' +
      `${readableDuration(retryAfterS)}:`)
  )

  const early = await importInto(app, zip)
  assert.deepEqual(
    [early[early.length - 1].unchanged, early[early.length - 1].created, early[early.length - 1].left],
    [30, 0, 40]
  )
  assert.equal(await write(app, '192.0.2.1'), 201, 'a single page can still be written')
  const other = await importInto(app, zip, { remoteAddress: '192.0.2.2', query: '?on_conflict=keep' })
  assert.equal(other[other.length - 1].created, 30, 'another client has its own limit')

  t.mock.timers.setTime(Date.now() + 1000 * retryAfterS)
  const last = await importInto(app, zip)
  assert.deepEqual(last[last.length - 1], { done: true, created: 10, replaced: 0, unchanged: 60, kept: 0, refused: 0 })
})

test('the default limit allows an import of 200 files, and imports by administrators have no limit', async (t) => {
  const open = await wiki.build(t, { WRITES_PER_MINUTE: '60' })
  const moved = await importInto(open, await zipOf(200))
  assert.deepEqual([moved[200].done, moved[200].created], [true, 200])
  const named = await wiki.build(t, { ...peopleOnly(t), WRITES_PER_MINUTE: '2' })
  const zip = await zipOf(25)
  const editors = await importInto(named, zip, { headers: bearer('editor') })
  assert.deepEqual(
    [editors[editors.length - 1].done, editors[editors.length - 1].created, editors[editors.length - 1].left],
    [false, 20, 5]
  )
  const admins = await importInto(named, zip, { headers: bearer('admin') })
  assert.deepEqual([admins[25].done, admins[25].created, admins[25].unchanged], [true, 5, 20])
})

test('a network is the /24 of an IPv4 address, or the /48 of an IPv6 one, behind trusted proxies alone', () => {
  const networkOf = createNetworkKey('10.0.0.1')
  const of = (/** @type {string | undefined} */ remoteAddress, forwarded = '') => networkOf(/** @type {any} */ (
    { raw: { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } } }))
  assert.equal(of('203.0.113.7'), '203.0.113')
  assert.equal(of('203.0.113.7', '198.51.100.1'), '203.0.113', 'a header of a client')
  assert.equal(of('10.0.0.1', '198.51.100.1'), '198.51.100')
  assert.equal(of('::ffff:203.0.113.7'), '203.0.113')
  assert.equal(of('2001:db8:1:2:3::4'), of('2001:db8:1:ffff::'))
  assert.notEqual(of('2001:db8:1::'), of('2001:db8:2::'))
  assert.equal(of(undefined), '', 'the connection is closed')
})
