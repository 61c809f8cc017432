import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { startEdge } from './edge-helper.js'

const ZSTD = ['/usr/bin/zstd', '/usr/local/bin/zstd'].find(existsSync)
const OPTIONS = { compression: true, profile: /** @type {const} */ ('rfc9111') }
/** libbrotli and its tool know dictionaries since 1.1; Debian 12 has 1.0.9. */
const BROTLI = ['/usr/bin/brotli', '/usr/local/bin/brotli'].find((file) =>
  existsSync(file) && /--dictionary/.test(spawnSync(file, ['--help']).output.join('')))
/** RFC 9842 §4: what comes before the dictionary's hash. */
const DCB = Buffer.from([0xff, 0x44, 0x43, 0x42])
/** RFC 9842 §5: a skippable frame of Zstandard, with the dictionary's hash. */
const DCZ = Buffer.from([0x5e, 0x2a, 0x4d, 0x18, 0x20, 0, 0, 0])

/** Text that does not repeat itself. */
const WORDS = Array.from({ length: 600 }, (_, index) => createHash('md5').update(String(index)).digest('hex')).join(' ')
/** @param {number} revision */
const textOf = (revision) => `<p>${revision}</p> ${WORDS}`

/** @param {string} text */
const hashOf = (text) => createHash('sha256').update(text).digest()
/** @param {string | Buffer} dictionary */
const available = (dictionary) => `:${hashOf(String(dictionary)).toString('base64')}:`

/**
 * @param {string} dictionary
 * @param {string} [accept]
 * @param {Record<string, string>} [more]
 */
const asking = (dictionary, accept = 'gzip, br, zstd, dcb, dcz', more = {}) =>
  ({ 'accept-encoding': accept, 'available-dictionary': available(dictionary), ...more })

/**
 * Starts an edge before pages whose text is that of `state.revision`.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} [headers]
 * @param {object} [options]
 */
async function startPages (t, headers = { 'Use-As-Dictionary': 'match="/wiki/*"' }, options = {}) {
  const state = { revision: 1 }
  const edge = await startEdge(t, (_request, response) => {
    response.writeHead(200, {
      'Content-Type': 'text/html', 'Cache-Control': 'max-age=600', ETag: `"${state.revision}"`, ...headers
    }).end(textOf(state.revision))
  }, { ...OPTIONS, ...options })
  /** Stores the next revision. @param {string} [url] @param {Record<string, string>} [more] */
  const save = async (url = '/wiki/a', more = {}) => {
    state.revision++
    await edge.purge({ files: [`http://${more.host ?? edge.host}${url}`] })
    await edge.get(url, more)
  }
  return { edge, state, save }
}

/**
 * @param {string} directory
 * @param {import('./edge-helper.js').Answer} answer
 * @param {string} dictionary
 */
function decodeDcz (directory, { body }, dictionary) {
  const file = path.join(directory, 'dictionary')
  writeFileSync(file, dictionary)
  return execFileSync(String(ZSTD), ['-dcq', '-D', file], { input: Buffer.from(body, 'latin1') }).toString()
}

test('the next revision of a page is sent by what differs from the last', { skip: !ZSTD }, async (t) => {
  const { edge, save } = await startPages(t)
  await edge.get('/wiki/a')
  await save()
  for (const round of [1, 2]) {
    const answer = await edge.get('/wiki/a', asking(textOf(1), 'dcz'))
    const { cache, headers: { 'content-encoding': coding, etag } } = answer
    assert.deepEqual([cache, coding, etag], ['HIT', 'dcz', 'W/"2"'], `${round}`)
    assert.equal(answer.headers.vary, 'Accept-Encoding, Available-Dictionary')
    const bytes = Buffer.from(answer.body, 'latin1')
    assert.deepEqual(bytes.subarray(0, 40), Buffer.concat([DCZ, hashOf(textOf(1))]))
    assert.ok(bytes.length < 200, `${bytes.length} bytes`)
    assert.equal(Number(answer.headers['content-length']), bytes.length)
    assert.equal(decodeDcz(edge.directory, answer, textOf(1)), textOf(2))
  }
  const head = await edge.get('/wiki/a', asking(textOf(1), 'dcz'), 'HEAD')
  assert.equal(head.headers['content-encoding'], 'dcz')
  const current = await edge.get('/wiki/a', asking(textOf(1), 'dcz', { 'if-none-match': 'W/"2"' }))
  assert.deepEqual([current.status, current.headers.vary], [304, 'Accept-Encoding, Available-Dictionary'])
})

