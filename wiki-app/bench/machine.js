import os from 'node:os'
import { locateTool } from '@stevec/harness/tools/locate'

/** @returns {string} what a number of a benchmark has to be read with: the day, cores, CPU, memory, versions, and how busy the machine was at the beginning */
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
