// A real nginx in front of the wiki sends the pictures that are on disk.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import {
  mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { freePorts, releasePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { prepareRole } from '@stevec/nginx'
import { get, useWiki } from './helper.js'
import { largePng, png } from './images.js'
import { openPictures, startCommand, uploaded } from './picture-stories.js'

const WAIT_MAX_MS = 60_000
const wiki = useWiki()

/**
 * @param {import('node:test').TestContext} t
 * @param {{wikiPort: number | number[], folder?: string}} options
 */
async function startNginx (t, { wikiPort, folder }) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-picture-nginx-'))
  const [port] = await freePorts(1)
  const binary = requireTool('nginx').path
  const { command, args } = await prepareRole(
    { role: 'origin', port, wikiPort, pictureFolder: folder },
    { directory, binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' }
  )
  const nginx = await startProcess({ name: 'nginx', command, args, logFile: path.join(directory, 'nginx.log') })
  t.after(async () => {
    await stopProcess(nginx)
    await releasePorts([port])
    rmSync(directory, { recursive: true })
  })
  const url = `http://127.0.0.1:${port}`
  const isReady = () => request(`${url}/readyz`).then(({ status }) => status === 200, () => false)
  assert.ok(await waitUntil(isReady, WAIT_MAX_MS))
  return { url, errors: () => readFileSync(path.join(directory, 'error.log'), 'utf8') }
}

/** @param {import('node:test').TestContext} t @param {Record<string, string>} [more] */
async function startWiki (t, more = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-pictures-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const settings = {
    MONGODB_URI: wiki.freshUri(), PICTURE_STORE: 'disk', PICTURE_FOLDER: folder, PICTURE_SENDER: 'nginx', ...more
  }
  const app = await wiki.build(t, settings)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
  return { app, settings, folder, port }
}

/** @param {string} folder @param {string} url */
function fileOf (folder, url) {
  const prefix = path.join(folder, url.slice(7, 9))
  const name = readdirSync(prefix).find((each) => each.startsWith(url.slice(7, 39)))
  return path.join(prefix, String(name))
}

/** @param {string} url @param {Record<string, string>} [headers] */
async function fetched (url, headers = {}) {
  const response = await fetch(url, { headers })
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) }
}

const KEPT = [
  'etag', 'last-modified', 'cache-control', 'content-type', 'content-disposition', 'content-security-policy',
  'x-content-type-options', 'referrer-policy', 'content-length'
]

test('nginx sends the files of the folder with the wiki\'s headers, ranges and conditions', async (t) => {
  const { app, folder, port } = await startWiki(t)
  const bytes = largePng(300_000)
  const umask = process.umask(0o077)
  t.after(() => process.umask(umask))
  const url = await uploaded(app, bytes)
  const { url: door } = await startNginx(t, { wikiPort: port, folder })
  const { mode } = statSync(fileOf(folder, url))
  assert.equal(mode & 0o777, 0o644, 'nginx may be another user, whatever the umask of the wiki')
  const own = await fetched(`http://127.0.0.1:${port}${url}`)
  const got = await fetched(`${door}${url}`)
  assert.deepEqual([own.status, got.status], [200, 200])
  assert.ok(own.body.equals(bytes), 'the wiki itself answers a request that comes without nginx')
  assert.ok(got.body.equals(bytes))
  for (const name of KEPT) assert.equal(got.headers.get(name), own.headers.get(name), name)
  assert.equal(got.headers.get('accept-ranges'), 'bytes', 'which the wiki does not offer: nginx has sent it')
  for (const name of ['x-accel-redirect', 'x-picture-cache-control']) assert.equal(got.headers.get(name), null, name)

  const etag = String(got.headers.get('etag'))
  for (const headers of /** @type {Record<string, string>[]} */ ([{}, { 'if-range': etag }])) {
    const part = await fetched(`${door}${url}`, { range: 'bytes=100-299', ...headers })
    assert.equal(part.status, 206)
    assert.equal(part.headers.get('cache-control'), own.headers.get('cache-control'))
    assert.ok(part.body.equals(bytes.subarray(100, 300)))
  }
  const other = await fetched(`${door}${url}`, { range: 'bytes=100-299', 'if-range': '"another"' })
  assert.deepEqual([other.status, other.body.length], [200, bytes.length])
  // fetch would ask for a new copy.
  for (const [name, value, status] of /** @type {[string, string, number][]} */ ([
    ['if-none-match', etag, 304], ['if-none-match', '"another"', 200],
    ['if-modified-since', String(got.headers.get('last-modified')), 304],
    ['if-modified-since', new Date(0).toUTCString(), 200]
  ])) assert.equal((await request(`${door}${url}`, { headers: { [name]: value } })).status, status, `${name}: ${value}`)
  const head = await fetch(`${door}${url}`, { method: 'HEAD' })
  for (const name of KEPT) assert.equal(head.headers.get(name), own.headers.get(name), name)
})

