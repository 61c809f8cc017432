// Both real edges of nginx/ in front of a wiki whose readers sign in: neither keeps what a member reads.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { freePorts, releasePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { prepareRole } from '@stevec/nginx'
import { BROWSER, save, useWiki } from './helper.js'
import { png } from './images.js'
import { bearer, cookieOf, peopleOnly } from './people.js'
import { upload } from './spaces.js'

/** @typedef {import('node:test').TestContext} TestContext */

const WAIT_MAX_MS = 60_000
const ROUNDS = 10
const TOKEN = 'a-token-for-this-test'
const wiki = useWiki()

/**
 * @param {TestContext} t @param {(ports: number[]) => Parameters<typeof prepareRole>[0]} roleOf  the first is its door
 */
async function startNginx (t, roleOf) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-private-nginx-'))
  const ports = await freePorts(2)
  const binary = requireTool('nginx').path
  const { command, args } = await prepareRole(
    roleOf(ports), { directory, binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' })
  const nginx = await startProcess({ name: 'nginx', command, args, logFile: path.join(directory, 'nginx.log') })
  t.after(async () => {
    await stopProcess(nginx)
    await releasePorts(ports)
    rmSync(directory, { recursive: true })
  })
  const root = `http://127.0.0.1:${ports[0]}`
  assert.ok(await waitUntil(() =>
    request(`${root}/readyz`).then(({ status }) => status === 200, () => false), WAIT_MAX_MS))
  return { root, port: ports[0], directory }
}

/** @param {string} directory @param {Buffer[]} marks @returns {string[]} files that hold one of them */
const filesWith = (directory, marks) => readdirSync(directory, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => path.join(parentPath, name))
  .filter((file) => marks.some((mark) => readFileSync(file).includes(mark)))

/** @type {Record<string, (originPort: number) => (ports: number[]) => Parameters<typeof prepareRole>[0]>} */
const EDGES = {
  edge: (port) => ([door, controlPort]) => ({
    role: 'edge',
    port: door,
    origin: { addresses: ['127.0.0.1'], port, host: '127.0.0.1', tls: false },
    controlPort,
    controlToken: TOKEN,
    warm: true,
    workers: 2
  }),
  // As a stack starts it for CACHE_POLICY=bounded: there is no log that it could follow.
  'edge that follows the purge log': (port) => (ports) =>
    Object.assign(EDGES.edge(port)(ports), { follow: '/purge-log' }),
  local: (port) => ([door, controlPort]) => (
    { role: 'local', port: door, sourcePort: port, sourceHost: '127.0.0.1', controlPort, controlToken: TOKEN })
}

for (const [name, roleOf] of Object.entries(EDGES)) {
  test(`${name}: what a member reads through it no stranger gets, and it is in no file of it`, async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'stevec-pictures-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const app = await wiki.build(t, {
      ...peopleOnly(t),
      READ_ACCESS: 'members',
      CACHE_POLICY: 'ttl',
      PICTURE_STORE: 'disk',
      PICTURE_FOLDER: folder,
      PICTURE_SENDER: 'nginx'
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port: wikiPort } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
    await save(app, 'a', 'zanimivost', bearer('editor'))
    const picture = png(7, 5)
    const uploaded = await app.inject({
      method: 'POST',
      url: '/api/v1/files',
      headers: { ...bearer('editor'), 'content-type': 'image/png' },
      payload: picture
    })
    const attachment = Buffer.from('%PDF- of the members alone')
    const attached = await app.inject({
      method: 'POST',
      url: '/api/v1/files?name=a%20b.pdf',
      headers: { ...bearer('editor'), 'content-type': 'application/octet-stream' },
      payload: attachment
    })
    assert.match(attached.json().url, /^\/files\/[0-9a-f]{32}\/a%20b\.pdf$/)
    const origin = await startNginx(t, ([port]) => ({ role: 'origin', port, wikiPort, pictureFolder: folder }))
    const edge = await startNginx(t, roleOf(origin.port))
    const cookie = await cookieOf(app, 'reader')
    const ask = async (/** @type {string} */ url, /** @type {Record<string, string>} */ headers) => {
      const answer = await fetch(edge.root + url, { headers, redirect: 'manual' })
      return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
    }

    const statusOf = (/** @type {{headers: Headers}} */ { headers }) =>
      headers.get('cf-cache-status') ?? headers.get('x-cache-status')
    await ask('/favicon.ico', {})
    assert.equal(statusOf(await ask('/favicon.ico', {})), 'HIT', 'what is for strangers is still cached')

    const text = Buffer.from('zanimivost')
    const marks = [text, picture, attachment]
    const marked = [['/wiki/a', text], ['/revision/a/1', text], ['/raw/a', text], [uploaded.json().url, picture],
      [attached.json().url, attachment]]
    for (const [url, mark] of marked) {
      for (const member of [cookie, bearer('reader')]) {
        for (let count = 0; count < 2; count++) {
          const read = await ask(url, { ...BROWSER, ...member })
          assert.equal(read.status, 200, url)
          assert.ok(read.bytes.includes(mark), url)
          assert.equal(read.headers.get('cache-control'), 'private, no-store')
          assert.equal(read.headers.get('cross-origin-resource-policy'), 'same-origin', url)
          assert.notEqual(statusOf(read), 'HIT')
        }
      }
      const etag = (await ask(url, cookie)).headers.get('etag')
      for (const [headers, status] of /** @type {[Record<string, string>, number][]} */ ([
        [BROWSER, 303], [{}, 401], [{ cookie: 'session-of-reader=x' }, 401], [{ range: 'bytes=0-20' }, 401],
        ...etag === null ? [] : [[{ 'if-none-match': etag }, 401]]
      ])) {
        const stranger = await ask(url, headers)
        assert.equal(stranger.status, status, `${url} ${JSON.stringify(headers)}`)
        assert.ok(!marks.some((mark) => stranger.bytes.includes(mark)), url)
      }
      // At the same time, too: an edge may let requests for one address share one fetch.
      for (let round = 0; round < ROUNDS; round++) {
        const [member, stranger, other] = await Promise.all([ask(url, cookie), ask(url, {}), ask(url, cookie)])
        assert.deepEqual([member.status, stranger.status, other.status], [200, 401, 200], url)
      }
    }
    for (const { directory } of [edge, origin]) assert.deepEqual(filesWith(directory, marks), [])
  })
}

