import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { gunzipSync } from 'node:zlib'
import { BSON, MongoClient } from 'mongodb'
import { readBackup } from '../src/backup/read.js'
import { writeBackup } from '../src/backup/write.js'
import { exportGit } from '../src/moving/git/export.js'
import { readGit } from '../src/moving/git/read.js'
import { BROWSER, get, untilFound, useWiki } from './helper.js'
import { takeAll } from './moved.js'
import { bearer, cookieOf, peopleOnly, post } from './people.js'
import { erase, eraseAll, leak, put, SECRET } from './erasing.js'

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('fastify').FastifyInstance} App */

const wiki = useWiki()

/** @param {TestContext} t */
async function start (t) {
  const uri = wiki.freshUri()
  return { app: await wiki.build(t, { ...peopleOnly(t), MONGODB_URI: uri }), uri }
}

/** @param {string} uri @returns {Promise<string[]>} collections with the secret in a document */
async function collectionsWith (uri) {
  const client = await MongoClient.connect(uri)
  try {
    const found = []
    for (const { name } of await client.db().listCollections().toArray()) {
      for await (const document of client.db().collection(name).find()) {
        if (Buffer.from(BSON.serialize(document)).includes(SECRET)) found.push(name)
      }
    }
    return [...new Set(found)].sort()
  } finally {
    await client.close()
  }
}

const NUMBERS = [1, 2, 3, 4, 5]
const ROUTES = [
  '/', '/changes', '/changes?author=editor', '/changes.atom', '/changes.atom?author=editor', '/tags',
  `/tags/${SECRET.slice(0, 4)}`, '/care', '/api/v1/changes', '/api/v1/tags', '/api/v1/watching/changes',
  '/edit/watching', '/edit/audit',
  ...['Manual', 'Handbook', 'Leak'].flatMap((name) => [
    `/wiki/${name}`, `/raw/${name}`, `/history/${name}`, `/links/${name}`, `/edit/text/${name}`,
    `/api/v1/pages/${name}`, `/api/v1/pages/${name}/revisions`, `/edit/rename/${name}`, `/edit/delete/${name}`,
    ...NUMBERS.flatMap((number) => [
      `/revision/${name}/${number}`, `/api/v1/pages/${name}/revisions/${number}`,
      `/edit/revert/${name}?revision=${number}`, `/edit/erase/${name}?from=1&to=${number}`,
      ...NUMBERS.flatMap((other) => [
        `/difference/${name}?from=${number}&to=${other}`, `/api/v1/pages/${name}/difference?from=${number}&to=${other}`
      ])
    ])
  ])
]

/** @param {App} app @returns {Promise<string[]>} addresses whose answer has the secret */
async function routesWith (app) {
  const found = []
  for (const url of ROUTES) {
    for (const accept of [BROWSER, { accept: 'application/json' }]) {
      const { body, headers } = await get(app, url, { ...accept, ...bearer('admin') })
      if ((body + JSON.stringify(headers)).includes(SECRET)) found.push(url)
    }
  }
  return found
}

test('what was erased is in no document, no answer and no new backup; its place in the history stays', async (t) => {
  const { app, uri } = await start(t)
  await leak(app)
  await put(app, 'Last', { content: 'lastofthem' })
  await untilFound(app, 'lastofthem', 1)
  assert.deepEqual(await collectionsWith(uri), ['revisions'], 'a name without a page keeps no text')
  const before = await routesWith(app)
  for (const url of [
    '/changes', '/changes.atom', '/history/Manual', '/revision/Manual/3', '/difference/Manual?from=1&to=2',
    '/api/v1/pages/Manual/revisions/4', '/revision/Leak/1', '/api/v1/watching/changes'
  ]) assert.ok(before.includes(url), `${url} has the secret, so this test can fail`)

  await eraseAll(app)
  assert.deepEqual(await collectionsWith(uri), [])
  assert.deepEqual(await routesWith(app), [])
  assert.equal((await get(app, `/api/v1/search?q=${SECRET}`)).json().items.length, 0)

  const { body } = await get(app, '/history/Manual', BROWSER)
  assert.equal(body.match(/erased by an administrator/g)?.length, 3)
  assert.match(body, /revision 2 <span class="soft">by <a href="\/changes\?author=editor"[^>]*>editor<\/a>: erased/)
  assert.match((await get(app, '/history/Leak', BROWSER)).body, /deleted in revision 2[^\n]*erased by an administrator/)
  const { items } = (await get(app, '/api/v1/pages/Manual/revisions')).json()
  const facts = items.map((/** @type {any} */ { revision, author, erased, content_bytes: bytes }) =>
    [revision, author, erased, bytes].join(' '))
  assert.deepEqual(facts, [
    '5 editor false 21', '4 editor true 0', '3 editor true 0', '2 editor true 0', '1 editor false 15'
  ])
  const feed = (await get(app, '/changes.atom')).body
  assert.match(feed, /<summary>without it\. Now 21 bytes\.<\/summary>/, 'no growth from a length that is not known')
  assert.match(feed, /<summary>What it said was erased by an administrator\.<\/summary>/)

  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-erase-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = path.join(directory, 'wiki.stevec.gz')
  await writeBackup({ uri, file })
  const lines = gunzipSync(readFileSync(file)).toString()
  assert.ok(lines.includes('How to sign in.') && !lines.includes(SECRET))
  const restored = wiki.freshUri()
  await readBackup({ uri: restored, file })
  const again = await wiki.build(t, { MONGODB_URI: restored })
  assert.equal((await get(again, '/revision/Manual/3', BROWSER)).statusCode, 410)
  assert.match((await get(again, '/revision/Manual/1', BROWSER)).body, /How to sign in\./)
})

