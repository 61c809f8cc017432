import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** @import {Mutation} from './mutants.js' */

/** By file, as mutants.js names them. */
const MODULES = Object.freeze({
  'caching/purge-queues.js': '@stevec/wiki-app/caching/purge-queues',
  'purge-log/watch.js': '@stevec/wiki-app/purge-log/watch',
  'purge-log/routes.js': '@stevec/wiki-app/purge-log/routes',
  'reading/bounded-reads.js': '@stevec/wiki-app/bounded-reads'
})

/**
 * @typedef {Pick<typeof import('@stevec/wiki-app/caching/purge-queues'), 'createPurgeQueues'> &
 *   Pick<typeof import('@stevec/wiki-app/purge-log/watch'), 'createPurgeLogWatch'> &
 *   Pick<typeof import('@stevec/wiki-app/purge-log/routes'), 'createLogAnswer'> &
 *   Pick<typeof import('@stevec/wiki-app/bounded-reads'), 'createBoundedReads'>} WikiModules
 */

/**
 * Loads the wiki's modules that the simulation runs, with planted faults.
 * @param {Mutation[]} mutations  of files below wiki-app/src
 * @returns {Promise<WikiModules>}
 */
export async function loadWiki (mutations) {
  const loaded = await Promise.all(Object.entries(MODULES).map(([file, name]) => {
    const own = mutations.filter((mutation) => mutation.file === file)
    return own.length === 0 ? import(name) : loadMutated(new URL(import.meta.resolve(name)), own)
  }))
  return Object.assign({}, ...loaded)
}

/**
 * Loads the model of the database, with planted faults.
 * @param {Mutation[]} mutations  of the module replica-set.js
 * @returns {Promise<typeof import('./database.js').createDatabase>}
 */
export async function loadDatabase (mutations) {
  const { createReplicaSet } = mutations.length === 0
    ? await import('./replica-set.js')
    : await loadMutated(new URL('replica-set.js', import.meta.url), mutations)
  const { createDatabase } = await import('./database.js')
  return (parts) => createDatabase({ ...parts, createReplicaSet })
}

/** @param {URL} file @param {Mutation[]} mutations */
async function loadMutated (file, mutations) {
  let source = readFileSync(fileURLToPath(file), 'utf8')
  for (const { from, to } of mutations) {
    if (!source.includes(from)) throw new Error(`a planted fault does not fit ${file.pathname}: ${from}`)
    source = source.replace(from, () => to)
  }
  const resolved = source.replace(/^(import .* from )'([^']+)'/gm, (_all, start, name) =>
    `${start}'${name.startsWith('.') ? new URL(name, file).href : import.meta.resolve(name)}'`)
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-simulation-'))
  try {
    const copy = path.join(directory, 'mutated.mjs')
    writeFileSync(copy, resolved)
    return await import(pathToFileURL(copy).href)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
