// Runs a suite of checks, shows their output, and ends with the numbers of passed and failed tests.
// `node .ci/test.js [all|slow]`. TESTS_START_UNTIL: seconds since 1970, after which no more slow files start.
// TESTS_TURN: a number; with another one, other slow files start first.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { readProcessStat } from '@stevec/harness/proc'
import { commandCheck, testFilesCheck } from './checks.js'

/** @typedef {import('./checks.js').Check} Check */

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const bin = (/** @type {string} */ name) => path.join(ROOT, 'node_modules/.bin', name)
/** Version 7: `tsc` in .bin is that of version 6, which the linter needs. */
const TSC = path.join(ROOT, 'node_modules/typescript-7/bin/tsc')
const venv = (/** @type {string} */ name) => path.join(ROOT, '.venv/bin', name)
/** @type {(name: string, file: string, args: string[]) => Check} */
const command = (name, file, args) => commandCheck(name, ROOT, file, args)

const [SLOWEST_SHOWN, FILES_SHOWN] = [20, 20]

/** More than the cores: most tests mainly wait, for a database, a timer or a lifetime. */
const FILES_AT_ONCE = Math.min(6, os.availableParallelism() + 2)
/** These start whole stacks. */
const SLOW_FILES_AT_ONCE = 2
/** About ten minutes of them, so that some turns show all. */
const SLOW_FILES_IN_A_PART = 10

const FOLDERS = [
  '.ci',
  'harness/test', 'wiki-app/test', 'wiki-app/test/browser', 'nginx/test', 'cdn/test', 'deploy/test', 'loadgen/test',
  'arm-image/test'
]

const SLOW_FOLDERS = ['wiki-app/test/slow', 'nginx/test/slow', 'deploy/test/slow', 'loadgen/test/slow']