for (const name of /** @type {const} */ (['edge', 'edge that follows the purge log', 'local'])) {
  test(`${name}: a page of a private space is for its members alone, in either order of readers`, async (t) => {
    const app = await wiki.build(t, { ...peopleOnly(t), CACHE_POLICY: 'ttl' })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port: wikiPort } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
    const send = (/** @type {string} */ url, /** @type {object} */ payload, method = 'POST') => app.inject({
      method: /** @type {'POST'} */ (method), url, payload, headers: { accept: 'application/json', ...bearer('admin') }
    })
    const origin = await startNginx(t, ([port]) => ({ role: 'origin', port, wikiPort }))
    const edge = await startNginx(t, EDGES[name](origin.port))
    const [member, other] = await Promise.all(['reader', 'editor'].map((each) => cookieOf(app, each)))
    const ask = async (/** @type {string} */ url, /** @type {Record<string, string>} */ headers) => {
      const answer = await fetch(edge.root + url, { headers: { ...BROWSER, ...headers }, redirect: 'manual' })
      return { status: answer.status, text: await answer.text(), cacheControl: answer.headers.get('cache-control') }
    }
    assert.equal((await ask('/wiki/Team/a', {})).status, 404)
    for (const [url, payload] of /** @type {[string, object][]} */ ([['/edit/spaces', { name: 'Team' }],
      ['/edit/groups', { name: 'g' }], ['/edit/groups/add', { name: 'g', person: 'reader' }],
      ['/edit/spaces/grant', { name: 'Team', group: 'g', role: 'reader' }]])) {
      assert.ok((await send(url, payload)).statusCode < 300, url)
    }
    for (const each of ['a', 'b']) {
      const saved = await send(`/api/v1/pages/Team%2F${each}`, { content: 'zanimivost' }, 'PUT')
      assert.equal(saved.statusCode, 201, saved.body)
    }
    /** @type {Record<string, string>} */
    const files = {}
    for (const each of ['a', 'b']) {
      const { statusCode, body } = await upload(app, 'Team', `zanimivost ${each}`, { by: 'admin', name: `${each}.txt` })
      assert.equal(statusCode, 201, body)
      files[each] = JSON.parse(body).url
    }
    const urls = ['/edit/in/wiki/Team/', '/edit/in/raw/Team/', '/edit/in/history/Team/', '/wiki/Team/', '/raw/Team/',
      '/history/Team/', '/api/v1/pages/Team%2F']
    for (const [page, readers] of /** @type {const} */ ([['a', [member, {}, other, member]],
      ['b', [{}, member, other, {}]]])) {
      for (const url of [...urls.map((below) => below + page), files[page]]) {
        for (const reader of [...readers, ...readers]) {
          const said = `${url} ${JSON.stringify(reader)}`
          const { status, text, cacheControl } = await ask(url, reader)
          const ofOthers = reader === other ? 403 : 303
          const ofReader = reader === member ? 200 : ofOthers
          const expected = url.startsWith('/edit/in/') ? ofReader : url.startsWith('/api/') ? 401 : 303
          assert.equal(status, expected, said)
          if (status !== 200) assert.ok(!text.includes('zanimivost'), said)
          assert.match(String(cacheControl), /no-store/, said)
        }
      }
      const ways = /** @type {[object, number][]} */ ([[bearer('reader'), 200], [{}, 401], [bearer('editor'), 404]])
      for (const [headers, status] of page === 'a' ? ways : ways.reverse()) {
        const list = await ask(`/api/v1/spaces/Team/pages?q=${page}`, { ...headers })
        assert.deepEqual([list.status, list.cacheControl], [status, 'private, no-store'])
        assert.equal(list.text.includes(`Team/${page}`), status === 200)
      }
      for (const [token, status] of /** @type {const} */ ([['reader', 200], ['editor', 403]])) {
        const read = await ask(`/api/v1/pages/Team%2F${page}`, bearer(token))
        assert.deepEqual([read.status, read.cacheControl], [status, 'private, no-store'])
        assert.equal((await ask(`/api/v1/pages/Team%2F${page}`, {})).status, 401)
      }
    }
    for (const { directory } of [edge, origin]) assert.deepEqual(filesWith(directory, [Buffer.from('zanimivost')]), [])
  })
}
