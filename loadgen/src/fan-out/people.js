import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'

export const AUTHOR = 'author'
/** Watches the page of the warm-up alone. */
export const WARM_UP_WATCHER = 'warm-up'
const INSERTED_AT_ONCE = 5_000

/** @param {number} number @returns {string} the wiki's key of a watcher, and the name */
export const watcherName = (number) => `watcher ${String(number).padStart(6, '0')}`

/**
 * Chooses watchers evenly among all: the first and the last are always among them.
 * @param {number} watchers
 * @param {number} most
 */
export function sampleOf (watchers, most) {
  const count = Math.min(watchers, most)
  const at = (/** @type {number} */ index) => count === 1 ? 0 : Math.round(index * (watchers - 1) / (count - 1))
  return [...new Set(Array.from({ length: count }, (_, index) => watcherName(at(index))))]
}

/**
 * Writes a users' file. Only people that sign in are in it: a watcher need not be one of them.
 * @param {string} directory
 * @param {string[]} readers
 * @returns {{file: string, tokenOf: (name: string) => string}}
 */
export function writePeople (directory, readers) {
  const secret = randomBytes(16).toString('hex')
  const tokenOf = (/** @type {string} */ name) => `stevec_${hashOf(secret + name).slice(0, 40)}`
  const user = (/** @type {string} */ name, /** @type {string} */ role) =>
    ({ name, role, password: noPassword(), tokens: [{ label: 'lab', sha256: hashOf(tokenOf(name)) }] })
  const users = [user(AUTHOR, 'editor'), ...readers.map((name) => user(name, 'reader'))]
  const file = path.join(directory, 'users.json')
  writeFileSync(file, JSON.stringify({ users }), { mode: 0o600 })
  return { file, tokenOf }
}

/** @param {string} text */
const hashOf = (text) => createHash('sha256').update(text).digest('hex')

/** The form of a hash (wiki-app/src/access/password.js), of no password that anybody knows. */
function noPassword () {
  const random = (/** @type {number} */ bytes) => randomBytes(bytes).toString('base64').replace(/=+$/, '')
  return `$scrypt$ln=15,r=8,p=3$${random(16)}$${random(32)}`
}

/**
 * Lets people watch pages, as the wiki stores it (wiki-app/src/watching/model.js).
 * @param {import('mongodb').Db} db
 * @param {string[]} names  of people
 * @param {string[]} pages
 */
export async function watch (db, names, pages) {
  const since = new Date(0)
  const watched = pages.map((name) => ({ name, since, history: name }))
  const collection = /** @type {import('mongodb').Collection<any>} */ (db.collection('watchers'))
  for (let first = 0; first < names.length; first += INSERTED_AT_ONCE) {
    await collection.insertMany(names.slice(first, first + INSERTED_AT_ONCE).map((_id) =>
      ({ _id, pages: watched, authors: [], read: [], read_before: since })))
  }
}
