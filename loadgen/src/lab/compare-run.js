import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { lockFolder } from '@stevec/harness/folder-lock'
import { LockedError } from '@stevec/harness/machine-lock'
import { createRandom } from '@stevec/harness/random'
import { addWorktree, removeWorktrees, sharePackages } from '@stevec/harness/worktree'
import { EXIT } from '../exit-codes.js'
import { readManifest } from './manifest.js'
import { analysisOutput, runAnalysis } from './python.js'
import { ResultsError, runName } from './results.js'

const MODULE = 'stevec_compare'

/** @typedef {'old' | 'new'} Side */
/** @type {Side[]} */
const SIDES = ['old', 'new']
/** The comparison calls them A and B. */
const SHOWN = Object.freeze({ old: 'A, old', new: 'B, new' })

/**
 * @typedef {object} Comparing
 * @property {ReturnType<typeof import('../config.js').readConfig>} config
 * @property {Record<Side, {ref: string, commit: string}>} versions
 * @property {string} experiment  a name, or the path of a file
 * @property {number} rounds
 * @property {number} seed
 * @property {string} [gate]  a file
 * @property {string[]} runOptions  of `stevec run`
 * @property {AbortSignal} signal
 */

/**
 * Returns the order of the runs: one of each version in a round, A B B A or B A A B in each two rounds. So a machine
 * that becomes slower evenly does so for both versions.
 * @param {number} rounds
 * @param {number} seed
 * @returns {Side[]}
 */
export function turns (rounds, seed) {
  const random = createRandom(seed)
  /** @type {Side[]} */
  const order = []
  while (order.length < 2 * rounds) {
    const [one, other] = random() < 0.5 ? SIDES : [...SIDES].reverse()
    order.push(one, other, other, one)
  }
  return order.slice(0, 2 * rounds)
}

/**
 * Runs an experiment with two versions of this repository in turns, and compares them.
 * @param {Comparing} comparing
 * @returns {Promise<number>} exit code
 * @throws {LockedError} when another process has checked out versions into this state folder
 */
export async function compareVersions (comparing) {
  const { config, experiment, signal } = comparing
  const trees = path.join(config.stateDirectory, 'compare-run')
  const release = await lockFolder(trees)
  if (release === null) throw new LockedError(`another comparison uses the folder ${trees}; wait for its end`)
  const directory = path.join(
    config.resultsDirectory,
    runName(new Date(), `compare-${path.basename(experiment, '.json')}`, comparing.versions.new.commit)
  )
  try {
    // A process that was killed leaves its trees.
    await removeWorktrees(trees)
    for (const side of SIDES) await openVersion(side, path.join(trees, side), comparing)
    const runs = await runInTurns(directory, trees, comparing)
    return await compareRuns(directory, runs, comparing.gate)
  } finally {
    await removeWorktrees(trees)
    await release()
    if (signal.aborted) note('the versions are removed again')
  }
}

const note = (/** @type {string} */ text) => process.stdout.write(`${text}\n`)

/**
 * Checks out a version, and installs what it lacks.
 * @param {Side} side
 * @param {string} tree
 * @param {Comparing} comparing
 */
async function openVersion (side, tree, { config, versions, signal }) {
  const { ref, commit } = versions[side]
  note(`${SHOWN[side]}: ${ref} (${commit.slice(0, 7)})`)
  signal.throwIfAborted()
  await addWorktree(commit, tree)
  if (!existsSync(path.join(tree, 'loadgen/bin/stevec.js'))) {
    throw new ResultsError(`${ref} has no loadgen/bin/stevec.js, so nothing can be measured; choose a later commit`)
  }
  sharePackages(tree)
  const exitCode = await stevec(tree, ['setup'], { STEVEC_TOOLS: config.toolsDirectory }, signal)
  if (exitCode !== EXIT.good) throw new Error(`${side} could not be set up; the output above says why`)
}

/**
 * @param {string} directory
 * @param {string} trees
 * @param {Comparing} comparing
 * @returns {Promise<Record<Side, string[]>>} the folders of the runs
 */
