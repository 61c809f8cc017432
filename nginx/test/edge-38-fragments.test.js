import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { passing, startEdge, WAIT_MAX_MS } from './edge-helper.js'
import { answerRange, textOf } from './ranged-origin.js'

const STANDARD = { profile: /** @type {const} */ ('rfc9111'), maxSizeBytes: 8_000_000 }
const SMALL = textOf(1000)
const LARGE = textOf(1_000_000)

/** @param {import('./edge-helper.js').Answer} answer */
const essence = ({ status, headers, body, cache }) => [status, headers['content-range'], body, cache]

/** @param {string} body @param {number} first @param {number} last @param {string} cache */
const part = (body, first, last, cache) =>
  [206, `bytes ${first}-${last}/${body.length}`, body.slice(first, last + 1), cache]

describe('rfc9111', () => {
  /** @type {Awaited<ReturnType<typeof startEdge>>} */
  let edge
  /** @type {import('./edge-helper.js').Script} */
  let script
  let url = '/0'
  before(async () => {
    edge = await startEdge(null, (request, response, count) => script(request, response, count), STANDARD)
  })
  after(() => edge.stop())
  beforeEach(() => {
    url = `/${Number(url.slice(1)) + 1}`
    script = (request, response) => answerRange(request, response, { body: SMALL, etag: '"one"' })
  })

  const get = (/** @type {Record<string, string>} */ headers = {}) => edge.get(url, headers)
  const range = (/** @type {string} */ text, headers = {}) => edge.get(url, { range: `bytes=${text}`, ...headers })
  /** What the origin was asked for, since the start or a point in time. @param {number} [from] */
  const asked = (from = 0) => edge.arrived.filter((request) => request.url === url).slice(from)
    .map(({ headers }) => [headers.range, headers['if-range']])
  const store = async (/** @type {string[]} */ ...ranges) => {
    for (const text of ranges) assert.equal((await range(text)).cache, 'MISS', text)
  }

  test('9111 §3.3, §4: a range within one stored part, or within several that overlap, is a HIT', async () => {
    await store('100-199', '150-299', '300-399')
    for (const [first, last] of [[100, 199], [120, 130], [100, 399], [199, 199], [250, 300]]) {
      const answer = await range(`${first}-${last}`)
      assert.deepEqual(essence(answer), part(SMALL, first, last, 'HIT'))
      assert.equal(answer.headers['content-length'], String(last - first + 1))
      assert.match(String(answer.headers['cache-status']), /^stevec-edge;hit;ttl=\d+$/)
      assert.ok(Number(answer.age) <= 60)
    }
    assert.equal(asked().length, 3)
  })

  test('9110 §14.1.2, §15.5.17: the complete length answers suffix ranges and a 416', async () => {
    await store('900-999')
    assert.deepEqual(essence(await range('-50')), part(SMALL, 950, 999, 'HIT'))
    assert.deepEqual(essence(await range('950-')), part(SMALL, 950, 999, 'HIT'))
    assert.deepEqual(essence(await range('990-5000')), part(SMALL, 990, 999, 'HIT'))
    assert.deepEqual(essence(await range('1000-')), [416, 'bytes */1000', '', 'HIT'])
    assert.equal(asked().length, 1)
  })

  test('9110 §13.1.5: If-Range with the same strong tag is a HIT, with any other the origin answers', async () => {
    await store('0-99')
    assert.deepEqual(essence(await range('0-9', { 'if-range': '"one"' })), part(SMALL, 0, 9, 'HIT'))
    for (const tag of ['"two"', 'W/"one"']) {
      assert.deepEqual(essence(await range('0-9', { 'if-range': tag })), [200, undefined, SMALL, 'MISS'])
      assert.equal((await get()).cache, 'HIT', 'a 200 in place of a part is stored')
      await edge.purge({ files: [`http://${edge.host}${url}`] })
      await store('0-99')
    }
  })

  for (const [what, parts, gap] of /** @type {[string, string[], string][]} */ ([
    ['a hole', ['0-399', '600-999'], '400-599'], ['the beginning', ['300-999'], '0-299'], ['the end', ['0-0'], '1-999']
  ])) {
    test(`9111 §3.4: for the whole without ${what}, only that is asked for, with If-Range`, async () => {
      await store(...parts)
      const whole = await get()
      assert.deepEqual(essence(whole), [200, undefined, SMALL, 'MISS'])
      assert.match(String(whole.headers['cache-status']), /^stevec-edge;fwd=partial;fwd-status=206;ttl=\d+;stored$/)
      assert.deepEqual(asked(parts.length), [[`bytes=${gap}`, '"one"']])
      const again = await get()
      assert.deepEqual(essence(again), [200, undefined, SMALL, 'HIT'])
      assert.equal(again.headers['content-range'], undefined)
      assert.equal(asked().length, parts.length + 1)
    })
  }

  test('9111 §3.4: large parts become one file; the whole stays when they are gone', async () => {
    script = (request, response) => answerRange(request, response, { body: LARGE, etag: '"one"' })
    await store('0-399999', '700000-999999')
    assert.deepEqual(essence(await range('100000-399999')), part(LARGE, 100_000, 399_999, 'HIT'))
    assert.deepEqual(essence(await range('300000-750000')), part(LARGE, 300_000, 750_000, 'MISS'))
    assert.deepEqual(asked(2), [['bytes=400000-699999', '"one"']])
    assert.ok((await get()).body === LARGE)
    const isWhole = async () => (await edge.get(url, {}, 'HEAD')).cache === 'HIT'
    assert.ok(await waitUntil(isWhole, WAIT_MAX_MS), 'an ordinary response')
    assert.equal(asked().filter(([said]) => said !== undefined).length, 3)
  })

  test('9111 §3.4: with two holes, the whole is fetched; a range without any stored byte is passed on', async () => {
    await store('100-199', '300-399')
    assert.deepEqual(essence(await range('500-599')), part(SMALL, 500, 599, 'MISS'))
    assert.deepEqual(essence(await get()), [200, undefined, SMALL, 'MISS'])
    assert.deepEqual(asked(2), [['bytes=500-599', undefined], [undefined, undefined]])
  })

  test('9111 §3.4, 9110 §15.3.7.3: a later part updates the fields, an earlier one does not', async () => {
    const answerAs = (/** @type {string} */ said) => {
      script = (request, response) => answerRange(request, response,
        { body: SMALL, etag: '"one"', headers: { 'x-said': said, [`x-${said}`]: 'yes' } })
    }
    answerAs('first')
    await store('0-99')
    answerAs('second')
    await store('100-199')
    const { headers } = await range('50-150')
    assert.deepEqual([headers['x-said'], headers['x-first'], headers['x-second']], ['second', 'yes', 'yes'])
  })

  test('9111 §3.4: of two parts, the one that was asked for last has the fields, whatever arrives first', async () => {
    let release = () => {}
    const answerAs = (/** @type {string} */ said) => (/** @type {any} */ request, /** @type {any} */ response) =>
      answerRange(request, response, { body: SMALL, etag: '"one"', headers: { 'x-said': said } })
    script = (request, response, count) => {
      if (count === 1) release = () => answerAs('first')(request, response)
      else answerAs('second')(request, response)
    }
    const first = range('0-99')
    await waitUntil(() => edge.reached(url) === 1, WAIT_MAX_MS)
    await passing(10)
    await store('100-199')
    release()
    assert.equal((await first).headers['x-said'], 'first')
    const both = await range('0-199')
    assert.deepEqual([both.cache, both.headers['x-said']], ['HIT', 'second'])
  })

  test('9110 §8.8.1, 9111 §3.4: another version replaces the parts, and is never mixed with them', async () => {
    await store('0-399')
    const other = textOf(1000, 1)
    script = (request, response) => answerRange(request, response, { body: other, etag: '"two"' })
    assert.deepEqual(essence(await range('300-499')), part(other, 300, 499, 'MISS'), 'of the 200 for the gap')
    assert.deepEqual(asked(1), [['bytes=400-499', '"one"']])
    assert.deepEqual(essence(await range('0-9')), part(other, 0, 9, 'HIT'))
  })

  test('9111 §3.4: a part of another version, or of another length, replaces the parts', async () => {
    await store('0-99')
    const versions = [[textOf(1000, 1), '"two"'], [textOf(2000), '"two"'], [SMALL, '"1"']]
    for (const [index, [body, etag]] of versions.entries()) {
      script = (request, response) => answerRange(request, response, { body, etag })
      await store(`${index + 5}00-${index + 5}99`, '0-99')
      assert.deepEqual(essence(await range('0-99')), part(body, 0, 99, 'HIT'))
    }
  })

  test('9111 §4.1: the fields that Vary names select the parts', async () => {
    script = (request, response) => answerRange(request, response,
      { body: textOf(1000, Number(request.headers['x-a'])), etag: '"one"', headers: { vary: 'x-a' } })
    for (const cache of ['MISS', 'HIT']) {
      for (const a of [1, 2]) {
        const answer = await range('0-99', { 'x-a': String(a) })
        assert.deepEqual(essence(answer), part(textOf(1000, a), 0, 99, cache))
      }
    }
    assert.equal((await get({ 'x-a': '2' })).body, textOf(1000, 2))
  })

  test('9111 §3.3: a part is never the whole: not for a GET, a HEAD, nor with only-if-cached', async () => {
    await store('0-998')
    assert.equal((await get({ 'cache-control': 'only-if-cached' })).status, 504)
    assert.equal((await range('0-999', { 'cache-control': 'only-if-cached' })).status, 504)
    assert.equal((await range('0-9', { 'cache-control': 'only-if-cached' })).cache, 'HIT')
    const head = await edge.get(url, {}, 'HEAD')
    assert.deepEqual([head.cache, head.headers['content-length']], ['MISS', '1000'])
    assert.equal((await range('0-1,5-6')).status, 200)
  })

  test('9111 §4.3.2: a condition that holds is for the origin, another one does not hinder a HIT', async () => {
    await store('0-99')
    assert.equal((await range('0-9', { 'if-none-match': '"two"' })).cache, 'HIT')
    await range('0-9', { 'if-none-match': '"one"' })
    assert.equal(edge.arrived.at(-1)?.headers['if-none-match'], '"one"')
  })

  test('9111 §5.2.1: no-cache is forwarded; no-store in a request keeps its part out', async () => {
    await range('0-99', { 'cache-control': 'no-store' })
    await store('0-99')
    assert.equal((await get({ 'cache-control': 'no-store' })).body, SMALL)
    assert.deepEqual(asked().at(-1), [undefined, undefined])
    await store('100-199')
    assert.equal((await range('0-99', { 'cache-control': 'no-cache' })).cache, 'MISS')
    assert.equal(asked().length, 5)
  })

  test('9111 §4.2: a stale part is asked for again, and the answer makes all of that version fresh', async () => {
    script = (request, response, count) => answerRange(request, response,
      { body: SMALL, etag: '"one"', headers: { 'cache-control': `max-age=${count === 1 ? 1 : 60}` } })
    await store('0-99')
    await passing(1_050)
    await store('100-199')
    assert.deepEqual(essence(await range('0-199')), part(SMALL, 0, 199, 'HIT'))
  })

  test('9111 §3.3: a 200 that breaks off leaves a part, and the rest is asked for', async () => {
    script = (request, response, count) => {
      if (count > 1) return answerRange(request, response, { body: LARGE, etag: '"one"' })
      response.writeHead(200, { 'cache-control': 'max-age=60', etag: '"one"', 'content-length': LARGE.length })
      response.write(LARGE.slice(0, 400_000), () => response.destroy())
    }
    await assert.rejects(get())
    const isThere = async () => (await range('0-9', { 'cache-control': 'only-if-cached' })).cache === 'HIT'
    assert.ok(await waitUntil(isThere, WAIT_MAX_MS))
    assert.deepEqual(essence(await range('50000-99999')), part(LARGE, 50_000, 99_999, 'HIT'))
    assert.ok((await get()).body === LARGE)
    assert.match(String(asked(1)[0][0]), /^bytes=[1-9]\d+-999999$/)
    assert.equal(asked().length, 2)
  })

  test('9111 §4.4, §4.3.5: an unsafe method, and a HEAD of another version, remove the parts', async () => {
    await store('0-99')
    await edge.get(url, {}, 'POST')
    await store('0-99')
    script = (_request, response) => response.writeHead(200, { etag: '"two"', 'content-length': 1000 }).end()
    await edge.get(url, {}, 'HEAD')
    script = (request, response) => answerRange(request, response, { body: SMALL, etag: '"one"' })
    await store('0-99')
  })

  for (const [what, call] of /** @type {[string, () => object][]} */ ([
    ['its URL', () => ({ files: [`http://${edge.host}${url}`] })], ['a tag', () => ({ tags: ['a-tag'] })],
    ['its host', () => ({ hosts: [edge.host] })], ['a prefix', () => ({ prefixes: [`${edge.host}${url}`] })],
    ['everything', () => ({ purge_everything: true })]
  ])) {
    test(`a purge of ${what} reaches the parts: none is served, and none is completed`, async () => {
      script = (request, response) => answerRange(request, response,
        { body: SMALL, etag: '"one"', headers: { 'cache-tag': 'a-tag' } })
      for (const soft of [{}, { invalidate_cache: true }]) {
        await store('0-899')
        assert.equal((await edge.purge({ ...call(), ...soft })).status, 200)
        await store('0-9')
        await edge.purge({ ...call(), ...soft })
        assert.deepEqual(essence(await get()), [200, undefined, SMALL, 'MISS'])
        assert.deepEqual(asked().at(-1), [undefined, undefined])
        await edge.purge({ purge_everything: true })
      }
    })
  }
})
