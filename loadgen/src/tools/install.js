import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { readConfig, ROOT } from '../config.js'
import { ToolError } from './locate.js'
import { createRunner, steps } from './steps.js'

/** Silence for longer than this looks like a hang. */
const HEARTBEAT_MS = 15_000

/**
 * Installs what is missing, and says what it finds and does. Nothing missing: one line, well under a second.
 * @param {(text: string) => void} write
 * @param {string[]} [optional]  tools that are only installed when they are asked for
 * @throws {ToolError} naming everything that cannot be installed, before anything is, or what failed
 */
export async function installMissing (write, optional = []) {
  const all = steps(optional)
  const present = all.map((step) => step.present())
  const missing = all.filter((_, index) => present[index] === null)
  const found = present.filter((text) => text !== null)
  if (found.length > 0) write(`found: ${found.join(', ')}\n`)
  if (missing.length === 0) return

  const blocked = missing.map((step) => step.blocked()).filter((reason) => reason !== null)
  if (blocked.length > 0) throw new ToolError(blocked.join('\n'))

  const { toolsDirectory } = readConfig()
  mkdirSync(toolsDirectory, { recursive: true })
  for (const entry of readdirSync(toolsDirectory)) if (entry.includes('.partial-')) rmSync(path.join(toolsDirectory, entry), { recursive: true, force: true })
  for (const step of missing) write(`to install: ${step.name} (${step.how})\n`)

  const logFile = path.join(toolsDirectory, 'setup.log')
  rmSync(logFile, { force: true })
  const run = createRunner(logFile)
  const startedAt = performance.now()
  const underWay = new Set()
  const heartbeat = setInterval(() => write(`  … ${[...underWay].join(', ')} (${Math.round((performance.now() - startedAt) / 1000)} s so far)\n`), HEARTBEAT_MS)
  const lanes = [...new Set(missing.map(({ lane }) => lane))]
  const outcomes = await Promise.allSettled(lanes.map(async (lane) => {
    for (const step of missing.filter((candidate) => candidate.lane === lane)) {
      const stepStartedAt = performance.now()
      underWay.add(step.name)
      try {
        await step.install(run)
      } finally {
        underWay.delete(step.name)
      }
      write(`  ${step.name}: done in ${Math.round((performance.now() - stepStartedAt) / 1000)} s\n`)
    }
  }))
  clearInterval(heartbeat)
  const failures = outcomes.flatMap((outcome) => outcome.status === 'rejected' ? [outcome.reason.message] : [])
  if (failures.length > 0) throw new ToolError(`${failures.join('\n')}\nThe whole output is in ${path.relative(ROOT, logFile)}; mend the cause and run it again: what is done stays done.`)
}