test('what nginx does not find or may not send, the wiki answers, and no error is kept by a cache', async (t) => {
  const { app, folder, settings, port } = await startWiki(t)
  const [moved, lost, linked] = [await uploaded(app, png(1)), await uploaded(app, png(2)), await uploaded(app, png(3))]
  // Two wikis, as then nginx has other paths for a request; the second is the first again.
  const { url: door } = await startNginx(t, { wikiPort: [port, port], folder })
  const { storages, models } = await openPictures(t, settings)
  // A move between the wiki's look and nginx's: the file is there under another name, and the document says so later.
  const hidden = `${fileOf(folder, moved)}.hidden`
  renameSync(fileOf(folder, moved), hidden)
  const whileAway = await fetched(`${door}${moved}`)
  assert.deepEqual([whileAway.status, whileAway.headers.get('cache-control')], [500, 'no-store'])
  const file = await models.Files.findOne({ filename: moved.slice(7, 39) }).lean().exec()
  const id = new models.Files.base.Types.ObjectId()
  await storages.get('database').put(id, (async function * () { yield png(1) })(), () => '')
  await models.Files.updateOne({ _id: file?._id }, { 'metadata.place': { store: 'database', id } }).exec()
  assert.ok((await fetched(`${door}${moved}`)).body.equals(png(1)))

  rmSync(fileOf(folder, lost))
  const missing = await fetched(`${door}${lost}`)
  assert.deepEqual([missing.status, missing.headers.get('cache-control')], [500, 'no-store'])

  const target = fileOf(folder, linked)
  const secret = path.join(folder, 'secret')
  writeFileSync(secret, 'secret')
  rmSync(target)
  symlinkSync(secret, target)
  const refused = await fetched(`${door}${linked}`)
  assert.deepEqual([refused.status, refused.headers.get('cache-control')], [500, 'no-store'])
  assert.doesNotMatch(refused.body.toString(), /secret/)

  for (const address of ['/.pictures/', '/.pictures/secret', `/.pictures/${path.relative(folder, target)}`,
    '/.pictures/../secret', '/%2epictures/secret', '/.pictures/.stevec-pictures', '/.pictures../secret']) {
    const answer = await request(`${door}${address}`)
    assert.equal(answer.status, 404, address)
    assert.doesNotMatch(answer.body, /secret/)
  }
  assert.equal((await startCommand(['move', '--to', 'database'], settings).ended).code, 1)
})

test('nginx sends other files as downloads, with the wiki\'s headers and in ranges', async (t) => {
  const { app, folder, port } = await startWiki(t)
  const bytes = Buffer.from('<!doctype html><script>alert(1)</script>'.repeat(100))
  const answer = await app.inject({
    method: 'POST',
    url: '/api/v1/files?name=Poro%C4%8Dilo.html',
    headers: { 'content-type': 'application/octet-stream' },
    payload: bytes
  })
  assert.equal(answer.statusCode, 201, answer.body)
  const { url } = answer.json()
  const { url: door } = await startNginx(t, { wikiPort: port, folder })
  const [own, got] = [await fetched(`http://127.0.0.1:${port}${url}`), await fetched(`${door}${url}`)]
  assert.ok(got.body.equals(bytes))
  for (const name of KEPT) assert.equal(got.headers.get(name), own.headers.get(name), name)
  assert.match(String(got.headers.get('content-disposition')), /^attachment; .*''Poro%C4%8Dilo\.html$/)
  const part = await fetched(`${door}${url}`, { range: 'bytes=100-299' })
  assert.ok(part.status === 206 && part.body.equals(bytes.subarray(100, 300)))
  assert.match(String(part.headers.get('content-disposition')), /^attachment; /)
})

test('the header that asks the wiki to leave a picture to nginx is nginx\'s alone', async (t) => {
  /** @type {(string | undefined)[]} */
  const seen = []
  const scripted = createServer(({ headers }, response) => {
    seen.push(/** @type {string | undefined} */ (headers['x-picture-files']))
    response.end()
  })
  await new Promise((resolve) => scripted.listen(0, '127.0.0.1', () => resolve(undefined)))
  t.after(() => { scripted.closeAllConnections(); scripted.close() })
  const { port } = /** @type {import('node:net').AddressInfo} */ (scripted.address())
  const { url } = await startNginx(t, { wikiPort: port })
  seen.length = 0
  await request(`${url}/files/x`, { headers: { 'X-Picture-Files': 'of a client' } })
  assert.deepEqual(seen, [undefined])

  const byWiki = await startWiki(t, { PICTURE_SENDER: 'wiki' })
  const picture = await uploaded(byWiki.app, png())
  const answer = await get(byWiki.app, picture, { 'x-picture-files': 'of a client' })
  assert.ok(answer.rawPayload.equals(png()), 'without the setting the wiki sends the bytes, whatever the request says')
})

test('a picture in the database goes through nginx as ever, beside those on disk', async (t) => {
  const { app, folder, settings, port } = await startWiki(t)
  const onDisk = await uploaded(app, png(1))
  const before = await wiki.build(t, { ...settings, PICTURE_STORE: 'database' })
  const inDatabase = await uploaded(before, largePng(2_000_000))
  mkdirSync(path.join(folder, 'ab'), { recursive: true })
  const { url: door, errors } = await startNginx(t, { wikiPort: port, folder })
  assert.ok((await fetched(`${door}${onDisk}`)).body.equals(png(1)))
  assert.ok((await fetched(`${door}${inDatabase}`)).body.equals(largePng(2_000_000)))
  assert.doesNotMatch(errors(), /\[(error|crit|alert|emerg)\]/)
})
