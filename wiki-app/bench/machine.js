import os from 'node:os'
import { locateTool } from '@stevec/harness/tools/locate'

/**
 * Describes the conditions of a benchmark.
 * @returns {string} the day, cores, CPU, memory, versions, and how busy the machine is before it starts
 */
export function describeMachine () {
  const cores = os.cpus()
  return [
    new Date().toISOString().slice(0, 10),
    `${cores.length} cores (${cores[0]?.model ?? os.arch()})`,
    `${Math.round(os.totalmem() / 1e9)} GB`,
    `Node ${process.versions.node}`,
    `MongoDB ${locateTool('mongod')?.version ?? 'unknown'}`,
    `load average ${os.loadavg()[0].toFixed(1)}`
  ].join(', ')
}
