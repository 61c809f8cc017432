import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEdge } from './edge-helper.js'

/**
 * An origin whose cacheable response contains the headers of the request.
 * @type {import('./edge-helper.js').Script}
 */
const echo = ({ headers }, response) => {
  const seen = ['origin', 'accept-encoding', 'authorization', ...KEYED].filter((name) => headers[name] !== undefined)
  response.setHeader('Cache-Control', 'max-age=60').setHeader('Vary', 'Accept-Encoding')
  response.end(seen.map((name) => `${name}: ${headers[name]}\n`).join(''))
}
const KEYED = [
  'x-forwarded-host', 'x-host', 'x-forwarded-scheme', 'x-forwarded-port', 'x-forwarded-prefix', 'x-forwarded-server',
  'x-original-url', 'x-rewrite-url', 'forwarded', 'x-http-method-override', 'x-http-method', 'x-method-override'
]
const PROFILES = /** @type {const} */ (['cloudflare', 'rfc9111'])

/**
 * @param {{raw: (bytes: string) => Promise<string>, host: string}} edge
 * @param {string} path
 * @param {string[]} lines  of the header
 */
async function ask (edge, path, lines) {
  const text = await edge.raw([
    `GET ${path} HTTP/1.1`,
    `Host: ${edge.host}`,
    'Connection: close',
    ...lines,
    '',
    ''
  ].join('\r\n'))
  const [head, body] = text.split('\r\n\r\n')
  return { status: Number(head.slice(9, 12)), cache: /^CF-Cache-Status: (\w+)/m.exec(head)?.[1], body }
}

for (const profile of PROFILES) {
  test(`a header that Connection lists is neither forwarded nor part of the key: ${profile}`, async (t) => {
    const edge = await startEdge(t, echo, { profile })
    for (const name of ['Origin', 'X-Forwarded-Host']) {
      const listed = await ask(edge, `/${name}`, [`Connection: ${name}`, `${name}: https://a.example`])
      assert.doesNotMatch(listed.body, new RegExp(`^${name}:`, 'im'), 'the header is not forwarded')
      assert.equal((await ask(edge, `/${name}`, [])).cache, 'HIT', 'requests without the header share it')
      const end = await ask(edge, `/${name}`, [`${name}: https://a.example`])
      if (name === 'Origin' && profile === 'rfc9111') continue
      assert.deepEqual([end.cache, end.body.includes(`${name.toLowerCase()}: https://a.example`)], ['MISS', true])
    }
  })

  test(`the lines of a header are joined, also when the first is empty: ${profile}`, async (t) => {
    const edge = await startEdge(t, echo, { profile })
    for (const name of [...KEYED, 'x-forwarded-proto']) {
      const hidden = await ask(edge, `/${name}`, [`${name}:`, `${name}: evil`])
      // The body says which of KEYED the origin got.
      if (KEYED.includes(name)) assert.match(hidden.body, /, evil/, `${name} is forwarded`)
      const without = await ask(edge, `/${name}`, [])
      assert.equal(without.cache, 'MISS', `${name} is in the key`)
      assert.doesNotMatch(without.body, /evil/)
      const doubled = await ask(edge, `/${name}`, [`${name}: one`, `${name}: two`])
      assert.equal(doubled.cache, 'MISS', name)
      assert.equal((await ask(edge, `/${name}`, [`${name}: one`])).cache, 'MISS', 'the first line alone is another key')
      assert.equal(
        (await ask(edge, `/${name}`, [`${name}: one, two`])).cache,
        'HIT',
        'one joined line is the same key as two lines, RFC 9110 §5.3'
      )
    }
  })

  test(`one header value cannot imitate two headers in the key: ${profile}`, async (t) => {
    const edge = await startEdge(t, echo, { profile })
    await ask(edge, '/', ['X-Forwarded-Host: a', 'X-Host: b'])
    for (const lines of [
      ['X-Forwarded-Host: a\x02x-host=b'],
      ['X-Forwarded-Host: ax-host=1:b'],
      ['X-Forwarded-Host: a\x02x-host=1:b'],
      ['X-Forwarded-Host: a, X-Host: b']
    ]) {
      assert.equal((await ask(edge, '/', lines)).cache, 'MISS', lines.join())
    }
    assert.equal((await ask(edge, '/', ['X-Host: b', 'X-Forwarded-Host: a'])).cache, 'HIT', 'the order does not matter')
  })
}

test('one header value cannot imitate two headers that Vary names', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=60').setHeader('Vary', 'X-One, X-Two').end('body')
  }, { profile: 'rfc9111' })
  await ask(edge, '/', ['X-One: a', 'X-Two: b'])
  for (const lines of [['X-One: a\x01+b', 'X-Two:'], ['X-One: a\x01+b'], ['X-One: a=2:+b']]) {
    assert.equal((await ask(edge, '/', lines)).cache, 'MISS', lines.join())
  }
})

test('cloudflare normalises Accept-Encoding, so that all clients that share a response can decode it', async (t) => {
  const edge = await startEdge(t, echo)
  const plain = [
    'dcb', 'deflate', '*', 'x-gzip', 'compress, dcz', 'gzip;q=0', 'gzip; q=0.000, br;q=0', 'brotli', 'identity', ''
  ]
  assert.equal((await ask(edge, '/', [])).body, 'accept-encoding: identity\n')
  for (const said of plain) {
    const { cache, body } = await ask(edge, '/', [`Accept-Encoding: ${said}`])
    assert.deepEqual([cache, body], ['HIT', 'accept-encoding: identity\n'], said)
  }
  const both = ['gzip, br, dcb', 'br;q=1.0, gzip;q=0.8, *;q=0.1', 'GZIP,BR', 'deflate, br , gzip;q=0.001']
  assert.equal(
    (await ask(edge, '/', ['Accept-Encoding: gzip', 'Accept-Encoding: br'])).body,
    'accept-encoding: br, gzip\n'
  )
  for (const said of both) {
    const { cache, body } = await ask(edge, '/', [`Accept-Encoding: ${said}`])
    assert.deepEqual([cache, body], ['HIT', 'accept-encoding: br, gzip\n'], said)
  }
})

test('an encoded response is served only to clients that can decode it, even without Vary', async (t) => {
  const edge = await startEdge(t, ({ headers }, response) => {
    const encoded = /gzip/.test(String(headers['accept-encoding']))
    if (encoded) response.setHeader('Content-Encoding', 'gzip')
    response.setHeader('Cache-Control', 'max-age=60').end(encoded ? 'as gzip' : 'plain')
  })
  const gzip = ['Accept-Encoding: gzip']
  assert.equal((await ask(edge, '/', gzip)).body, 'as gzip')
  assert.equal((await ask(edge, '/', [])).body, 'plain')
})

test('Authorization that Connection lists is not forwarded, so the response is shared', async (t) => {
  const edge = await startEdge(t, echo)
  const own = ['Connection: Authorization', 'Authorization: Basic YTpi']
  assert.doesNotMatch((await ask(edge, '/', own)).body, /authorization/)
  assert.equal((await ask(edge, '/', [])).cache, 'HIT')
})
