import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { REPLICA_SET } from '@stevec/harness/mongod'
import { childPids } from '@stevec/harness/proc'
import { isAlive, killGroup, pauseProcess, waitUntil } from '@stevec/harness/processes'
import { keepStack } from '../../src/keeper/keep.js'
import { readState } from '../../src/stack/state.js'

const BACK_MAX_MS = 120_000
/** Dead for a moment, so that others notice. */
const RESTARTS = Object.freeze({ minMs: 1_000, maxMs: 1_000, settledMs: 0, restartsMax: Infinity, windowMs: 600_000 })

/** @typedef {import('../../src/stack/state.js').StackState} StackState */
/** @typedef {import('@stevec/harness/processes').ProcessIdentity} ProcessIdentity */

/** @param {string} directory  of a stack @returns {StackState} with the processes that run now */
const stateOf = (directory) => /** @type {StackState} */ (readState(directory))

/**
 * Starts each process of a stack again that has ended, as the keeper of `stevec up` does.
 * @param {string} directory  of a stack that may outlive this process: only of those is it known how they were started
 * @returns {() => Promise<void>} ends it
 */
export function keepRunning (directory) {
  const ending = new AbortController()
  const kept = keepStack({ directory, signal: ending.signal, log: () => {}, limits: RESTARTS })
  return async () => {
    ending.abort()
    await kept
  }
}

/** @param {StackState} state @returns {Promise<number>} the pid of the database's primary */
async function primaryOf ({ database_ports: ports = [], processes }) {
  const hosts = ports.map((port) => `127.0.0.1:${port}`)
  const client = new MongoClient(`mongodb://${hosts.join()}/?replicaSet=${REPLICA_SET}`)
  try {
    const { me } = await client.db().command({ hello: 1 })
    const index = hosts.indexOf(me)
    const name = index === 0 ? 'mongod' : `mongod ${index + 1}`
    return Number(processes.find((process) => process.name === name)?.pid)
  } finally {
    await client.close()
  }
}

/** @template T @param {T[]} list */
const one = (list) => list[Math.floor(Math.random() * list.length)]

/** @param {number} pid @param {number} ms */
async function pause (pid, ms) {
  await pauseProcess(pid)
  await sleep(ms)
  process.kill(pid, 'SIGCONT')
}

/**
 * What happens to a stack with links, by name.
 * @param {string} directory  of the stack, which `keepRunning` keeps
 * @param {string[]} edges  names of its edges
 * @returns {Record<string, () => Promise<void>>} each resolves when it is over
 */
export function faultsOf (directory, edges) {
  const api = /** @type {string} */ (stateOf(directory).links_api)
  const any = (/** @type {RegExp} */ name) =>
    one(stateOf(directory).processes.filter((process) => name.test(process.name)))
  const post = (/** @type {string} */ path, /** @type {object} */ body) =>
    fetch(`${api}${path}`, { method: 'POST', body: JSON.stringify(body) })
  const toEdge = () => `${one(edges)}-origin`

  /** @param {string} link @param {object} toxic @param {number} ms */
  async function poison (link, toxic, ms) {
    await post(`/proxies/${link}/toxics`, { name: 'fault', stream: 'downstream', toxicity: 1, ...toxic })
    await sleep(ms)
    await fetch(`${api}/proxies/${link}/toxics/fault`, { method: 'DELETE' })
  }

  /** @param {ProcessIdentity} identity */
  async function kill (identity) {
    await killGroup(identity)
    const isBack = () => stateOf(directory).processes.some((process) =>
      process.name === identity.name && process.pid !== identity.pid && isAlive(process))
    assert.ok(await waitUntil(isBack, BACK_MAX_MS), `${identity.name} is started again`)
    await sleep(1_000)
  }

  return {
    'the link of an edge is cut': async () => {
      const link = toEdge()
      await post(`/proxies/${link}`, { enabled: false })
      await sleep(1_500)
      await post(`/proxies/${link}`, { enabled: true })
    },
    'the link of an edge swallows everything': () =>
      poison(toEdge(), { type: 'timeout', attributes: { timeout: 0 } }, 1_500),
    'the link of an edge is slow': () =>
      poison(toEdge(), { type: 'latency', attributes: { latency: 300, jitter: 250 } }, 2_000),
    'a wiki is stopped for a while': () => pause(any(/^wiki/).pid, 1_500),
    'a wiki is killed': () => kill(any(/^wiki/)),
    'an edge is killed, and has what it stored when it is back': () => kill(any(/^nginx edge/)),
    'a worker of an edge is killed': async () => {
      process.kill(one(childPids(any(/^nginx edge/).pid)), 'SIGKILL')
      await sleep(1_000)
    },
    'a server of the database is stopped for a while': () => pause(any(/^mongod/).pid, 2_000),
    'a server of the database is killed': () => kill(any(/^mongod/)),
    'the primary is stopped until another one is elected, then comes back': async () =>
      pause(await primaryOf(stateOf(directory)), 14_000)
  }
}
