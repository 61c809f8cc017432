#!/usr/bin/env node
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { MongoClient } from 'mongodb'
import { readConfig } from '../src/config.js'
import { counted } from '../src/readable.js'
import { compareWithRebuilt } from '../src/words/compare.js'
import { createIndex, currentFile, lockIn, makeCurrent, openExisting, stateIn } from '../src/words/file.js'
import { isLocked } from '../src/words/lock.js'
import { clusterTimeOf, createSource, identityOf } from '../src/words/source.js'
import { sweep } from '../src/words/sweep.js'

const PAGES = 'pages'
const HELP = `Usage: node wiki-app/bin/search-index.js <command> [--directory FOLDER]

The index of words of a wiki that runs with SEARCH_DIRECTORY. The settings are those of the wiki:
MONGODB_URI or MONGODB_URI_FILE, and SEARCH_DIRECTORY if --directory is left out. The wiki may run.

  status    what there is, and whether a wiki keeps it up; 1 if there is none
  verify    compare it with one that is built from scratch, word by word; 1 if they differ
  rebuild   build it from scratch and put it in the place of the present one; searches go on

Examples:
  SEARCH_DIRECTORY=/var/cache/stevec-wiki node wiki-app/bin/search-index.js status
  MONGODB_URI=mongodb://127.0.0.1:27027/stevec?replicaSet=stevec \\
    node wiki-app/bin/search-index.js verify --directory /var/cache/stevec-wiki
`

/** An error that the user of the command can correct. */
class UsageError extends Error {}

/** @type {Record<string, (folder: string, config: import('../src/settings.js').Config) => Promise<number>>} */
const COMMANDS = {
  async status (folder) {
    const file = currentFile(folder)
    if (file === null) {
      process.stdout.write(`no index in ${folder}; a wiki with SEARCH_DIRECTORY builds one when it starts\n`)
      return 1
    }
    const sqlite = await openExisting(file)
    const state = await stateIn(sqlite)
    const [{ pages }] = await sqlite.all('select count(*) as pages from pages')
    sqlite.close()
    process.stdout.write([
      `index    ${file}, ${(statSync(file).size / 1e6).toFixed(1)} MB`,
      `pages    ${pages}${state.building ? `, and it is being built: at “${state.swept}”` : ''}`,
      `wiki     ${await isLocked(lockIn(folder)) ? 'keeps it up' : 'none keeps it up'}`,
      ...state.failing_since_ms === null ? [] : [`failing  since ${new Date(state.failing_since_ms).toISOString()}`],
      ...state.pending_since_ms === null ? [] : [`behind   since ${new Date(state.pending_since_ms).toISOString()}`]
    ].join('\n') + '\n')
    return 0
  },

  verify: (folder, config) => withDatabase(config, async ({ source, identity, clusterTime }) => {
    const directory = mkdtempSync(path.join(tmpdir(), 'stevec-verify-'))
    try {
      const rebuilt = await createIndex(directory, { database: identity, lasting: false, clusterTime })
      const { pages, terms, moving, differences } = await compareWithRebuilt(folder, rebuilt, {
        source, clusterTime, fill: (index) => build(index, source)
      })
      rebuilt.close()
      for (const difference of differences) process.stdout.write(`${difference}\n`)
      const meanwhile = moving === 0 ? '' : `; ${counted(moving, 'page')} changed meanwhile`
      process.stdout.write(`${differences.length === 0 ? 'equal' : 'different'}: ` +
        `${counted(pages, 'page')}, ${counted(terms, 'word')}${meanwhile}\n`)
      return differences.length === 0 ? 0 : 1
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }),

  rebuild: (folder, config) => withDatabase(config, async ({ source, identity, clusterTime }) => {
    const index = await createIndex(folder, { database: identity, lasting: true, clusterTime })
    const pages = await build(index, source)
    index.close()
    statSync(index.file)
    makeCurrent(folder, index)
    process.stdout.write(`built from ${counted(pages, 'page')}; a running wiki takes it within 20 s\n`)
    return 0
  })
}

/** @param {import('../src/words/file.js').Index} index @param {import('../src/words/source.js').Source} source */
const build = (index, source) =>
  sweep(index, source, { exclusive: (work) => work(), signal: new AbortController().signal })

/**
 * @template T @param {import('../src/settings.js').Config} config
 * @param {(database: {source: import('../src/words/source.js').Source, identity: string, clusterTime: string}) =>
 *   Promise<T>} work
 */
async function withDatabase ({ MONGODB_URI: uri }, work) {
  const client = await MongoClient.connect(uri, { serverSelectionTimeoutMS: 5_000 })
  try {
    const db = client.db()
    return await work({
      source: createSource(db.collection(PAGES), client),
      identity: await identityOf(db, PAGES),
      clusterTime: await clusterTimeOf(db)
    })
  } finally {
    await client.close()
  }
}

/** @param {string[]} argv */
async function main (argv) {
  const { values, positionals: [command, ...rest] } = parse(argv)
  if (values.help || command === undefined) {
    process.stdout.write(HELP)
    return command === undefined && !values.help ? 2 : 0
  }
  if (!Object.hasOwn(COMMANDS, command) || rest.length > 0) {
    throw new UsageError(`there is no command "${[command, ...rest].join(' ')}"; there is: ${
      Object.keys(COMMANDS).join(', ')}`)
  }
  const config = readConfig()
  const folder = values.directory ?? config.SEARCH_DIRECTORY
  if (folder === undefined) {
    throw new UsageError('neither SEARCH_DIRECTORY nor --directory is set: such a wiki has its index in a temporary ' +
      'folder, and builds it anew at each start')
  }
  return COMMANDS[command](folder, config)
}

/** @param {string[]} argv */
function parse (argv) {
  try {
    return parseArgs({
      args: argv,
      options: { help: { type: 'boolean', short: 'h' }, directory: { type: 'string' } },
      allowPositionals: true,
      strict: true
    })
  } catch (error) {
    throw new UsageError(/** @type {Error} */ (error).message)
  }
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const usage = error instanceof UsageError
  process.stderr.write(`search-index: ${/** @type {Error} */ (error).message}\n${usage ? '(see --help)\n' : ''}`)
  process.exitCode = usage ? 2 : 1
}
