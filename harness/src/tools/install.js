import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfig } from '../config.js'
import { tryLock } from '../lock.js'
import { ToolError } from './locate.js'
import { createRunner } from './runner.js'
import { steps } from './steps.js'

/** Longer silence looks like a hang. */
const HEARTBEAT_MS = 15_000
/** Interval of checks whether another set-up has finished a step. */
const LOCK_POLL_MS = 500

/** @typedef {import('./step.js').Step} Step */

/**
 * @typedef {object} SetUp  a running set-up
 * @property {Promise<void>} browsing  resolves when everything that the wiki needs is installed
 * @property {Promise<void>} all  resolves when everything is installed; rejects with all failures, after the last step
 * @property {() => string[]} left  names of the steps that are not done yet
 */

/**
 * Installs missing tools and packages, and reports what it finds and does. If nothing is missing, it writes one line
 * and takes well under a second. Steps run concurrently; a step that another set-up is installing waits for it.
 * @param {object} options
 * @param {(text: string) => void} options.write
 * @param {string[]} [options.optional]  optional tools to install as well
 * @param {boolean} [options.onlyBrowsing]  true: start even if a step that only experiments need cannot be installed
 * @param {AbortSignal} [options.signal]  stops the set-up; finished steps stay installed
 * @param {Step[]} [options.wanted]
 * @returns {SetUp}
 * @throws {ToolError} before any installation, listing every needed step that cannot be installed
 */
export function beginSetUp ({ write, optional = [], onlyBrowsing = false, signal, wanted = steps(optional) }) {
  const present = new Map(wanted.map((step) => [step, step.present()]))
  const found = [...present.values()].filter((text) => text !== null)
  if (found.length > 0) write(`found: ${found.join(', ')}\n`)
  const missing = withNeeds(wanted.filter((step) => present.get(step) === null))
  if (missing.length === 0) return { browsing: Promise.resolve(), all: Promise.resolve(), left: () => [] }

  const needed = onlyBrowsing ? withNeeds(missing.filter(({ browsing }) => browsing)) : missing
  const blocked = needed.map((step) => step.blocked()).filter((reason) => reason !== null)
  if (blocked.length > 0) throw new ToolError(blocked.join('\n'))
  for (const { name, purpose, how } of missing) write(`to install: ${name}, for ${purpose} (${how})\n`)

  /** The start time of each running step. @type {Map<Step, number>} */
  const running = new Map()
  /** @type {Set<Step>} */
  const done = new Set()
  /** @type {Map<Step, Promise<void>>} */
  const started = new Map()

  /** @param {Step} step @returns {Promise<void>} */
  function start (step) {
    const outcome = started.get(step) ?? installAfterOthers(step)
    started.set(step, outcome)
    return outcome
  }

  /** @param {Step} step */
  async function installAfterOthers (step) {
    await Promise.all([...step.needs, ...step.after].filter((other) => missing.includes(other)).map(start))
    const reason = needed.includes(step) ? null : step.blocked()
    if (reason !== null) throw new ToolError(reason)
    const startedAt = performance.now()
    running.set(step, startedAt)
    try {
      await installOnce(step, { write, signal })
    } catch (error) {
      const others = running.size > 1 ? '; the other steps continue' : ''
      if (!signal?.aborted) write(`  ${step.name}: failed after ${seconds(startedAt)} s${others}\n`)
      throw error
    } finally {
      running.delete(step)
    }
    done.add(step)
    write(`  ${step.name}: done in ${seconds(startedAt)} s\n`)
  }

  const heartbeat = setInterval(() => {
    const now = [...running].map(([{ name, purpose }, startedAt]) => `${name}, for ${purpose} (${seconds(startedAt)} s)`)
    write(`  … waiting for ${now.join('; ')}\n`)
  }, HEARTBEAT_MS)
  const all = allOf(missing.map(start)).finally(() => clearInterval(heartbeat))
  const browsing = Promise.all(missing.filter(({ browsing }) => browsing).map(start)).then(() => {})
  // A step may fail before the caller awaits these; that must not be an unhandled rejection.
  for (const promise of [all, browsing]) promise.catch(() => {})
  return { browsing, all, left: () => missing.filter((step) => !done.has(step)).map(({ name }) => name) }
}

/**
 * @param {Step[]} some
 * @returns {Step[]} these steps, each after the missing steps that it needs
 */
function withNeeds (some) {
  const absent = (/** @type {Step} */ step) => step.needs.filter((need) => need.present() === null)
  return [...new Set(some.flatMap((step) => [...withNeeds(absent(step)), step]))]
}

/**
 * @param {Promise<void>[]} outcomes
 * @throws {ToolError} with all failures, after the last step has ended
 */
async function allOf (outcomes) {
  const settled = await Promise.allSettled(outcomes)
  const reasons = settled.flatMap((outcome) => outcome.status === 'rejected' ? [outcome.reason] : [])
  if (reasons.length === 0) return
  const interrupted = reasons.find(({ name }) => name === 'AbortError')
  if (interrupted !== undefined) throw interrupted
  const messages = new Set(reasons.map(({ message }) => message))
  throw new ToolError(`${[...messages].join('\n')}\nRemove the cause and run it again; finished steps are not repeated.`)
}

/**
 * Installs a step, unless another set-up installs it meanwhile.
 * @param {Step} step
 * @param {{write: (text: string) => void, signal?: AbortSignal}} options
 */
async function installOnce (step, { write, signal }) {
  const { toolsDirectory } = readConfig()
  mkdirSync(toolsDirectory, { recursive: true })
  const file = path.join(toolsDirectory, `setup-${step.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`)
  const { release, waited } = await lockStep(`${file}.lock`, step, { write, signal })
  try {
    if (waited && step.present() !== null) return
    rmSync(`${file}.log`, { force: true })
    await step.install(createRunner(`${file}.log`, { signal, lowPriority: step.lowPriority }))
  } finally {
    release()
  }
}

/**
 * @param {string} file
 * @param {Step} step
 * @param {{write: (text: string) => void, signal?: AbortSignal}} options
 */
async function lockStep (file, step, { write, signal }) {
  for (let waited = false; ; waited = true) {
    signal?.throwIfAborted()
    const { release, holder } = tryLock(file)
    if (release !== null) return { release, waited }
    if (!waited) write(`  ${step.name}: another set-up (process ${holder}) installs it; waiting for that\n`)
    await sleep(LOCK_POLL_MS, undefined, { signal })
  }
}

/** @param {number} startedAt */
const seconds = (startedAt) => Math.round((performance.now() - startedAt) / 1000)