test('libbrotli 1.1 sends what differs as dcb to a client that weighs it higher', { skip: !BROTLI }, async (t) => {
  const { edge, save } = await startPages(t)
  await edge.get('/wiki/a')
  await save()
  const file = path.join(edge.directory, 'dictionary')
  writeFileSync(file, textOf(1))
  for (const accept of ['dcb', 'gzip, br, dcb', 'dcz;q=0.5, dcb']) {
    const { body, headers } = await edge.get('/wiki/a', asking(textOf(1), accept))
    const bytes = Buffer.from(body, 'latin1')
    assert.deepEqual([headers['content-encoding'], headers['content-length']], ['dcb', String(bytes.length)], accept)
    assert.deepEqual(bytes.subarray(0, 36), Buffer.concat([DCB, hashOf(textOf(1))]))
    assert.ok(bytes.length < 200, `${bytes.length} bytes`)
    const decoded = execFileSync(String(BROTLI), ['-dc', '-D', file], { input: bytes.subarray(36) })
    assert.equal(decoded.toString(), textOf(2))
  }
  assert.equal((await edge.get('/wiki/a', asking(textOf(1), 'dcb, dcz'))).headers['content-encoding'], 'dcz')
})

test('a dictionary costs no request to the origin, whether the edge knows it or not', async (t) => {
  const { edge, save } = await startPages(t)
  await edge.get('/wiki/a')
  await save()
  const before = edge.reached('/wiki/a')
  for (const revision of [1, 2, 3, 4, 5]) {
    const { cache, headers } = await edge.get('/wiki/a', asking(textOf(revision), 'gzip, dcz'))
    assert.deepEqual([cache, headers['content-encoding']], ['HIT', revision < 3 ? 'dcz' : 'gzip'], `revision ${revision}`)
    assert.equal(headers.vary, 'Accept-Encoding, Available-Dictionary')
  }
  assert.equal((await edge.get('/wiki/a')).body, textOf(2))
  assert.equal(edge.reached('/wiki/a'), before)
})

test('a client that weighs another coding higher, or does not name dcz, gets no dictionary coding', async (t) => {
  const { edge, save } = await startPages(t)
  await edge.get('/wiki/a')
  await save()
  for (const [accept, coding] of [
    ['gzip', 'gzip'], ['gzip, dcz;q=0', 'gzip'], ['gzip, dcz;q=0.5', 'gzip'], ['*', 'br'], ['identity', undefined],
    ['identity, dcz;q=0.1', undefined], ['gzip;q=0.5, dcz', 'dcz']
  ]) {
    const { headers } = await edge.get('/wiki/a', asking(textOf(1), accept))
    assert.equal(headers['content-encoding'], coding, accept)
  }
  assert.equal((await edge.get('/wiki/a', { 'accept-encoding': 'dcz, gzip' })).headers['content-encoding'], 'gzip')
})

test('a malformed Available-Dictionary is as none', async (t) => {
  const { edge, save } = await startPages(t)
  await edge.get('/wiki/a')
  await save()
  const right = available(textOf(1))
  for (const wrong of [
    '', ':', '::', right.slice(1), right.slice(0, -1), `"${right}"`, `${right};a`, `${right}, ${right}`, ':AAAA:',
    `:${'A'.repeat(44)}:`, `:${'='.repeat(44)}:`, `:${'A'.repeat(5_000)}:`, right.replace(/.=:$/, '*=:'), '%00'
  ]) {
    const answer = await edge.get('/wiki/a', { 'accept-encoding': 'gzip, dcz', 'available-dictionary': wrong })
    assert.deepEqual([answer.status, answer.headers['content-encoding']], [200, 'gzip'], wrong.slice(0, 60))
  }
  assert.doesNotMatch(edge.errors(), /\[error\]/)
})

