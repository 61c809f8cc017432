#!/usr/bin/env node
import { parseArgs } from 'node:util'
import mongoose from 'mongoose'
import { ConfigError, readConfig } from '../src/config.js'
import { openKinds } from '../src/files/kinds.js'
import { checkPictures, movePictures } from '../src/files/storage/move.js'
import { claimPlaces } from '../src/files/storage/places.js'
import { STORAGE_NAMES } from '../src/files/storage/storage.js'
import { loadS3 } from '../src/files/storage/storages.js'
import { readableSize } from '../src/readable.js'

/** @import {Kind} from '../src/files/kinds.js' */
/** @import {Progress} from '../src/files/storage/move.js' */
/** @import {StorageName} from '../src/files/storage/storage.js' */

const SHOW_MS = 1_000
const SELECTION_MS = 5_000

const HELP = `Usage: node wiki-app/bin/pictures.js move --to PLACE
       node wiki-app/bin/pictures.js check

Moves the bytes of a wiki's pictures from place to place, or checks them, also of private spaces.
The wiki may run. Takes the wiki's own settings: MONGODB_URI, PICTURE_FOLDER, PICTURE_S3_…
(wiki-app/README.md).

  move --to PLACE   all pictures to PLACE: database, disk or s3. Each is copied, the copy is read
                    back and compared with its hash, and only then the old one is removed. After
                    an interrupt or a kill all pictures are there; the same command continues.
  check             reads every picture and compares it with its hash

First start the wikis with PICTURE_STORE=PLACE, or new pictures still go to the old place. Keep the
settings of the old place until the move is done, and a day longer.

Exit code: 0 good, 1 pictures that are damaged or missing (named; a move leaves them where they
are), 2 wrong usage or settings, 3 a place or the database cannot be used.

Examples:
  PICTURE_FOLDER=/srv/pictures node wiki-app/bin/pictures.js move --to disk
  node wiki-app/bin/pictures.js check
`

class UsageError extends Error {}

/** @param {string[]} argv */
async function main (argv) {
  const { values, positionals: [command, ...rest] } = parse(argv)
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (rest.length > 0 || !['move', 'check'].includes(command)) throw new UsageError('there is `move` and `check`')
  const to = STORAGE_NAMES.find((name) => name === values.to)
  if (command === 'check' && values.to !== undefined) throw new UsageError('--to belongs to `move`')
  if (command === 'move' && to === undefined) throw new UsageError(`--to must be one of ${STORAGE_NAMES.join(', ')}`)
  return withPictures(readConfig(), to, async (kinds) => {
    const options = { signal: interrupted(), onProgress: progressLine() }
    /** @type {Progress} */
    let done = { files: 0, bytes: 0, damaged: [], total: 0 }
    for (const { models, storages } of kinds) {
      done = sumOf(done, to === undefined
        ? await checkPictures(models, storages, options)
        : await movePictures(models, storages, { ...options, to }))
    }
    process.stdout.write(`${to === undefined ? 'checked' : `moved to ${to}:`} ${said(done)}\n`)
    for (const name of done.damaged) process.stderr.write(`pictures: damaged or missing: ${name}\n`)
    return done.damaged.length > 0 ? 1 : 0
  })
}

/**
 * @typedef {(kinds: Kind[]) => Promise<number>} Work
 * @param {import('../src/settings.js').Config} config @param {StorageName | undefined} to @param {Work} work
 */
async function withPictures (config, to, work) {
  const connection = mongoose.createConnection()
  for (const option of ['autoIndex', 'autoCreate']) connection.set(option, false)
  const kinds = openKinds(connection, config, await loadS3(config))
  const [{ storages }] = kinds
  if (to !== undefined && !storages.all.some(({ name }) => name === to)) {
    throw new ConfigError(`there are no settings for ${to}: PICTURE_FOLDER, or PICTURE_S3_ENDPOINT and those beside it`)
  }
  try {
    for (const storage of storages.all) await storage.check(to !== undefined)
    await connection.openUri(config.MONGODB_URI, {
      serverSelectionTimeoutMS: SELECTION_MS, promoteBuffers: true, writeConcern: { w: 'majority', journal: true }
    })
    await claimPlaces(/** @type {import('mongodb').Db} */ (connection.db), storages, { mayWrite: to !== undefined })
    return await work(kinds)
  } finally {
    for (const { storages: { all } } of kinds) for (const storage of all) storage.close()
    await connection.close()
  }
}

/** @param {string[]} argv */
function parse (argv) {
  try {
    return parseArgs({
      args: argv,
      options: { help: { type: 'boolean', short: 'h' }, to: { type: 'string' } },
      allowPositionals: true,
      strict: true
    })
  } catch (error) {
    throw new UsageError(/** @type {Error} */ (error).message)
  }
}

function interrupted () {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => controller.abort())
  return controller.signal
}

/** @returns {(progress: Progress) => void} a line a second */
function progressLine () {
  let shownAt = performance.now()
  return (progress) => {
    if (performance.now() - shownAt < SHOW_MS) return
    shownAt = performance.now()
    process.stderr.write(`${said(progress)}\n`)
  }
}

/** @param {Progress} one @param {Progress} other @returns {Progress} */
const sumOf = (one, other) => ({
  files: one.files + other.files,
  bytes: one.bytes + other.bytes,
  damaged: [...one.damaged, ...other.damaged],
  total: one.total + other.total
})

/** @param {Progress} progress */
const said = ({ files, bytes, total }) => `${files} of ${total} pictures, ${readableSize(bytes)}`

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const { message, name, cause } = /** @type {Error} */ (error)
  const usage = error instanceof UsageError || error instanceof ConfigError
  const why = cause instanceof Error ? ` (${cause.message})` : ''
  const said = name === 'AbortError' ? 'interrupted; the same command continues' : message
  process.stderr.write(`pictures: ${said}${why}\n` +
    (error instanceof UsageError ? '(see --help)\n' : ''))
  process.exitCode = usage ? 2 : name === 'AbortError' ? 130 : 3
}
