import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { MongoClient } from 'mongodb'
import { logTail, startProcess, waitUntil } from '@stevec/harness/processes'
import { requireTool } from '@stevec/harness/tools/locate'

const READY_MAX_MS = 60_000

/**
 * Starts mongods on loopback that form one replica set, with MongoDB's default timing of elections.
 * @param {object} options
 * @param {number[]} options.ports  one for each member
 * @param {string} options.directory
 * @param {(identity: import('@stevec/harness/processes').ProcessIdentity) => void} options.onStart  gets each process,
 *   named `mongod <port>`
 * @throws {Error} when the set does not have a primary that all others follow within 60 s
 */
export async function startReplicaSet ({ ports, directory, onStart }) {
  const { path: command } = requireTool('mongod')
  for (const port of ports) {
    const home = path.join(directory, `member-${port}`)
    mkdirSync(home, { recursive: true })
    onStart(await startProcess({
      name: `mongod ${port}`,
      command,
      args: [
        '--dbpath', home,
        '--port', String(port),
        '--bind_ip', '127.0.0.1',
        '--nounixsocket',
        '--replSet', 'stevec',
        '--oplogSize', '64',
        '--wiredTigerCacheSizeGB', '0.25',
        '--quiet',
        '--setParameter', 'diagnosticDataCollectionEnabled=false',
        '--setParameter', 'shutdownTimeoutMillisForSignaledShutdown=100',
        '--setParameter', 'transactionLifetimeLimitSeconds=10'
      ],
      logFile: path.join(directory, `member-${port}.log`)
    }))
  }
  const client = new MongoClient(
    `mongodb://127.0.0.1:${ports[0]}/?directConnection=true`,
    { serverSelectionTimeoutMS: READY_MAX_MS }
  )
  try {
    await client.connect()
    const admin = client.db('admin')
    const up = (/** @type {number} */ port) =>
      withMember(port, async (member) => Boolean(await member.command({ ping: 1 }))).catch(() => false)
    for (const port of ports) {
      if (!await waitUntil(() => up(port), READY_MAX_MS)) {
        throw new Error(logTail(path.join(directory, `member-${port}.log`)))
      }
    }
    await admin.command({
      replSetInitiate: {
        _id: 'stevec',
        members: ports.map((port, index) => ({ _id: index, host: `127.0.0.1:${port}` }))
      }
    })
    const ready = await waitUntil(async () => {
      const { members } = await admin.command({ replSetGetStatus: 1 })
      const states = members.map((/** @type {{stateStr: string}} */ { stateStr }) => stateStr).sort()
      return states.join() === ['PRIMARY', ...ports.slice(1).map(() => 'SECONDARY')].join()
    }, READY_MAX_MS, 100)
    if (!ready) throw new Error('the replica set has no primary that all others follow')
  } finally {
    await client.close()
  }
}

/**
 * @param {string} uri  of the set
 * @returns {Promise<number>} the port of its primary
 */
export async function primaryOf (uri) {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: READY_MAX_MS })
  try {
    const { me } = await client.db('admin').command({ hello: 1 }, { readPreference: 'primary' })
    return Number(me.split(':')[1])
  } finally {
    await client.close()
  }
}

/**
 * @template T
 * @param {number} port
 * @param {(admin: import('mongodb').Db) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withMember (port, work) {
  const client = new MongoClient(
    `mongodb://127.0.0.1:${port}/?directConnection=true`,
    { serverSelectionTimeoutMS: 500 }
  )
  try {
    return await work(client.db('admin'))
  } finally {
    await client.close()
  }
}
