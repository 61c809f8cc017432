// Runs a suite of checks, shows what each prints, and ends with how many passed and failed. `node .ci/test.js [all|slow]`
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const bin = (/** @type {string} */ name) => path.join(ROOT, 'node_modules/.bin', name)
const venv = (/** @type {string} */ name) => path.join(ROOT, '.venv/bin', name)

/**
 * @typedef {object} Check
 * @property {string} name
 * @property {string} command
 * @property {string[]} args
 * @property {(output: string) => {passed: number, failed: number}} [counts]  what a test runner prints; a check without it counts as one
 */

const javaScriptTests = (/** @type {string} */ name, /** @type {string[]} */ folders) => ({
  name,
  command: process.execPath,
  args: ['--test', '--test-timeout=600000', '--test-reporter=spec', ...testFiles(folders)],
  counts: (/** @type {string} */ output) => ({ passed: lastNumber(output, /^ℹ pass (\d+)$/gm), failed: lastNumber(output, /^ℹ (?:fail|cancelled) (\d+)$/gm) })
})

/**
 * Lanes that run beside each other, so that the tests' waiting is made use of; the checks of a lane run in turn.
 * @type {Record<string, () => Check[][]>}
 */
const SUITES = {
  all: () => [
    [javaScriptTests('tests JavaScript', ['wiki-app/test', 'wiki-app/test/browser', 'nginx/test', 'cdn/test', 'loadgen/test', 'arm-image/test'])],
    [
      { name: 'lint JavaScript', command: bin('eslint'), args: ['.', '--max-warnings', '0'] },
      { name: 'lint Python', command: venv('ruff'), args: ['check', '--quiet', 'analysis'] },
      { name: 'format Python', command: venv('ruff'), args: ['format', '--check', '--quiet', 'analysis'] },
      { name: 'vet Go', command: 'go', args: ['vet', '-C', path.join(ROOT, 'loadgen/links'), './...'] },
      { name: 'types', command: bin('tsc'), args: ['--project', 'tsconfig.json'] },
      { name: 'types in the browser', command: bin('tsc'), args: ['--project', 'wiki-app/src/assets'] },
      {
        name: 'tests Python',
        command: venv('python'),
        args: ['-m', 'pytest', '--quiet', 'analysis/tests'],
        counts: (output) => ({ passed: lastNumber(output, /(\d+) passed/g), failed: lastNumber(output, /(\d+) (?:failed|error)/g) })
      }
    ]
  ],
  slow: () => [[javaScriptTests('slow tests JavaScript', ['wiki-app/test/slow', 'loadgen/test/slow'])]]
}

/** @param {string[]} folders */
function testFiles (folders) {
  return folders.flatMap((folder) => readdirSync(path.join(ROOT, folder)).filter((file) => file.endsWith('.test.js')).sort().map((file) => path.join(folder, file)))
}

/**
 * @param {string} output
 * @param {RegExp} pattern
 */
function lastNumber (output, pattern) {
  // eslint-disable-next-line no-control-regex -- colours
  const matches = [...output.replace(/\u001b\[\d+m/g, '').matchAll(pattern)]
  return Math.max(0, ...matches.map((match) => Number(match[1])))
}

/**
 * Only the first lane prints as it goes; what the others print follows when a check has ended.
 * @param {Check} check
 * @param {boolean} live
 */
function run ({ command, args }, live) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => {
        output += chunk
        if (live) process.stdout.write(chunk)
      })
    }
    child.once('error', (error) => resolve({ exitCode: 1, output: String(error) }))
    child.once('close', (exitCode) => resolve({ exitCode, output }))
  })
}

let passed = 0
let failed = 0
/** @type {string[]} */
const summary = []

/**
 * @param {Check[]} checks
 * @param {boolean} live
 */
async function runLane (checks, live) {
  for (const check of checks) {
    if (live) console.log(`\n== ${check.name}`)
    const { exitCode, output } = await run(check, live)
    if (!live) console.log(`\n== ${check.name}\n${output}`)
    const counts = check.counts?.(output) ?? { passed: exitCode === 0 ? 1 : 0, failed: exitCode === 0 ? 0 : 1 }
    // A runner that fails without a failed test (it crashed, or found none) must not count as good.
    if (exitCode !== 0 && counts.failed === 0) counts.failed = 1
    if (exitCode === 0 && counts.passed === 0) counts.failed = 1
    passed += counts.passed
    failed += counts.failed
    summary.push(`${counts.failed === 0 ? 'ok    ' : 'FAILED'}  ${check.name}: ${counts.passed} passed, ${counts.failed} failed`)
  }
}

const suite = SUITES[process.argv[2] ?? 'all']
if (!suite) throw new Error(`there is no suite "${process.argv[2]}"; there is: ${Object.keys(SUITES).join(', ')}`)
await Promise.all(suite().map((checks, lane) => runLane(checks, lane === 0)))
console.log(`\n${summary.join('\n')}\n\n${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
