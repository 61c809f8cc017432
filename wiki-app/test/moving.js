import { MongoClient } from 'mongodb'
import { readConfig } from '../src/config.js'
import { createMoving } from '../src/moving/import.js'
import { openWiki } from '../src/moving/open-wiki.js'
import { LEFT_OUT } from '../src/backup/format.js'

/** @import {Moved, MovedPage, MovedRevision} from '../src/moving/content.js' */

/**
 * @param {string} uri  of a wiki's database
 * @param {AsyncIterable<Moved> | Iterable<Moved>} things
 * @param {Partial<Parameters<typeof createMoving>[0]> & {settings?: Record<string, string>}} [options]
 */
export async function moveIn (uri, things, { settings = {}, ...options } = {}) {
  const wiki = await openWiki(readConfig({ MONGODB_URI: uri, ...settings }), { mayWrite: options.dryRun !== true })
  try {
    const moving = createMoving({ ...wiki, kind: 'mediawiki', ...options })
    /** @type {import('../src/moving/report.js').Outcome[]} */
    const outcomes = []
    const totals = await moving.run(things instanceof Array ? each(things) : /** @type {any} */ (things), (outcome) => {
      outcomes.push(outcome)
    })
    return { totals, outcomes }
  } finally {
    await wiki.close()
  }
}

/** @template T @param {T[]} items */
export async function * each (items) { yield * items }

/**
 * @param {string} name @param {Partial<MovedRevision>[]} revisions  ids and dates are made up where they are missing
 * @param {string} [source] @returns {MovedPage}
 */
export const page = (name, revisions, source = name) => ({
  kind: 'page',
  source,
  name,
  revisions: each(revisions.map((revision, index) => ({
    id: String(index + 1),
    content: `text ${index + 1}`,
    author: 'Ana',
    summary: `change ${index + 1}`,
    createdAt: new Date(Date.UTC(2010, 0, 1 + index)),
    ...revision
  })))
})

/**
 * Every document that a backup has, byte for byte.
 * @param {string} uri @returns {Promise<Record<string, string[]>>} by collection
 */
export async function contents (uri) {
  const client = await MongoClient.connect(uri)
  try {
    /** @type {Record<string, string[]>} */
    const all = {}
    for (const { name } of await client.db().listCollections({}, { nameOnly: true }).toArray()) {
      if (LEFT_OUT.has(name)) continue
      const documents = await client.db().collection(name).find({}, { raw: true }).sort({ _id: 1 }).toArray()
      if (documents.length === 0) continue
      all[name] = documents.map((bytes) => Buffer.from(/** @type {any} */ (bytes)).toString('hex'))
    }
    return all
  } finally {
    await client.close()
  }
}
