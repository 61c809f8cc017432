// The two kinds of checks: a command that passes or fails, and files of tests for Node's test runner.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { run } from 'node:test'
import { spec as Spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'

/**
 * @typedef {object} Result
 * @property {number} passed
 * @property {number} failed
 * @property {{name: string, duration_s: number}[]} durations  of single tests
 * @property {Map<string, number>} [files]  seconds that the tests of each file took, without its start
 * @property {string[]} failures  the messages
 * @property {string[]} [leftOut]  files that did not start in time
 */

/** @typedef {{name: string, run: (live: boolean) => Promise<Result>}} Check */

/** A process that takes longer has hung, even if it has several files, and others run beside it on a slow machine. */
const PROCESS_TIMEOUT_MS = 2_400_000
const FAILURE_LINES_MAX = 40
const SUMS = /^[^\n]*\u2139 (?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+\n/gm

/**
 * Returns a check that runs a command; without `read` it counts as one test.
 * @param {string} name
 * @param {string} directory
 * @param {string} command
 * @param {string[]} args
 * @param {(output: string) => Pick<Result, 'passed' | 'failed' | 'durations'>} [read]  parses a test runner's output
 * @returns {Check}
 */
export const commandCheck = (name, directory, command, args, read) => ({
  name,
  async run (live) {
    const { exitCode, output } = await capture(directory, command, args, live)
    const said = read?.(output) ?? { passed: exitCode === 0 ? 1 : 0, failed: 0, durations: [] }
    // A runner that fails without a failed test (a crash, or no tests found) counts as a failure.
    const failed = said.failed === 0 && (exitCode !== 0 || said.passed === 0) ? 1 : said.failed
    const end = output.trimEnd().split('\n').slice(-FAILURE_LINES_MAX).join('\n')
    return { ...said, failed, failures: failed === 0 ? [] : [`${name}\n${end}`] }
  }
})

/**
 * @param {string} directory
 * @param {string} command
 * @param {string[]} args
 * @param {boolean} live  false: shows the output only after the end of the command
 * @returns {Promise<{exitCode: number | null, output: string}>}
 */
function capture (directory, command, args, live) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => {
        output += chunk
        if (live) process.stdout.write(chunk)
      })
    }
    child.once('error', (error) => resolve({ exitCode: 1, output: String(error) }))
    child.once('close', (exitCode) => {
      if (!live) process.stdout.write(output)
      resolve({ exitCode, output })
    })
  })
}

/**
 * Returns a check that runs test files, started in this order.
 * @param {string} name
 * @param {string} directory
 * @param {string[][]} groups  files that share a process
 * @param {number} concurrency  processes at a time
 * @param {() => boolean} [isLate]  whether no more may start
 * @returns {Check}
 */
export const testFilesCheck = (name, directory, groups, concurrency, isLate = () => false) => ({
  name,
  async run () {
    const temporary = mkdtempSync(path.join(tmpdir(), 'stevec-tests-'))
    const tally = createTally(directory)
    const waiting = groups.map((group, index) => {
      const paths = group.map((file) => path.join(directory, file))
      return paths.length === 1 ? paths[0] : importing(paths, path.join(temporary, `group-${index}.test.mjs`))
    })
    await Promise.all(Array.from({ length: concurrency }, async () => {
      while (waiting.length > 0 && !isLate()) await runFile(/** @type {string} */ (waiting.shift()), tally)
    }))
    rmSync(temporary, { recursive: true, force: true })
    const leftOut = waiting.map((file) => path.relative(directory, file))
    const { result } = tally
    if (result.passed + result.failed + leftOut.length > 0) return { ...result, leftOut }
    return { ...result, leftOut, failed: 1, failures: [`${name}: no test was found`] }
  }
})

/** @param {string} directory  that names of files are relative to */
function createTally (directory) {
  /** @type {Result & {files: Map<string, number>}} */
  const result = { passed: 0, failed: 0, durations: [], failures: [], files: new Map() }
  const titleOf = (/** @type {{name: string, file?: string}} */ test) =>
    `${test.file === undefined ? '' : path.relative(directory, test.file)}: ${test.name}`
  return {
    result,

    /** @param {{nesting: number, file?: string, details: {duration_ms: number}}} test */
    count ({ nesting, file, details: { duration_ms: durationMs } }) {
      if (nesting > 0 || file === undefined) return
      const name = path.relative(directory, file)
      result.files.set(name, (result.files.get(name) ?? 0) + durationMs / 1000)
    },

    /** @param {import('node:test').EventData.TestPass} test */
    pass (test) {
      if (test.details.type === 'suite' || test.skip !== undefined || test.todo !== undefined) return
      result.passed += 1
      result.durations.push({ name: titleOf(test), duration_s: test.details.duration_ms / 1000 })
    },

    /** @param {import('node:test').EventData.TestFail} test */
    fail (test) {
      const { error } = test.details
      const { failureType, cause } = /** @type {Error & {failureType?: string}} */ (error)
      // A parent test fails together with its subtests; only those count.
      if (failureType === 'subtestsFailed') return
      result.failed += 1
      const why = cause instanceof Error ? String(cause.stack) : String(cause ?? error)
      result.failures.push(`${titleOf(test)}\n${why.split('\n').slice(0, FAILURE_LINES_MAX).join('\n')}`)
    }
  }
}

/** In its own process, whose output is shown. @param {string} file @param {ReturnType<typeof createTally>} tally */
async function runFile (file, tally) {
  const stream = run({ files: [file], timeout: PROCESS_TIMEOUT_MS })
  stream.on('test:pass', (test) => { tally.count(test); tally.pass(test) })
  stream.on('test:fail', (test) => { tally.count(test); tally.fail(test) })
  for await (const text of stream.compose(new Spec())) {
    // Without the numbers of each file: there is one sum at the end.
    process.stdout.write(String(text).replace(SUMS, ''))
  }
}

/** @param {string[]} paths @param {string} file  is written @returns {string} the file, which runs the tests of all */
function importing (paths, file) {
  writeFileSync(file, paths.map((each) => `import ${JSON.stringify(pathToFileURL(each))}\n`).join(''))
  return file
}