/** The longest files, which start first. */
const LONG = [
  'loadgen/test/run.test.js',
  'wiki-app/test/browser/every-page.test.js',
  'wiki-app/test/browser/reading.test.js',
  'wiki-app/test/browser/writing.test.js',
  'wiki-app/test/purge-queue.test.js',
  'wiki-app/test/concurrency.test.js',
  'wiki-app/test/server.test.js'
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
const UNSHARED = [
  'archive-refusals', 'bench', 'import-form', 'language', 'markdown-math', 'moving-git', 'oidc-hostile',
  'old-revisions', 'origin-cache', 'render', 'sign-in', 'traces', 'warm', 'write-limit'
].map((name) => `${SHARING_FOLDER}/${name}.test.js`)

/** Whole trials and restarts: minutes of processor time each, so they run with the slow ones. */
const LATER = [
  ...[
    'blocks', 'conditions', 'edges', 'fan-out', 'generators', 'link-fault', 'named-database', 'own-edit', 'records',
    'replay', 'saves', 'shared', 'short-links', 'simulate', 'tls', 'tracing', 'warm-up', 'wikis', 'write-batching'
  ].map((name) => `loadgen/test/${name}.test.js`),
  'wiki-app/test/moving-stopped.test.js',
  'wiki-app/test/torture.test.js'
]

/** Files that measure times or take most of the machine: nothing runs at the same time. */
const ALONE = [
  'loadgen/test/verify.test.js',
  'loadgen/test/slow/bench-crawlers.test.js',
  'loadgen/test/slow/loads.test.js',
  'nginx/test/slow/edge-load.test.js',
  'wiki-app/test/slow/crawlers.test.js',
  'wiki-app/test/slow/overload.test.js',
  'wiki-app/test/slow/replaced.test.js',
  'wiki-app/test/slow/slow-clients.test.js'
]

/**
 * @typedef {object} Suite
 * @property {number} budget_min  minutes, on two slow cores
 * @property {Check[][]} lanes  run concurrently, the checks of a lane one by one; only the first lane prints live
 * @property {Check[]} alone  run one by one, after the lanes
 */

const startUntilMs = Number(process.env.TESTS_START_UNTIL ?? Infinity) * 1000
const isLate = () => Date.now() > startUntilMs

/** @type {Record<string, () => Suite>} */
const SUITES = {
  all () {
    const files = testFiles(FOLDERS, (file) => !LATER.includes(file))
    return {
      budget_min: 15,
      lanes: [
        [testFilesCheck('tests JavaScript', ROOT, files.beside, FILES_AT_ONCE)],
        [
          command('lint JavaScript', bin('eslint'), ['.', '--max-warnings', '0']),
          command('lint Python', venv('ruff'), ['check', '--quiet', 'analysis']),
          command('format Python', venv('ruff'), ['format', '--check', '--quiet', 'analysis']),
          command('vet Go, links', 'go', ['vet', '-C', path.join(ROOT, 'harness/links'), './...']),
          command('vet Go, k6', 'go', ['vet', '-C', path.join(ROOT, 'harness/k6'), './...']),
          command('vet Go, Helm', 'go', ['vet', '-C', path.join(ROOT, 'harness/helm'), './...']),
          command('vet Go, Porcupine', 'go', ['vet', '-C', path.join(ROOT, 'harness/porcupine'), './...']),
          command('vet Go, Compose', 'go', ['vet', '-C', path.join(ROOT, 'deploy/containers/check'), './...']),
          command('tests Go, k6', 'go', ['test', '-C', path.join(ROOT, 'harness/k6'), './...']),
          command('types', TSC, ['--project', 'tsconfig.json']),
          command('types in the browser', TSC, ['--project', 'wiki-app/src/assets']),
          pytestCheck()
        ]
      ],
      alone: [testFilesCheck('tests JavaScript, alone', ROOT, files.alone, 1)]
    }
  },
  slow () {
    const isSlow = (/** @type {string} */ file) => LATER.includes(file) || path.dirname(file).endsWith('/slow')
    const files = testFiles([...FOLDERS, ...SLOW_FOLDERS], isSlow)
    const parts = together(files.beside, SLOW_FILES_IN_A_PART)
    const checks = parts.map((part, index) => testFilesCheck(
      `slow tests JavaScript, part ${index + 1} of ${parts.length}`, ROOT, part, SLOW_FILES_AT_ONCE, isLate
    ))
    checks.push(testFilesCheck('slow tests JavaScript, alone', ROOT, files.alone, 1, isLate))
    return { budget_min: 60, lanes: [inTurn(checks)], alone: [] }
  }
}

/** @param {Check[]} checks @returns {Check[]} another one first in each turn */
function inTurn (checks) {
  const first = Number(process.env.TESTS_TURN ?? 0) % checks.length
  return [...checks.slice(first), ...checks.slice(0, first)]
}

/**
 * @param {string[]} folders @param {(file: string) => boolean} isWanted
 * @returns {{beside: string[][], alone: string[][]}} files of one process each
 */
function testFiles (folders, isWanted) {
  const all = folders.flatMap((folder) => readdirSync(path.join(ROOT, folder))
    .filter((file) => file.endsWith('.test.js')).sort().map((file) => path.join(folder, file))).filter(isWanted)
  const long = all.filter((file) => LONG.includes(file))
  const other = all.filter((file) => !LONG.includes(file) && !ALONE.includes(file))
  const sharing = other.filter((file) => path.dirname(file) === SHARING_FOLDER && !UNSHARED.includes(file) &&
    readFileSync(path.join(ROOT, file), 'utf8').includes(SHARING))
  const inBrowser = other.filter((file) => path.dirname(file) === BROWSER_FOLDER)
  const single = (/** @type {string[]} */ files) => files.map((file) => [file])
  const alone = single(other.filter((file) => !sharing.includes(file) && !inBrowser.includes(file)))
  return {
    beside: [
      ...single(long), ...together(inBrowser, FILES_IN_A_PROCESS), ...together(sharing, FILES_IN_A_PROCESS), ...alone
    ],
    alone: single(all.filter((file) => ALONE.includes(file)))
  }
}

/**
 * @template T @param {T[]} files @param {number} most
 * @returns {T[][]} as many groups as needed, each with files of the whole alphabet
 */
function together (files, most) {
  const count = Math.ceil(files.length / most)
  return Array.from({ length: count }, (_, group) => files.filter((_, index) => index % count === group))
}

/** https://docs.pytest.org/en/stable/how-to/output.html#creating-junitxml-format-files */
function pytestCheck () {
  const junitFile = path.join(os.tmpdir(), `stevec-pytest-${process.pid}.xml`)
  const args = ['-m', 'pytest', '--quiet', `--junitxml=${junitFile}`, 'analysis/tests']
  return commandCheck('tests Python', ROOT, venv('python'), args, () => readJunit(junitFile))
}

/** @param {string} file  removed; absent if pytest did not start */
function readJunit (file) {
  const xml = existsSync(file) ? readFileSync(file, 'utf8') : ''
  rmSync(file, { force: true })
  const [suite = ''] = /<testsuite .*?>/s.exec(xml) ?? []
  const count = (/** @type {string} */ name) => Number(new RegExp(` ${name}="(\\d+)"`).exec(suite)?.[1] ?? 0)
  const failed = count('failures') + count('errors')
  const durations = [...xml.matchAll(/<testcase classname="(.*?)" name="(.*?)" time="(.*?)"/gs)]
    .map(([, file, name, seconds]) => ({ name: `${file}: ${name}`, duration_s: Number(seconds) }))
  return { passed: count('tests') - failed - count('skipped'), failed, durations }
}

/** @returns {number | null} CPU time of this process and all its ended children; null without /proc */
function processorSeconds () {
  const stat = readProcessStat('self')
  return stat === null ? null : stat.cpu_s + stat.ended_children_cpu_s
}

/** @type {{check: Check, result: import('./checks.js').Result}[]} */
const ended = []

/**
 * @param {Check[]} checks
 * @param {boolean} live
 */
async function runLane (checks, live) {
  for (const check of checks) {
    if (live) console.log(`\n== ${check.name}`)
    ended.push({ check, result: await check.run(live) })
  }
}

const suite = SUITES[process.argv[2] ?? 'all']?.()
if (!suite) throw new Error(`there is no suite "${process.argv[2]}"; there is: ${Object.keys(SUITES).join(', ')}`)
await Promise.all(suite.lanes.map((checks, lane) => runLane(checks, lane === 0)))
await runLane(suite.alone, true)

const results = ended.map(({ result }) => result)
/** @type {(what: 'passed' | 'failed') => number} */
const sum = (what) => results.reduce((total, result) => total + result[what], 0)
const minutes = (/** @type {number} */ seconds) => (seconds / 60).toFixed(1)
/** @param {number} seconds @param {string} name */
const show = (seconds, name) => console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}`)

for (const failure of results.flatMap(({ failures }) => failures)) console.log(`\nFAILED  ${failure}`)
console.log('\nslowest:')
const slowest = results.flatMap(({ durations }) => durations).sort((one, other) => other.duration_s - one.duration_s)
for (const { name, duration_s: seconds } of slowest.slice(0, SLOWEST_SHOWN)) show(seconds, name)
console.log('\ncostliest files:')
const files = results.flatMap(({ files: each }) => [...each ?? []]).sort(([, one], [, other]) => other - one)
for (const [name, seconds] of files.slice(0, FILES_SHOWN)) show(seconds, name)
console.log()
for (const { check, result: { passed, failed } } of ended) {
  console.log(`${failed === 0 ? 'ok    ' : 'FAILED'}  ${check.name}: ${passed} passed, ${failed} failed`)
}
for (const file of results.flatMap(({ leftOut = [] }) => leftOut)) console.log(`left out, no time was left: ${file}`)
const processorS = processorSeconds()
const worked = processorS === null ? '' : `, ${minutes(processorS)} min of processor time`
console.log(`\n${minutes(performance.now() / 1000)} of ${suite.budget_min} min${worked}`)
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`)
process.exitCode = sum('failed') === 0 ? 0 : 1
