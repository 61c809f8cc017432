// Runs a suite of checks, shows their output, and ends with the numbers of passed and failed tests.
// `node .ci/test.js [all|slow]`. TESTS_START_UNTIL: seconds since 1970, after which no more slow files start.
// TESTS_TURN: a number; with another one, other slow files start first.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { readProcessStat } from '@stevec/harness/proc'
import { commandCheck, testFilesCheck } from './checks.js'
import { ROOT, slowTestFiles, testFiles, testFilesInDepth, together } from './test-files.js'

/** @typedef {import('./checks.js').Check} Check */

const bin = (/** @type {string} */ name) => path.join(ROOT, 'node_modules/.bin', name)
/** Version 7: `tsc` in .bin is that of version 6, which the linter needs. */
const TSC = path.join(ROOT, 'node_modules/typescript-7/bin/tsc')
const venv = (/** @type {string} */ name) => path.join(ROOT, '.venv/bin', name)
/** @type {(name: string, file: string, args: string[]) => Check} */
const command = (name, file, args) => commandCheck(name, ROOT, file, args)
const go = (/** @type {string} */ name, /** @type {'vet' | 'test'} */ verb, /** @type {string} */ folder) =>
  command(name, 'go', [verb, '-C', path.join(ROOT, folder), './...'])
/** As set-up builds, so that its cache has the packages: without it `go vet` of k6 takes six times as long. */
process.env.GOFLAGS = `${process.env.GOFLAGS ?? ''} -trimpath`

const [SLOWEST_SHOWN, FILES_SHOWN] = [20, 20]

/** More than the cores: most tests mainly wait, for a database, a timer or a lifetime. */
const FILES_AT_ONCE = Math.min(6, os.availableParallelism() + 2)
/** These start whole stacks. */
const SLOW_FILES_AT_ONCE = 2
/** About ten minutes of them, so that some turns show all. */
const SLOW_FILES_IN_A_PART = 10

/**
 * @typedef {object} Suite
 * @property {number} budget_min  minutes, on two slow cores
 * @property {Check[][][]} stages  one after the other; of each the lanes run concurrently, the checks of a lane one by
 *   one; only the first lane prints live
 */

const startUntilMs = Number(process.env.TESTS_START_UNTIL ?? Infinity) * 1000
const isLate = () => Date.now() > startUntilMs

/** @type {Record<string, () => Suite>} */
const SUITES = {
  all: () => ({
    budget_min: 15,
    stages: [[
      [testFilesCheck('tests JavaScript', ROOT, testFiles().beside, FILES_AT_ONCE)],
      [
        command('lint JavaScript', bin('eslint'), ['.', '--max-warnings', '0']),
        command('lint Python', venv('ruff'), ['check', '--quiet', 'analysis']),
        command('format Python', venv('ruff'), ['format', '--check', '--quiet', 'analysis']),
        go('vet Go, links', 'vet', 'harness/links'),
        go('vet Go, k6', 'vet', 'harness/k6'),
        go('tests Go, k6', 'test', 'harness/k6'),
        command('types', TSC, ['--project', 'tsconfig.json']),
        command('types in the browser', TSC, ['--project', 'wiki-app/src/assets']),
        pytestCheck('tests Python', 'not slow')
      ]
    ]]
  }),

  slow () {
    const { beside, alone } = slowTestFiles()
    const parts = together(beside, SLOW_FILES_IN_A_PART).map((part, index, { length }) => testFilesCheck(
      `slow tests JavaScript, part ${index + 1} of ${length}`, ROOT, part, SLOW_FILES_AT_ONCE, isLate
    ))
    parts.push(testFilesCheck('slow tests JavaScript, alone', ROOT, alone, 1, isLate))
    const inDepth = [
      [testFilesCheck('tests JavaScript, in depth', ROOT, testFilesInDepth().beside, FILES_AT_ONCE, isLate)],
      [
        pytestCheck('tests Python, slow', 'slow'),
        go('vet Go, Helm', 'vet', 'harness/helm'),
        go('vet Go, Porcupine', 'vet', 'harness/porcupine'),
        go('vet Go, Compose', 'vet', 'deploy/containers/check')
      ]
    ]
    return { budget_min: 90, stages: [inDepth, [inTurn(parts)]] }
  }
}

/** @param {Check[]} checks @returns {Check[]} another one first in each turn */
function inTurn (checks) {
  const first = Number(process.env.TESTS_TURN ?? 0) % checks.length
  return [...checks.slice(first), ...checks.slice(0, first)]
}

/**
 * https://docs.pytest.org/en/stable/how-to/output.html#creating-junitxml-format-files
 * @param {string} name @param {string} marks  an expression: https://docs.pytest.org/en/stable/example/markers.html
 */
function pytestCheck (name, marks) {
  const junitFile = path.join(os.tmpdir(), `stevec-pytest-${process.pid}.xml`)
  const args = ['-m', 'pytest', '-m', marks, '--quiet', `--junitxml=${junitFile}`, 'analysis/tests']
  return commandCheck(name, ROOT, venv('python'), args, () => readJunit(junitFile))
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
for (const lanes of suite.stages) await Promise.all(lanes.map((checks, lane) => runLane(checks, lane === 0)))

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
