// The folder of a role's nginx: what may stand there, and what may be deleted.
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Part of the first line of each configuration, see templates/main.eta. */
const RENDERED = 'Rendered from nginx/templates'
/** Marks a folder as a cache of the edge; backup programs skip such a folder. */
const TAG_FILE = 'CACHEDIR.TAG'
const TAG_START = 'Signature: 8a477f597d28d172789f06886806bc55\n# The cache of an edge of stevec.\n'
const TAG = `${TAG_START}# A start of the edge may empty this folder.\n# See https://bford.info/cachedir/\n`
/** What the stored responses depend on, see store-identity.js. */
const IDENTITY_FILE = 'identity'
/** Names the journal of lua/journal.lua; removed where what is stored must not be used again. */
const JOURNAL_FILE = 'current'

/**
 * Finds the nginx that uses a role's folder.
 * @param {string} directory
 * @returns {number | null} its process id; null when none runs
 */
export function findNginx (directory) {
  try {
    const pid = Number(readFileSync(path.join(directory, 'nginx.pid'), 'utf8'))
    // nginx's process title precedes its arguments, separated by spaces.
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    const used = / -p (.+?) -c /.exec(line)?.[1]
    return used !== undefined && realpathSync(used) === realpathSync(directory) ? pid : null
  } catch {
    return null
  }
}

/**
 * @param {string} configuration  file
 * @throws {Error} when it is somebody else's
 */
export function refuseForeign (configuration) {
  if (!existsSync(configuration) || readFileSync(configuration, 'utf8').includes(RENDERED)) return
  throw new Error(`${configuration} is not one of stevec's, and was left as it is; choose another folder`)
}

/**
 * @param {string} directory
 * @throws {Error} when an nginx runs there
 */
export function refuseInUse (directory) {
  const pid = findNginx(directory)
  if (pid === null) return
  throw new Error(`an nginx (process ${pid}) already uses the folder ${directory}: stop it (kill ${pid}), ` +
    'or choose another folder')
}

/**
 * Makes the cache folder ready for a start. What an edge with the same identity has stored stays, all else is removed.
 * @param {string} cache
 * @param {string | null} identity  null: what is stored is of no use to a later start
 * @throws {Error} when no edge created it
 */
export function openCache (cache, identity) {
  const found = findForeign(cache)
  if (found !== null) {
    throw new Error(`the edge would empty ${cache}, but ${found}; nothing was deleted. ` +
      'Move it away, or choose another folder')
  }
  if (identity !== null && isOf(cache, identity)) return
  rmSync(cache, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(cache, TAG_FILE), TAG)
  if (identity !== null) writeFileSync(path.join(cache, IDENTITY_FILE), identity)
}

/** @param {string} cache @param {string} identity */
function isOf (cache, identity) {
  const [file, journal] = [IDENTITY_FILE, JOURNAL_FILE].map((name) => path.join(cache, name))
  return existsSync(journal) && /^\d+$/.test(readFileSync(journal, 'utf8')) &&
    existsSync(file) && readFileSync(file, 'utf8') === identity
}

/**
 * @param {string} cache
 * @returns {string | null} the reason why an edge must not empty the folder; null when it may
 */
function findForeign (cache) {
  const stat = lstatSync(cache, { throwIfNoEntry: false })
  if (stat === undefined) return null
  if (stat.isSymbolicLink()) return 'it is a symbolic link'
  if (!stat.isDirectory()) return 'it is not a folder'
  const entries = readdirSync(cache, { withFileTypes: true })
  const tag = entries.some((entry) => entry.name === TAG_FILE && entry.isFile())
    ? readFileSync(path.join(cache, TAG_FILE), 'utf8')
    : null
  if (tag?.startsWith(TAG_START)) return null
  // Earlier versions of the edge wrote no tag; a tag is empty when the edge was killed while it wrote it.
  const isOwn = (/** @type {string} */ name) => /^\d+$/.test(name) || (name === TAG_FILE && tag === '')
  const foreign = entries.find((entry) => !entry.isFile() || !isOwn(entry.name))
  return foreign === undefined ? null : `an edge did not make it: there is "${foreign.name}" in it`
}
