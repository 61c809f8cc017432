import { createClient } from '@redis/client'
import { newRedisPassword, redisUrl, startRedis, startRedisGroup } from '@stevec/harness/redis'
import { bufferKeys } from '../src/deferred/redis-buffer.js'

/** Of the testbed. */
const DATABASE = 'wiki'

/**
 * The Redis of a measurement of loss. With a replica each trial has a new group: its master dies.
 * @param {{replicated: boolean}} options
 */
export function createLossRedis ({ replicated }) {
  const password = newRedisPassword()
  /** @type {import('@stevec/harness/redis').Redis | undefined} */
  let single
  /** @type {import('@stevec/harness/redis').RedisGroup | undefined} */
  let group

  /** @template T @param {number} port @param {(client: any) => Promise<T>} question @returns {Promise<T>} */
  async function ask (port, question) {
    const client = createClient({ url: redisUrl({ port, password }), socket: { reconnectStrategy: false } })
    client.on('error', () => {})
    try {
      await client.connect()
      return await question(client)
    } finally {
      if (client.isOpen) client.destroy()
    }
  }

  async function stop () {
    await group?.stop()
    await single?.stop()
    single = group = undefined
  }

  return {
    /** @returns {Promise<string>} the wiki's REDIS_URL */
    async start () {
      if (replicated) {
        await stop()
        group = await startRedisGroup({ password, sentinels: 3 })
        return group.url
      }
      single ??= await startRedis({ password })
      return single.url
    },

    killMaster: async () => group?.master.kill(),

    /** The replica follows its master no more: it cannot sign in again. */
    async cutReplica () {
      if (group === undefined) return
      const [master, replica] = [group.master, group.replica]
      await ask(replica.port, (client) => client.configSet('masterauth', newRedisPassword()))
      await ask(master.port, (client) => client.sendCommand(['CLIENT', 'KILL', 'TYPE', 'REPLICA']))
    },

    /** @returns {Promise<number | null>} saves that wait; null: it is not known */
    async waiting () {
      const port = group === undefined ? single?.port : await group.masterPort()
      if (port == null) return null
      return ask(port, (client) => client.xLen(bufferKeys(DATABASE).stream)).catch(() => null)
    },

    stop
  }
}

/** @typedef {ReturnType<typeof createLossRedis>} LossRedis */
