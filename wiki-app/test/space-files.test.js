// Pictures and files of private spaces: for those alone that may read the space.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import test from 'node:test'
import { ObjectId } from 'mongodb'
import { waitUntil } from '@stevec/harness/processes'
import { openOutside } from '../src/backup/pictures.js'
import { readBackup } from '../src/backup/read.js'
import { writeBackup } from '../src/backup/write.js'
import { sweep } from '../src/files/storage/sweep.js'
import { BROWSER, get, useWiki } from './helper.js'
import { largePng, png } from './images.js'
import { bearer, cookieOf, post } from './people.js'
import { openPictures, startCommand } from './picture-stories.js'
import { makeSpace, put, send, startWithPeople, upload } from './spaces.js'

const wiki = useWiki()
const HTML = '<!doctype html><script>alert(1)</script>'

/** @param {import('node:test').TestContext} t @param {Record<string, string>} [settings] */
const start = (t, settings) => startWithPeople(t, wiki, settings)

/** A folder of a test. @param {import('node:test').TestContext} t */
function folder (t) {
  const made = mkdtempSync(path.join(tmpdir(), 'stevec-space-files-'))
  t.after(() => rmSync(made, { recursive: true }))
  return made
}

test('a writer of a space uploads, a reader there sees it, and for all others it is not there', async (t) => {
  const { app, db } = await start(t)
  await makeSpace(app, 'Work/Team (1)')
  await makeSpace(app, 'Other')
  await send(app, '/edit/groups', { name: 'elsewhere' })
  await send(app, '/edit/groups/add', { name: 'elsewhere', person: 'editor' })
  await send(app, '/edit/spaces/grant', { name: 'Other', group: 'elsewhere', role: 'editor' })
  const page = 'Work/Team (1)/Plan'
  for (const [by, status] of [['teamreader', 403], ['editor', 403], ['teameditor', 201], ['teamadmin', 200]]) {
    const answer = await upload(app, page, png(2), { by: String(by), alt: 'a [plan]' })
    assert.equal(answer.statusCode, status, answer.body)
  }
  assert.equal((await upload(app, page, png(2), { headers: {} })).statusCode, 401)
  assert.equal((await upload(app, 'Home', png(2), { by: 'admin' })).statusCode, 404, 'in no space')
  assert.equal((await upload(app, page, png(2).subarray(0, 50))).statusCode, 415, 'checked as public ones are')
  const picture = (await upload(app, page, png(2))).json()
  assert.match(picture.url, /^\/edit\/in\/files\/Work\/Team%20%281%29\/[0-9a-f]{32}\.png$/)
  const attached = (await upload(app, page, HTML, { name: 'č.html' })).json()
  assert.match(attached.markdown,
    /^\[č\.html\]\(\/edit\/in\/files\/Work\/Team%20%281%29\/[0-9a-f]{32}\/%C4%8D\.html\)/)

  /** @type {[string, number, number][]} */
  const table = [['teamreader', 200, 403], ['teameditor', 200, 200], ['admin', 200, 200], ['editor', 403, 403],
    ['reader', 403, 403]]
  for (const [by, reads, writes] of table) {
    for (const headers of [bearer(by), { ...BROWSER, ...await cookieOf(app, by) }]) {
      const answers = await Promise.all([picture.url, attached.url, '/edit/in/files?space=Work/Team%20(1)']
        .map((url) => get(app, url, headers)))
      for (const { statusCode, headers: got } of answers) {
        assert.deepEqual([statusCode, got['cache-control'], got['x-content-type-options']],
          [reads, 'private, no-store', 'nosniff'], by)
      }
      const edit = picture.url.replace('/files/', '/picture/')
      assert.equal((await get(app, edit, headers)).statusCode, writes, by)
    }
  }
  const shown = await get(app, picture.url, bearer('teamreader'))
  assert.ok(shown.rawPayload.equals(png(2)))
  assert.deepEqual([shown.headers['content-type'], shown.headers['content-security-policy'],
    shown.headers['cross-origin-resource-policy'], shown.headers['content-disposition']],
  ['image/png', "default-src 'none'; sandbox", 'same-origin', 'inline'])
  const again = await get(app, picture.url, { ...bearer('teamreader'), 'if-none-match': String(shown.headers.etag) })
  assert.deepEqual([again.statusCode, again.headers['cache-control']], [304, 'private, no-store'])
  const head = await app.inject({ method: 'HEAD', url: picture.url, headers: bearer('teamreader') })
  assert.deepEqual([head.statusCode, head.body, head.headers['content-length']], [200, '', String(png(2).length)])
  const download = await get(app, attached.url, bearer('teamreader'))
  assert.equal(download.body, HTML)
  assert.deepEqual([download.headers['content-type'], String(download.headers['content-disposition'])],
    ['application/octet-stream', 'attachment; filename="c.html"; filename*=UTF-8\'\'%C4%8D.html'])

  // A stranger, and a member of another space: as what is not there.
  const missing = picture.url.replace(/[0-9a-f]{32}/, '0'.repeat(32))
  for (const headers of [{}, BROWSER, bearer('editor')]) {
    const [there, none] = await Promise.all([picture.url, missing].map((url) => get(app, url, headers)))
    const without = (/** @type {string} */ text) => text
      .replace(/[0-9a-f]{32}/g, '').replace(/"request_id":"[^"]*"/, '').replace(/<code>[^<]*<\/code>/g, '')
    assert.deepEqual([there.statusCode, without(String(there.headers.location)), without(there.body)],
      [none.statusCode, without(String(none.headers.location)), without(none.body)])
    assert.notEqual(there.statusCode, 200)
  }
  const path = '/edit/in/files/Work/Team%20%281%29'
  const spellings = [picture.url, attached.url, `${path.toLowerCase()}/${picture.url.slice(-36)}`,
    picture.url.replace('/Work/', '%2FWork%2F'), picture.url.replace('files', '%66iles'), `/${picture.url}`,
    picture.url.replace('/Work', '//Work'), picture.url.replace('/Work', '/Other/../Work'), `${picture.url}/`,
    picture.url.replace('Work', 'Talk:Work'), `${picture.url}?space=Other`, picture.url.toUpperCase(),
    `/edit/in/files?space=Other&space=${page}`, `/edit/in/files?space=${page}`]
  for (const url of spellings) {
    for (const headers of [{}, BROWSER, bearer('editor'), { ...BROWSER, ...await cookieOf(app, 'editor') }]) {
      for (const method of /** @type {const} */ (['GET', 'HEAD'])) {
        const probe = { 'if-none-match': String(shown.headers.etag), range: 'bytes=0-9', 'x-picture-files': 'yes' }
        const { statusCode, headers: got } = await app.inject({ method, url, headers: { ...headers, ...probe } })
        assert.ok([301, 303, 400, 401, 403, 404].includes(statusCode), `${method} ${url} ${statusCode}`)
        assert.deepEqual([got.etag, got['x-accel-redirect']], [undefined, undefined], url)
        if (statusCode !== 404) assert.match(String(got['cache-control']), /no-store/, `${url} ${statusCode}`)
      }
    }
  }
  const hash = picture.url.slice(-36)
  for (const url of [`/edit/in/files/Other/${hash}`, `/edit/in/files/Home/${hash}`, `/files/${hash}`,
    `/edit/in/picture/Other/${hash}`, `/edit/picture/${hash}`,
    `/edit/in/files/Other/${hash.slice(0, 32)}/x`]) {
    for (const by of ['admin', 'editor']) {
      assert.equal((await get(app, url, bearer(by))).statusCode, 404, `${url} ${by}`)
    }
  }
  assert.equal((await get(app, `${attached.url}x`, bearer('admin'))).statusCode, 404, 'no name of its uploads')
  for (const url of ['/files', '/api/v1/files']) {
    assert.doesNotMatch((await get(app, url)).body, new RegExp(hash.slice(0, 32)), url)
  }
  assert.equal(await db.collection('files.files').countDocuments(), 0)
  assert.equal(await db.collection('files.chunks').countDocuments(), 0)

  // The same content in another space is another file.
  assert.equal((await upload(app, 'Other', png(2), { by: 'editor' })).statusCode, 201)
  const files = await db.collection('space_files.files').find().toArray()
  assert.deepEqual(files.map(({ space }) => space).sort(), ['Other', 'Work/Team (1)', 'Work/Team (1)'])
  const other = await db.collection('spaces').findOne({ _id: /** @type {any} */ ('Other') })
  assert.equal(other?.uploads, 1, 'each conflicts with a removal at the same time, as it writes to the same document')
})

