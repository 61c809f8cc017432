import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import { useWiki } from './helper.js'
import { generatedDump } from './mediawiki-dump.js'
import { contents } from './moving.js'

const CHILD = fileURLToPath(new URL('moving-child.js', import.meta.url))
const PAGES = 200
const wiki = useWiki()

/**
 * @param {string} uri @param {string} file @param {{signal: NodeJS.Signals, atPages: number}} [stop]
 * @returns {Promise<{code: number | null, signal: NodeJS.Signals | null, last: string}>}
 */
async function imported (uri, file, stop) {
  const child = spawn(process.execPath, [CHILD, uri, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  let last = ''
  for await (const line of createInterface({ input: child.stdout })) {
    last = line
    if (stop && Number(line) >= stop.atPages) {
      child.kill(stop.signal)
      break
    }
  }
  child.stdout.resume()
  const [code, signal] = await ended
  return { code, signal, last }
}

/** @param {string} uri */
async function stored (uri) {
  const client = await MongoClient.connect(uri)
  const db = client.db()
  const [pages, revisions] = [
    await db.collection('pages').find().project({ revision: 1, content: 1, redirect_to: 1 }).sort({ _id: 1 }).toArray(),
    await db.collection('revisions').find().sort({ _id: 1 }).toArray()
  ]
  await client.close()
  return { pages, revisions }
}

test('an import that is killed or interrupted is continued, and ends as if nothing had happened', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-stopped-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'dump.xml')
  writeFileSync(file, [...generatedDump({ pages: PAGES, revisionsPerPage: 3 })].join(''))
  const [whole, stopped] = [wiki.freshUri(), wiki.freshUri()]
  assert.equal((await imported(whole, file)).code, 0)

  assert.equal((await imported(stopped, file, { signal: 'SIGKILL', atPages: 20 })).signal, 'SIGKILL')
  const half = await stored(stopped)
  assert.ok(half.pages.length >= 20 && half.pages.length < PAGES, `${half.pages.length} pages`)
  const newest = new Map(half.revisions.map(({ page, revision }) => [page, revision]))
  for (const page of half.pages) assert.equal(newest.get(page._id), page.revision, 'no page without its history')
  assert.equal(newest.size, half.pages.length, 'no history without its page')

  const interrupted = await imported(stopped, file, { signal: 'SIGINT', atPages: 20 })
  assert.equal(interrupted.code, 130)
  const { code, last } = await imported(stopped, file)
  assert.equal(code, 0)
  assert.equal(JSON.parse(last).untaken, 0)
  assert.deepEqual((await stored(stopped)).revisions, (await stored(whole)).revisions)
  assert.deepEqual((await stored(stopped)).pages, (await stored(whole)).pages)
  const before = await contents(stopped)
  await imported(stopped, file)
  assert.deepEqual(await contents(stopped), before)
})
