import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { request } from '@stevec/harness/request'
import { MongoClient } from 'mongodb'
import { pageText, sizeOf } from '../../scenarios/content.js'
import { pageName } from '../../scenarios/plan.js'
import { AUTHOR, sampleOf, WARM_UP_WATCHER, watch, watcherName, writePeople } from './people.js'
import { startWiki } from './wiki.js'

/** So many watchers look at their lists during the saves. */
const LOOKING_MAX = 3
/** No trial saves it. */
export const WARM_UP_PAGE = 'warm-up of watched pages'
const WRITE_WITHIN_MS = 60_000

/**
 * Makes what a trial of watched pages needs: a database, people, a wiki, its pages, and their watchers.
 * @param {object} options
 * @param {import('../lab/settings.js').Settings} options.settings
 * @param {import('../lab/matrix.js').PlannedTrial} options.trial
 * @param {string} options.mark
 * @param {string} options.stackUri  of a database on the same mongod
 * @param {string} options.directory  of the trial
 * @param {number} options.judged  whose lists are compared, at most
 */
export async function openPlace ({ settings, trial, mark, stackUri, directory, judged: most }) {
  const uri = new URL(stackUri)
  uri.pathname = `/fan_out_${mark}`
  const [looking, judged] = [sampleOf(settings.watchers, LOOKING_MAX), sampleOf(settings.watchers, most)]
  // No result has tokens, or the words of pages.
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-fan-out-'))
  const readers = [...new Set([...looking, ...judged, WARM_UP_WATCHER])]
  const { file, tokenOf } = writePeople(folder, readers)
  const client = await MongoClient.connect(uri.href)
  const db = client.db()
  const clean = async () => {
    await db.dropDatabase().catch(() => {})
    await client.close()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const wiki = await startWiki({
      settings, mongodbUri: uri.href, usersFile: file, wordsDirectory: path.join(folder, 'words'), directory
    })
    const close = async () => {
      await wiki.stop()
      await clean()
    }
    try {
      await writePages({ settings, seed: trial.plan.plan.seed, url: wiki.url, token: tokenOf(AUTHOR) })
      await watch(db, [WARM_UP_WATCHER], [WARM_UP_PAGE])
      const everybody = Array.from({ length: settings.watchers }, (_, number) => watcherName(number))
      await watch(db, everybody, pagesOf(settings))
    } catch (error) {
      await wiki.stop()
      throw error
    }
    return { wiki, db, tokenOf, looking, judged, close }
  } catch (error) {
    await clean()
    throw error
  }
}

/** @typedef {Awaited<ReturnType<typeof openPlace>>} Place */

/** @param {import('../lab/settings.js').Settings} settings */
const pagesOf = ({ pages }) => Array.from({ length: pages }, (_, page) => pageName(page))

/** @param {{settings: import('../lab/settings.js').Settings, seed: number, url: string, token: string}} options */
async function writePages ({ settings, seed, url, token }) {
  for (const [page, name] of [...pagesOf(settings), WARM_UP_PAGE].entries()) {
    const { status, body } = await request(`${url}/wiki/${encodeURIComponent(name)}`, {
      method: 'POST',
      headers: { 'content-type': 'text/markdown', authorization: `Bearer ${token}` },
      body: pageText(seed, page, sizeOf(seed, page, settings.page_size_chars)),
      timeoutMs: WRITE_WITHIN_MS
    })
    if (status !== 200 && status !== 201) throw new Error(`the wiki refused ${name} with ${status}: ${body}`)
  }
}