test('a purge of everything, or of a host, forgets the dictionaries as well', { skip: !ZSTD }, async (t) => {
  for (const body of [{ hosts: ['127.0.0.1'] }, { purge_everything: true }]) {
    const { edge, save } = await startPages(t)
    await edge.get('/wiki/a')
    await save()
    const codingOf = async (/** @type {number} */ known) =>
      (await edge.get('/wiki/a', asking(textOf(known), 'gzip, dcz'))).headers['content-encoding']
    assert.equal(await codingOf(1), 'dcz')
    await edge.purge(body)
    await edge.get('/wiki/a')
    assert.equal(await codingOf(1), 'gzip', JSON.stringify(body))
    await save()
    assert.equal(await codingOf(2), 'dcz', 'what was stored since is a dictionary')
  }
})

test('the dictionary of another host is not used', async (t) => {
  const { edge, state, save } = await startPages(t)
  await edge.get('/wiki/a', { host: 'other.test' })
  state.revision = 4
  await edge.get('/wiki/a', { host: 'own.test' })
  await save('/wiki/a', { host: 'own.test' })
  const other = await edge.get('/wiki/a', asking(textOf(1), 'dcz, gzip', { host: 'own.test' }))
  assert.equal(other.headers['content-encoding'], 'gzip')
  const own = await edge.get('/wiki/a', asking(textOf(4), 'dcz, gzip', { host: 'own.test' }))
  assert.equal(own.headers['content-encoding'], 'dcz')
})

test('only a response with Use-As-Dictionary is a dictionary, and is sent by one', async (t) => {
  const { edge, save } = await startPages(t, {})
  await edge.get('/wiki/a')
  await save()
  const { headers } = await edge.get('/wiki/a', asking(textOf(1), 'dcz, gzip'))
  assert.deepEqual([headers['content-encoding'], headers.vary], ['gzip', 'Accept-Encoding'])
})

test('without the option no dictionary is kept', async (t) => {
  const { edge, save } = await startPages(t, undefined, { compression: false })
  await edge.get('/wiki/a')
  await save()
  const { body, headers } = await edge.get('/wiki/a', asking(textOf(1)))
  assert.deepEqual([body, headers['content-encoding'], headers.vary], [textOf(2), undefined, undefined])
})

test('each dictionary has its own form of a response', { skip: !ZSTD }, async (t) => {
  const { edge, save } = await startPages(t)
  await edge.get('/wiki/a')
  await save()
  await save()
  for (const revision of [1, 2, 1, 2]) {
    const answer = await edge.get('/wiki/a', asking(textOf(revision), 'dcz'))
    assert.equal(decodeDcz(edge.directory, answer, textOf(revision)), textOf(3))
  }
})

test('beyond the limit of a second, a response is sent without a dictionary', { skip: !ZSTD }, async (t) => {
  const edits = [['compression.lua', 'BY_DICTIONARY_PER_S = 50', 'BY_DICTIONARY_PER_S = 0']]
  const { edge, save } = await startPages(t, undefined, { edits })
  await edge.get('/wiki/a')
  await save()
  for (let time = 0; time < 2; time++) {
    const { cache, headers } = await edge.get('/wiki/a', asking(textOf(1), 'gzip, dcz'))
    assert.deepEqual([cache, headers['content-encoding']], ['HIT', 'gzip'])
  }
})

test('after a restart, a stored response is a dictionary again once it was asked for', async (t) => {
  const { edge, save } = await startPages(t)
  await edge.get('/wiki/a')
  await edge.restart()
  await edge.get('/wiki/a')
  await save()
  assert.equal((await edge.get('/wiki/a', asking(textOf(1), 'dcz'))).headers['content-encoding'], 'dcz')
})
