import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { doKnownRun } from '../known-run.js'

/** @typedef {import('./row.js').Case} Case */

const REVISION = 1
const STOPS_AFTER_S = 60

/** Processes of others take some cores: the trial has to say that it was disturbed. @type {Case} */
export const disturbed = {
  name: 'known-disturbance',
  title: 'a disturbed machine',
  async measure (context) {
    const strangers = Array.from({ length: Math.ceil(availableParallelism() / 3) }, startStranger)
    const run = await doKnownRun({
      name: this.name,
      settings: { pages: 5, requests: 100, connection_reuse: true },
      behaviour: { answer: () => ({ hit: false, revision: REVISION, afterMs: 20 }) }
    }, context).finally(() => strangers.forEach(stopStranger))
    return {
      ask: [{ run }],
      rows: (said) => {
        const { saturation } = said(run).trials[0]
        return [{
          check: 'disturbed',
          what: 'is said of a trial beside processes of others',
          known: 'yes',
          measured: saturation?.disturbed ?? 'nothing was said',
          bound: 'said',
          pass: saturation !== null && saturation.disturbed !== null
        }]
      }
    }
  }
}

/**
 * Starts a process that works and is no child of this one.
 * @returns {number} its pid
 */
function startStranger () {
  const script = `timeout ${STOPS_AFTER_S} sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!`
  return Number(execFileSync('sh', ['-c', script], { encoding: 'utf8' }))
}

/** @param {number} pid */
function stopStranger (pid) {
  // It may have ended by itself.
  try { process.kill(pid) } catch {}
}