async function runInTurns (directory, trees, comparing) {
  /** @type {Record<Side, string[]>} */
  const runs = { old: [], new: [] }
  const order = turns(comparing.rounds, comparing.seed)
  const startedAt = performance.now()
  for (const [index, side] of order.entries()) {
    const left = index === 0 ? '' : `, about ${minutesLeft(startedAt, index, order.length)} min left`
    note(`\nrun ${index + 1} of ${order.length}: ${SHOWN[side]}${left}`)
    runs[side].push(await runOnce(path.join(directory, side), path.join(trees, side), comparing))
    if (index === 1) await refuseIncomparable(runs)
  }
  return runs
}

/** @type {(startedAt: number, done: number, all: number) => number} */
const minutesLeft = (startedAt, done, all) =>
  Math.max(1, Math.round((performance.now() - startedAt) / done * (all - done) / 60_000))

/**
 * @param {string} results  of this side
 * @param {string} tree
 * @param {Comparing} comparing
 * @returns {Promise<string>} the folder of the run
 */
async function runOnce (results, tree, { config, experiment, seed, runOptions, signal }) {
  mkdirSync(results, { recursive: true })
  const before = new Set(readdirSync(results))
  const exitCode = await stevec(
    tree,
    ['run', experiment, '--wait', `--seed=${seed}`, ...runOptions],
    { STEVEC_TOOLS: config.toolsDirectory, STEVEC_STATE: config.stateDirectory, STEVEC_RESULTS: results },
    signal
  )
  const run = readdirSync(results).filter((name) => !before.has(name)).map((name) => path.join(results, name))
    .find((folder) => readManifest(folder)?.status === 'complete')
  // Invalid trials are named by the comparison.
  if (run === undefined || (exitCode !== EXIT.good && exitCode !== EXIT.violated)) {
    throw new Error(`the run ended with exit code ${exitCode}; the output above says why. Earlier runs are in ` +
      `${path.dirname(results)}, and \`stevec compare\` takes them`)
  }
  return run
}

/**
 * Runs a version's `stevec`. A Ctrl-C at the terminal reaches only this process, which then stops that one in order.
 * @param {string} tree
 * @param {string[]} args
 * @param {Record<string, string>} env
 * @param {AbortSignal} signal
 * @returns {Promise<number | null>} its exit code
 * @throws {DOMException} AbortError, when the signal aborts, after the end of the process
 */
async function stevec (tree, args, env, signal) {
  signal.throwIfAborted()
  const child = spawn(
    'setpriv',
    ['--pdeathsig', 'TERM', '--', process.execPath, path.join(tree, 'loadgen/bin/stevec.js'), ...args],
    { env: { ...process.env, ...env }, stdio: ['ignore', 'inherit', 'inherit'], detached: true }
  )
  const stop = () => { child.kill('SIGTERM') }
  signal.addEventListener('abort', stop, { once: true })
  try {
    const [exitCode] = await once(child, 'close')
    signal.throwIfAborted()
    return exitCode
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/**
 * Stops after the first round if the versions' runs cannot be compared.
 * @param {Record<Side, string[]>} runs
 * @throws {ResultsError}
 */
async function refuseIncomparable ({ old, new: recent }) {
  try {
    await analysisOutput(MODULE, ['--force', '--json', ...old, '--', ...recent])
  } catch (error) {
    const { stderr = '', message } = /** @type {Error & {stderr?: string}} */ (error)
    throw new ResultsError(stderr.trim().split('\n')[0] || message)
  }
}

/**
 * @param {string} directory
 * @param {Record<Side, string[]>} runs
 * @param {string} [gate]
 * @returns {Promise<number>} exit code
 */
async function compareRuns (directory, { old, new: recent }, gate) {
  const sides = ['--force', ...old, '--', ...recent]
  writeFileSync(path.join(directory, 'comparison.json'), await analysisOutput(MODULE, ['--json', ...sides]))
  note(`\nin ${path.relative(process.cwd(), directory)}: comparison.json, comparison.svg, and the runs\n`)
  return runAnalysis(MODULE, [
    `--svg=${path.join(directory, 'comparison.svg')}`,
    ...gate === undefined ? [] : [`--gate=${gate}`],
    ...sides
  ])
}
