// Which files of tests there are, which of them run when, and which share a process.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Files of one process each: `beside` others, or `alone`.
 * @typedef {{beside: string[][], alone: string[][]}} TestFiles
 */

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')

const FOLDERS = [
  '.ci',
  'harness/test', 'wiki-app/test', 'wiki-app/test/browser', 'nginx/test', 'cdn/test', 'deploy/test', 'loadgen/test',
  'arm-image/test'
]

const SLOW_FOLDERS = ['wiki-app/test/slow', 'nginx/test/slow', 'deploy/test/slow', 'loadgen/test/slow']

const named = (/** @type {string} */ folder, /** @type {string[]} */ names) =>
  names.map((name) => `${folder}/${name}.test.js`)

/** The longest files, which start first. */
const LONG = [
  'loadgen/test/run.test.js',
  ...named('wiki-app/test/browser', ['every-page', 'reading', 'writing']),
  ...named('wiki-app/test', ['purge-queue', 'concurrency', 'server'])
]

/**
 * Loading the wiki takes a second of processor time, and its code is quick only after a while: files with a wiki in
 * their own process share that process. 16 files take a quarter less so.
 */
const FILES_IN_A_PROCESS = 8
const SHARING_FOLDER = 'wiki-app/test'
const SHARING = 'useWiki()'
/** With a browser besides, which starts once in a process. */
const BROWSER_FOLDER = 'wiki-app/test/browser'
/** These measure their process, change its environment or replace its functions. */
const UNSHARED = named(SHARING_FOLDER, [
  'archive-refusals', 'bench', 'import-form', 'language', 'markdown-math', 'moving-git', 'oidc-hostile',
  'old-revisions', 'origin-cache', 'render', 'sign-in', 'traces', 'warm', 'write-limit'
])

/**
 * The costliest files whose area has others: without them `make test` takes half as long. They are the first of the
 * slow ones.
 */
const IN_DEPTH = new Set([
  ...named('wiki-app/test/browser', ['api', 'codemirror', 'every-page', 'offline', 'reading', 'writing']),
  ...named('wiki-app/test', [
    'archive', 'archive-identity', 'concurrency', 'counts', 'cross-site-scripting', 'deferred-saves', 'digest',
    'errors', 'fan-out', 'import-folder', 'markdown-diagrams', 'members', 'moving-history', 'moving-mediawiki',
    'moving-renamed', 'old-revisions', 'origin-cache', 'pictures-disk', 'private-wiki-nginx', 'purge-log',
    'purge-queue', 'renderer', 'scale', 'search-index', 'traces', 'write-behind'
  ]),
  ...named('loadgen/test', ['import-kinds', 'load', 'profile', 'setup']),
  ...named('nginx/test', ['edge-16-stuck', 'edge-21-attacked', 'edge-32-eviction'])
])

/** Whole trials and restarts: minutes of processor time each. */
const WHOLE = new Set([
  ...named('loadgen/test', [
    'blocks', 'conditions', 'edges', 'fan-out', 'generators', 'link-fault', 'named-database', 'own-edit', 'records',
    'replay', 'saves', 'shared', 'short-links', 'simulate', 'tls', 'tracing', 'verify', 'warm-up', 'wikis',
    'write-batching'
  ]),
  ...named('wiki-app/test', ['moving-stopped', 'torture'])
])

/** Files that measure times or take most of the machine: nothing runs at the same time. */
const ALONE = new Set([
  ...named('loadgen/test', ['verify']),
  ...named('loadgen/test/slow', ['bench-crawlers', 'loads']),
  ...named('nginx/test/slow', ['edge-load']),
  ...named('wiki-app/test/slow', ['crawlers', 'overload', 'replaced', 'slow-clients'])
])

/** Of `make test`. @returns {TestFiles} */
export const testFiles = () => inProcesses(filesIn(FOLDERS).filter((file) => !IN_DEPTH.has(file) && !WHOLE.has(file)))

/** The first of `make test-slow`. @returns {TestFiles} */
export const testFilesInDepth = () => inProcesses(filesIn(FOLDERS).filter((file) => IN_DEPTH.has(file)))

/** The others. @returns {TestFiles} */
export const slowTestFiles = () =>
  inProcesses([...filesIn(FOLDERS).filter((file) => WHOLE.has(file)), ...filesIn(SLOW_FOLDERS)])

/** @param {string[]} folders @returns {string[]} */
const filesIn = (folders) => folders.flatMap((folder) => readdirSync(path.join(ROOT, folder))
  .filter((file) => file.endsWith('.test.js')).sort().map((file) => path.join(folder, file)))

/** @param {string[]} all @returns {TestFiles} */
function inProcesses (all) {
  const long = all.filter((file) => LONG.includes(file))
  const other = all.filter((file) => !LONG.includes(file) && !ALONE.has(file))
  const sharing = other.filter((file) => path.dirname(file) === SHARING_FOLDER && !UNSHARED.includes(file) &&
    readFileSync(path.join(ROOT, file), 'utf8').includes(SHARING))
  const inBrowser = other.filter((file) => path.dirname(file) === BROWSER_FOLDER)
  const single = (/** @type {string[]} */ files) => files.map((file) => [file])
  const apart = single(other.filter((file) => !sharing.includes(file) && !inBrowser.includes(file)))
  return {
    beside: [
      ...single(long), ...together(inBrowser, FILES_IN_A_PROCESS), ...together(sharing, FILES_IN_A_PROCESS), ...apart
    ],
    alone: single(all.filter((file) => ALONE.has(file)))
  }
}

/**
 * @template T @param {T[]} files @param {number} most
 * @returns {T[][]} as many groups as needed, each with files of the whole alphabet
 */
export function together (files, most) {
  const count = Math.ceil(files.length / most)
  return Array.from({ length: count }, (_, group) => files.filter((_, index) => index % count === group))
}