test('an erased revision answers 410: shown, compared, brought back, also by programs', async (t) => {
  const { app } = await start(t)
  await leak(app)
  await eraseAll(app)
  for (const url of [
    '/revision/Manual/2', '/difference/Manual?from=1&to=2', '/difference/Manual?from=3&to=5',
    '/edit/revert/Manual?revision=3', '/revision/Leak/1', '/revision/Leak/2'
  ]) {
    const answer = await get(app, url, { ...BROWSER, ...bearer('admin') })
    assert.equal(answer.statusCode, 410, url)
    assert.match(String(answer.headers['cache-control']), /no-store/)
    assert.match(answer.body, /<h1>It was erased<\/h1>\n<p>An administrator has erased the text of revision \d of/)
    assert.match(answer.body, /href="\/history\/(Manual|Leak)">Its history/)
  }
  for (const url of ['revisions/2', 'difference?from=2&to=5']) {
    const answer = await get(app, `/api/v1/pages/Manual/${url}`)
    assert.deepEqual([answer.statusCode, answer.json().status], [410, 410], url)
  }
  const payload = { revision: 2 }
  for (const url of ['/api/v1/pages/Manual/revert', '/edit/revert/Manual']) {
    const answer = await app.inject({ method: 'POST', url, headers: bearer('editor'), payload })
    assert.equal(answer.statusCode, 410, answer.body)
  }
  assert.equal((await get(app, '/raw/Manual')).body, 'How to sign in.\n\nmore', 'the page is as it was')

  await put(app, 'Manual', { content: 'kept' }, 'admin')
  await put(app, 'Vandalised', { content: 'good' }, 'admin')
  await put(app, 'Vandalised', { content: 'bad' })
  assert.equal((await erase(app, 'Vandalised', { from: 1, to: 1 })).statusCode, 200)
  const undone = await app.inject({
    method: 'POST', url: '/edit/revert-author', headers: bearer('admin'), payload: { author: 'editor' }
  })
  assert.deepEqual(undone.json().pages, [
    { name: 'Leak', outcome: 'skipped', reason: 'it is deleted, as it was before' },
    { name: 'Vandalised', outcome: 'skipped', reason: 'the text before it, revision 1, was erased' }
  ])
})

test('an author that was editing from an erased text gets a conflict, and nothing is merged', async (t) => {
  const { app } = await start(t)
  const cookie = await cookieOf(app, 'editor')
  await put(app, 'a', { content: `# One\n\nfirst ${SECRET}\n\n# Two\n\nsecond\n` })
  await put(app, 'a', { content: '# One\n\nfirst\n\n# Two\n\nsecond\n' })
  assert.equal((await erase(app, 'a', { from: 1, to: 1 })).statusCode, 200)
  const mine = `# One\n\nfirst ${SECRET}\n\n# Two\n\nchanged\n`
  const answer = await post(app, '/edit/text/a', { content: mine, tags: '', base_revision: '1' }, cookie)
  assert.equal(answer.statusCode, 409)
  assert.match(answer.body, /The text that you began with is not kept any more/)
  assert.match(answer.body, /&lt;&lt;&lt;&lt;&lt;&lt;&lt;/, 'both texts are there, marked')
  const section = { content: '# Two\n\nchanged\n', section: '2', base_revision: '1' }
  assert.equal((await post(app, '/edit/text/a', section, cookie)).statusCode, 409)
  const opened = await get(app, '/edit/text/a?section=2&revision=1', { ...BROWSER, ...cookie })
  assert.equal(opened.statusCode, 200)
  assert.match(opened.body, /second/)
  const ticked = await post(app, '/edit/task/a', { base_revision: '1', task: '3', checked: 'true' }, cookie)
  assert.equal(ticked.statusCode, 409)
  assert.equal((await get(app, '/raw/a')).body, '# One\n\nfirst\n\n# Two\n\nsecond\n')
})

test('an export to git has a commit that says so, and can be read back', async (t) => {
  const { app, uri } = await start(t)
  await leak(app)
  await eraseAll(app)
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-git-'))
  t.after(() => rmSync(directory, { recursive: true }))
  await exportGit({ uri, folder: directory })
  const log = execFileSync('git', ['log', '-p', '--all', '--reverse'], { cwd: directory }).toString()
  assert.ok(log.includes('How to sign in.') && !log.includes(SECRET))
  assert.equal(log.match(/^\+The text of this revision was erased\.$/gm)?.length, 2, 'the second follows the first')
  const { pages } = await takeAll(readGit(directory, {}))
  assert.deepEqual(pages.Manual.map(({ content }) => content), [
    'How to sign in.', ...Array(3).fill('The text of this revision was erased.'), 'How to sign in.\n\nmore'
  ])
})
