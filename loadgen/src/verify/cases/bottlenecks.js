import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { doKnownRun } from '../known-run.js'
import { startLinks } from './link-delay.js'
import { limitRow } from './row.js'

/** @typedef {import('./row.js').Case} Case */

const REVISION = 1
const WORK_MS = 4
const BUSY_PROCESS = fileURLToPath(new URL('../busy-process.js', import.meta.url))
/** So many that the links work far more for a request than k6 and the server do. */
const HOPS = 24
const PARTS = /** @type {const} */ (['edge', 'origin', 'wiki', 'database'])

const answer = () => ({ hit: false, revision: REVISION })

/**
 * Each part of a stack is the limit once, played by a process of one thread; then the links and the machine.
 * @type {Case}
 */
export const bottlenecks = {
  name: 'known-bottlenecks',
  title: 'each part as the limit',
  async measure (context) {
    const requests = context.short ? 400 : 1_000
    /** @type {[import('../../machine/saturation.js').Limit, string][]} */
    const runs = []
    for (const part of PARTS) {
      const busy = startBusyProcess(WORK_MS)
      const processes = [{ name: `known ${part}`, pid: busy.pid, part }]
      const settings = { pages: 5, requests, vus: 8, connection_reuse: true }
      const behaviour = { answer, work: busy.work }
      runs.push([part, await doKnownRun({ name: `limit-${part}`, settings, processes, behaviour }, context)
        .finally(busy.stop)])
    }
    runs.push(['links', await doKnownRun({
      name: 'limit-links',
      settings: { pages: 5, requests: 5_000, vus: 128, connection_reuse: true },
      behaviour: { answer },
      through: (url) => startLinks(url, context.directory, HOPS)
    }, context)])
    const busy = Array.from({ length: availableParallelism() }, () => startBusyProcess(null))
    runs.push(['machine', await doKnownRun({
      name: 'limit-machine',
      settings: { pages: 5, requests: 50, pause_s: 0.05, connection_reuse: true },
      behaviour: { answer }
    }, context).finally(() => busy.forEach(({ stop }) => stop()))])
    return {
      ask: runs.map(([, run]) => ({ run })),
      rows: (said) => runs.map(([limit, run]) => limitRow(limit, said(run).trials[0]))
    }
  }
}

/** @param {number | null} workMs  see busy-process.js; null: it always works */
function startBusyProcess (workMs) {
  const child = fork(BUSY_PROCESS, workMs === null ? [] : [String(workMs)])
  /** @type {Map<number, () => void>} */
  const waiting = new Map()
  let last = 0
  child.on('message', (id) => {
    waiting.get(Number(id))?.()
    waiting.delete(Number(id))
  })
  return {
    pid: /** @type {number} */ (child.pid),
    /** @returns {Promise<void>} resolves when the process has done the work of one request */
    work: () => new Promise((resolve) => {
      waiting.set(++last, resolve)
      child.send(last)
    }),
    stop: () => { child.kill() }
  }
}