test('a private page shows pictures of its space, and a public page none', async (t) => {
  const { app } = await start(t)
  await makeSpace(app, 'Team')
  const { markdown, url } = (await upload(app, 'Team/Plan', png(2), { alt: 'plan' })).json()
  const file = (await upload(app, 'Team/Plan', 'a,b\n', { name: 'a.csv' })).json()
  const odd = ['Team/..', 'Team/%2e%2E', 'Team', 'Team?x='].map((space) =>
    `![no](/edit/in/files/${space}/${'0'.repeat(32)}${space === 'Team' ? '.svg' : '.png'})`)
  const content = [markdown, file.markdown, ...odd].join('\n\n')
  assert.equal((await put(app, 'Team/Plan', { content })).statusCode, 201)
  assert.equal((await put(app, 'Free', { content }, 'editor')).statusCode, 201)
  const cookie = await cookieOf(app, 'teameditor')
  const { body } = await get(app, '/edit/in/wiki/Team/Plan', { ...BROWSER, ...cookie })
  assert.deepEqual(body.match(/<img src="[^"]*" alt="[^"]*"/g), [`<img src="${url}" alt="plan"`])
  assert.match(body, new RegExp(`<a href="${file.url}">a\\.csv</a>`))
  const open = (await get(app, '/wiki/Free', BROWSER)).body
  assert.doesNotMatch(open, /<img/)
  assert.match(open, new RegExp(`<a href="${url}">plan</a>`))
  const preview = await send(app, '/edit/preview/Team/Plan', { content: markdown })
  assert.match(preview.json().html, /<img src="\/edit\/in\/files\/Team\//)
  const old = await get(app, '/edit/in/revision/Team/Plan/1', { ...BROWSER, ...cookie })
  assert.match(old.body, /<img src="\/edit\/in\/files\/Team\//)

  const editor = await get(app, '/edit/text/Team/Plan', { ...BROWSER, ...cookie })
  assert.match(editor.body, /data-upload="\/edit\/in\/upload\/Team\/Plan"/)
  assert.match(editor.body, /href="\/edit\/in\/files\?space=Team%2FPlan"/)
  const free = await get(app, '/edit/text/Free', { ...BROWSER, ...bearer('editor') })
  assert.doesNotMatch(free.body, /data-upload/)
})

test('a file is named and deleted in its space, which is not removed before', async (t) => {
  const { app, db } = await start(t)
  await makeSpace(app, 'Team')
  const cookie = await cookieOf(app, 'teameditor')
  const list = async () => (await get(app, '/edit/in/files?space=Team', { ...BROWSER, ...cookie })).body
  assert.match(await list(), /There are none yet/)
  const payload = new FormData()
  payload.append('file', new Blob([new Uint8Array(png(2))]), 'a.png')
  const form = await app.inject({
    method: 'POST',
    url: '/edit/in/upload/Team',
    payload,
    headers: { ...BROWSER, ...cookie, 'sec-fetch-site': 'same-origin' }
  })
  assert.deepEqual([form.statusCode, form.headers['cache-control']], [201, 'private, no-store'])
  const [, url] = /<code>!\[\]\(([^)]*)\)/.exec(form.body) ?? []
  assert.match(form.body, /href="\/edit\/in\/files\?space=Team">All pictures and files/)
  assert.match(await list(), /action="\/edit\/in\/upload\/Team"/)
  const edit = url.replace('/files/', '/picture/')
  assert.doesNotMatch((await get(app, edit, { ...BROWSER, ...cookie })).body, /Pages that show it/)
  const named = await post(app, edit, { alt: 'named' }, cookie)
  assert.deepEqual([named.statusCode, named.headers.location], [303, '/edit/in/files?space=Team'])
  assert.match(await list(), /<b dir="auto">named<\/b>/)

  const kept = await send(app, '/edit/spaces/remove', { name: 'Team' })
  assert.equal(kept.statusCode, 409)
  assert.match(kept.body, /files \(1\).*\/edit\/in\/files\?space=Team/)
  const remove = edit.replace('/picture/', '/delete-picture/')
  for (const [by, status] of /** @type {[string, number][]} */ ([['teamreader', 403], ['editor', 403]])) {
    assert.equal((await send(app, remove, {}, by)).statusCode, status, by)
  }
  assert.equal((await post(app, remove, {}, cookie)).statusCode, 400, 'without the tick')
  assert.equal((await post(app, remove, { sure: 'yes' }, cookie)).statusCode, 303)
  const gone = await get(app, url, { ...BROWSER, ...cookie })
  assert.deepEqual([gone.statusCode, /was deleted on/.test(gone.body)], [404, true])
  assert.equal(await db.collection('space_files.chunks').countDocuments(), 0)
  assert.equal((await upload(app, 'Team', png(2))).statusCode, 201, 'it may come back')
  await send(app, remove, {}, 'teamadmin')

  // A space that goes takes no file, however long ago its upload began.
  await db.collection('spaces').updateOne({ _id: /** @type {any} */ ('Team') }, { $set: { state: 'closing' } })
  const late = await upload(app, 'Team', png(4))
  assert.deepEqual([late.statusCode, /being made or removed/.test(late.body)], [409, true])
  await db.collection('spaces').updateOne({ _id: /** @type {any} */ ('Team') }, { $set: { state: 'open' } })
  assert.equal((await send(app, '/edit/spaces/remove', { name: 'Team' })).statusCode, 204)
  assert.equal(await db.collection('space_files.files').countDocuments(), 0)
})

test('while a space is removed, files are uploaded before or not at all', async (t) => {
  const { app, db } = await start(t)
  for (let round = 0; round < 3; round++) {
    const name = `Race${round}`
    await makeSpace(app, name)
    const uploads = Array.from({ length: 6 }, (_, index) => upload(app, name, png(index + 1)))
    if (round > 0) await uploads[round]
    const removed = await send(app, '/edit/spaces/remove', { name })
    const statuses = (await Promise.all(uploads)).map(({ statusCode }) => statusCode)
    const count = await db.collection('space_files.files').countDocuments({ space: name })
    assert.equal(count, statuses.filter((status) => status === 201).length, statuses.join())
    if (removed.statusCode === 204) assert.equal(count, 0, statuses.join())
    else assert.equal(removed.statusCode, 409, removed.body)
    const [files, chunks] = await Promise.all(['files', 'chunks']
      .map((each) => db.collection(`space_files.${each}`).countDocuments()))
    assert.equal(chunks, files, 'bytes of refused ones are left')
  }
})

test('an upload that is under way is refused when the space, or the right, goes: nothing of it stays', async (t) => {
  const PICTURE_FOLDER = folder(t)
  const { app, db } = await start(t, { PICTURE_STORE: 'disk', PICTURE_FOLDER })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  await makeSpace(app, 'Team')
  const stored = () => readdirSync(PICTURE_FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((name) => /[0-9a-f]{24}$/.test(name))

  /** Its middle waits for `meanwhile`. @param {() => Promise<void>} meanwhile */
  async function slowly (meanwhile) {
    const body = Buffer.concat([Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n' +
      'content-type: image/png\r\n\r\n'), png(2), Buffer.from('\r\n--b--\r\n')])
    const sent = request(`${address}/edit/in/upload/Team`, {
      method: 'POST',
      headers: {
        ...bearer('teameditor'), 'content-type': 'multipart/form-data; boundary=b', 'content-length': body.length
      }
    })
    const answered = once(sent, 'response')
    sent.write(body.subarray(0, -60))
    await waitUntil(() => stored().length > 0, 60_000)
    await meanwhile()
    sent.end(body.subarray(-60))
    const [answer] = await answered
    return [answer.statusCode, JSON.parse(await text(answer))
      .detail.split(/ (?:is|and) /, 1)[0]]
  }

  assert.deepEqual(await slowly(async () => {
    await send(app, '/edit/spaces/grant', { name: 'Team', group: 'editors', role: 'none' })
  }), [403, '“Team”'])
  assert.deepEqual(stored(), [])
  await send(app, '/edit/spaces/grant', { name: 'Team', group: 'editors', role: 'editor' })
  assert.deepEqual(await slowly(async () => {
    assert.equal((await send(app, '/edit/spaces/remove', { name: 'Team' })).statusCode, 204)
    await makeSpace(app, 'Team')
  }), [409, 'Nothing was changed: “Team”'], 'it is another space')
  assert.deepEqual(stored(), [])
  assert.equal(await db.collection('space_files.files').countDocuments(), 0)
})

test('public and private files share the room of the wiki', async (t) => {
  const { app } = await start(t, { UPLOADS_MAX_MIB: '1' })
  await makeSpace(app, 'Team')
  assert.equal((await upload(app, 'Team', largePng(600_000))).statusCode, 201)
  const sent = (/** @type {Buffer} */ payload) => app.inject({
    method: 'POST', url: '/api/v1/files', payload, headers: { 'content-type': 'image/png', ...bearer('editor') }
  })
  assert.equal((await sent(largePng(500_000, 1))).statusCode, 413)
  assert.equal((await sent(largePng(300_000, 2))).statusCode, 201)
  const full = await upload(app, 'Team', largePng(300_000, 3))
  assert.deepEqual([full.statusCode, /UPLOADS_MAX_MIB/.test(full.body)], [413, true])
})

test('on a disk they have names of their own, which the wiki alone sends; a backup and a move have them', async (t) => {
  const PICTURE_FOLDER = folder(t)
  const uri = wiki.freshUri()
  const settings = { PICTURE_STORE: 'disk', PICTURE_FOLDER, PICTURE_SENDER: 'nginx', MONGODB_URI: uri }
  const { app } = await start(t, settings)
  await makeSpace(app, 'Team')
  const { url } = (await upload(app, 'Team', png(2))).json()
  const stored = readdirSync(PICTURE_FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('space-'))
  assert.equal(stored.length, 1)
  assert.match(stored[0], new RegExp(`^..\\/space-${url.slice(-36, -4)}-[0-9a-f]{24}$`))
  assert.equal(statSync(path.join(PICTURE_FOLDER, stored[0])).mode & 0o777, 0o600)
  const read = (/** @type {import('fastify').FastifyInstance} */ from) =>
    get(from, url, { ...bearer('teamreader'), 'x-picture-files': 'yes' })
  assert.ok((await read(app)).rawPayload.equals(png(2)))

  // A crash may leave bytes that no document refers to. Only the sweep of private files sees them.
  writeFileSync(path.join(PICTURE_FOLDER, stored[0].replace(/[0-9a-f]{24}$/, '0'.repeat(24))), png(2))
  const { kinds } = await openPictures(t, settings)
  const swept = []
  for (const { models, storages: { all } } of kinds) {
    for (const storage of all) swept.push(await sweep(models, storage, { unusedMs: -1_000 }))
  }
  assert.deepEqual(swept, [0, 0, 0, 1])
  assert.ok((await read(app)).rawPayload.equals(png(2)))

  const file = path.join(folder(t), 'wiki.stevec.gz')
  const outside = await openOutside(settings)
  t.after(() => { for (const storage of outside) storage.close() })
  const counts = await writeBackup({ uri, file, outside })
  assert.deepEqual([counts['space_files.files'], counts['space_files.chunks']], [1, 1])
  const restored = wiki.freshUri()
  await readBackup({ uri: restored, file })
  const { app: other, db } = await start(t, { MONGODB_URI: restored })
  assert.ok((await read(other)).rawPayload.equals(png(2)))
  assert.ok((await db.collection('space_files.files').indexes()).some(({ key }) => 'space' in key && 'filename' in key))

  const moved = await startCommand(['move', '--to', 'database'], settings).ended
  assert.deepEqual([moved.code, /1 of 1 pictures/.test(moved.output)], [0, true], moved.output)
  assert.ok((await read(app)).rawPayload.equals(png(2)))
  assert.ok(!readdirSync(PICTURE_FOLDER, { recursive: true, encoding: 'utf8' }).some((name) => name.includes('space-')))
  assert.ok(ObjectId.isValid(String((await db.collection('space_files.files').findOne())?._id)))
})
