import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { chromium } from 'playwright-core'
import { request } from '@stevec/harness/request'
import { waitUntil } from '@stevec/harness/processes'
import { requireTool } from '@stevec/harness/tools/locate'
import { createSandbox } from './helper.js'

/** Edits in a row; each must be visible at once. */
const EDITS = 10
const WAIT_MAX_MS = 60_000
const FORM = Object.freeze({
  accept: 'text/html,*/*;q=0.8', 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin'
})

describe('a user\'s own edit, in a wiki that `stevec up` has started', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {Record<import('../src/stack/doors.js').DoorName, import('../src/stack/doors.js').Door>} */
  let doors
  before(async () => {
    sandbox = await createSandbox()
    const up = await sandbox.stevec(['up'], { WRITES_PER_MINUTE: '0' })
    assert.equal(up.exitCode, 0, up.stderr)
    assert.match(up.stdout, /cache policy purge-tag: an edit shows at once/)
    doors = JSON.parse((await sandbox.stevec(['status', '--json'])).stdout).doors
  })
  after(async () => {
    await sandbox.stevec(['down'])
    sandbox.remove()
  })

  /** @param {string} path @param {import('../src/stack/doors.js').DoorName} [door] */
  const read = (path, door = 'cached', headers = {}) => request(`${doors[door].url}${path}`, { headers })

  /** @param {string} path @param {Record<string, string>} fields */
  async function send (path, fields) {
    const body = new URLSearchParams(fields).toString()
    const { status, headers } = await request(`${doors.cached.url}${path}`, { method: 'POST', headers: FORM, body })
    assert.equal(status, 303)
    return String(headers.location)
  }
  const write = (/** @type {string} */ name, /** @type {string} */ content, revision = 0) =>
    send(`/edit/text/${name}`, { content, base_revision: String(revision) })

  /** @param {string} path */
  async function storeAtEdge (path) {
    const isHit = async () => (await read(path)).headers['cf-cache-status'] === 'HIT'
    assert.ok(await waitUntil(isHit, WAIT_MAX_MS), `the edge stores ${path}`)
  }

  test('shows at once through every door, also while other clients read the page', async () => {
    await write('Busy', 'text 0.')
    const done = new AbortController()
    const others = (async () => {
      while (!done.signal.aborted) await Promise.all(Array.from({ length: 4 }, () => read('/wiki/Busy')))
    })()
    try {
      for (let edit = 1; edit <= EDITS; edit++) {
        await storeAtEdge('/wiki/Busy')
        await read('/wiki/Busy', 'local')
        const next = await write('Busy', `text ${edit}.`, edit)
        for (const door of /** @type {const} */ (['cached', 'local', 'nocache', 'source'])) {
          const { body } = await read('/wiki/Busy', door)
          assert.match(body, new RegExp(`text ${edit}\\.`), `${door}, edit ${edit}`)
        }
        const saved = await read(next)
        assert.match(saved.body, /The caches have forgotten the previous text\. Everybody sees it from now on\./)
      }
    } finally {
      done.abort()
      await others
    }
  })

  test('shows as soon as the browser revalidates its copy, which `no-cache` requires for each use', async () => {
    await write('Asked', 'first')
    await storeAtEdge('/wiki/Asked')
    const first = await read('/wiki/Asked')
    assert.equal(first.headers['cache-control'], 'public, no-cache')
    const known = { 'if-none-match': String(first.headers.etag) }
    assert.equal((await read('/wiki/Asked', 'cached', known)).status, 304)
    await write('Asked', 'second', 1)
    const second = await read('/wiki/Asked', 'cached', known)
    assert.equal(second.status, 200)
    assert.match(second.body, /second/)
  })

  test('removes a deleted page, redirects a renamed one, and turns a red link blue and back', async () => {
    await write('Leading', 'to [[Target]]')
    await write('Old', 'moves')
    await write('Gone', 'goes')
    for (const page of ['Leading', 'Old', 'Gone']) await storeAtEdge(`/wiki/${page}`)
    const isMissing = async () => /class="missing"/.test((await read('/wiki/Leading')).body)
    assert.ok(await isMissing())

    await send('/edit/delete/Gone', { base_revision: '1' })
    assert.equal((await read('/wiki/Gone')).status, 404)
    await send('/edit/rename/Old', { to: 'New', base_revision: '1' })
    const moved = await read('/wiki/Old')
    assert.deepEqual([moved.status, moved.headers.location], [302, '/wiki/New'])
    assert.match((await read('/wiki/New')).body, /moves/)
    await write('Target', 'is there')
    assert.ok(await waitUntil(async () => !await isMissing(), WAIT_MAX_MS), 'the link is blue')
    await send('/edit/delete/Target', { base_revision: '1' })
    assert.ok(await waitUntil(isMissing, WAIT_MAX_MS), 'the link is red again')
  })

  test('shows at / when it is the home page, and on the page above when a subpage comes or goes', async () => {
    await write('Home', 'first words')
    await write('Guide', 'text')
    for (const path of ['/', '/wiki/Guide']) await storeAtEdge(path)
    await write('Home', 'second words', 1)
    assert.match((await read('/')).body, /second words/)
    await write('Guide/Install', 'text')
    assert.match((await read('/wiki/Guide')).body, /href="\/wiki\/Guide\/Install"/)
    await storeAtEdge('/wiki/Guide')
    await send('/edit/rename/Guide/Install', { to: 'Guide/Set-up', base_revision: '1' })
    assert.match((await read('/wiki/Guide')).body, /href="\/wiki\/Guide\/Set-up"/)
    await storeAtEdge('/wiki/Guide')
    await send('/edit/delete/Guide/Set-up', { base_revision: '2' })
    assert.doesNotMatch((await read('/wiki/Guide')).body, /class="subpages"/)
  })

  test('shows in a browser each time the user saves, leaves the page and returns', async (t) => {
    const browser = await chromium.launch({ executablePath: requireTool('chromium').path, args: ['--no-sandbox'] })
    t.after(() => browser.close())
    const page = await browser.newPage({ baseURL: doors.cached.url })
    page.setDefaultTimeout(WAIT_MAX_MS)
    // Empty documents have no storage.
    await page.addInitScript(() => { try { localStorage.plainField = 'on' } catch {} })
    await write('Start', '[[Mine]]')
    await write('Mine', 'text 0.')
    for (let edit = 1; edit <= EDITS; edit++) {
      await page.goto('/wiki/Mine')
      assert.equal(await page.locator('article p').textContent(), `text ${edit - 1}.`)
      await page.getByRole('link', { name: 'Edit this page' }).click()
      await page.getByLabel('Text, in').fill(`text ${edit}.`)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText(`Saved as revision ${edit + 1}. The caches have forgotten the previous text.`).waitFor()
      await page.goto('/wiki/Start')
      await page.locator('article a', { hasText: 'Mine' }).click()
      await page.waitForURL('**/wiki/Mine')
      assert.equal(await page.locator('article p').textContent(), `text ${edit}.`)
    }
  })

  test('`up` is refused with another policy than the running one, and with an unknown policy', async () => {
    const other = await sandbox.stevec(['up', '--policy', 'ttl'])
    assert.equal(other.exitCode, 2)
    assert.match(other.stderr, /already up, with the policy purge-tag; run `stevec down` first/)
    assert.equal((await sandbox.stevec(['up', '--policy', 'purge-tag'])).exitCode, 0)
    const unknown = await sandbox.stevec(['up', '--policy', 'never'])
    assert.equal(unknown.exitCode, 2)
    assert.match(unknown.stderr, /--policy must be one of ttl, .*purge-tag, bounded, revalidate, no-store, not "never"/)
  })
})
