import { execFile } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'

const run = promisify(execFile)
const BRIDGE = 'stevec0'
const READY_MAX_MS = 30_000

/**
 * @typedef {object} Machine  a network namespace with one cable to the others
 * @property {string} host  its address
 * @property {string} namespace  for startProcess
 * @property {() => Promise<unknown>} cut  pulls the cable: packets vanish, and connections stay open
 * @property {() => Promise<unknown>} join
 */

/**
 * Makes a bridge in the network namespace of this process, which must be its own (main.js), and machines around it.
 * All of it vanishes with the processes.
 * @param {string} directory  for logs
 */
export async function createNetwork (directory) {
  await ip('link', 'set', 'lo', 'up')
  await ip('link', 'add', BRIDGE, 'type', 'bridge')
  await ip('addr', 'add', '10.77.0.1/24', 'dev', BRIDGE)
  await ip('link', 'set', BRIDGE, 'up')
  /** @type {import('@stevec/harness/processes').ProcessIdentity[]} */
  const holders = []

  /** @param {number} number  1… @returns {Promise<Machine>} */
  async function addMachine (number) {
    const holder = await startProcess({
      name: `machine ${number}`,
      command: 'unshare',
      args: ['--net', '--', 'sleep', 'infinity'],
      logFile: path.join(directory, 'machines.log')
    })
    holders.push(holder)
    const namespace = `/proc/${holder.pid}/ns/net`
    const own = readlinkSync('/proc/self/ns/net')
    const apart = await waitUntil(() => readlinkSync(namespace) !== own, READY_MAX_MS)
    if (!apart) throw new Error('unshare made no network namespace')
    const [cable, host] = [`cable${number}`, `10.77.0.${10 + number}`]
    await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(holder.pid))
    await ip('link', 'set', cable, 'master', BRIDGE, 'up')
    const inside = (/** @type {string[]} */ ...args) => run('nsenter', [`--net=${namespace}`, '--', 'ip', ...args])
    await inside('addr', 'add', `${host}/24`, 'dev', 'eth0')
    await inside('link', 'set', 'eth0', 'up')
    await inside('link', 'set', 'lo', 'up')
    const set = (/** @type {string} */ to) => ip('link', 'set', cable, to)
    return { host, namespace, cut: () => set('down'), join: () => set('up') }
  }

  return {
    addMachine,
    async remove () { for (const holder of holders) await stopProcess(holder) }
  }
}

/** @param {string[]} args */
const ip = (...args) => run('ip', args)
