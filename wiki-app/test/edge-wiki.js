import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import { createPurgeOf } from '@stevec/cdn/wiki'
import { waitUntil } from '@stevec/harness/processes'
import { startEdge } from '@stevec/nginx/test/edge-helper'
import { peopleOnly } from './people.js'

/** @typedef {import('fastify').FastifyInstance} App */

export const WAIT_MAX_MS = 60_000

/**
 * A wiki with people behind a real edge, which it purges, or which follows its log.
 * @param {ReturnType<typeof import('./helper.js').useWiki>} wiki @param {import('node:test').TestContext} t
 * @param {string} policy  of the caches
 */
export async function startBehindEdge (wiki, t, policy) {
  /** @type {{app?: App}} */
  const before = {}
  const isFollowed = policy === 'bounded'
  const edge = await startEdge(t, (request, response) => {
    if (before.app === undefined) response.writeHead(503).end()
    else before.app.routing(request, response)
  }, isFollowed ? { follow: '/purge-log' } : {})
  const uri = wiki.freshUri()
  const publicUrl = `http://${edge.host}`
  const purge = await createPurgeOf({ zoneId: 'z', apiUrl: edge.control.url, token: edge.control.token, publicUrl })
  const settings = {
    ...peopleOnly(t),
    MONGODB_URI: uri,
    CACHE_POLICY: policy,
    PUBLIC_URL: publicUrl,
    ...!isFollowed && { PURGE_ZONE: 'z', PURGE_TOKEN: edge.control.token }
  }
  const timing = { gatherMs: 5, repeatAfterMs: 100 }
  const app = await wiki.build(t, settings, isFollowed ? {} : { purge, timing })
  before.app = app
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  const queue = client.db().collection('queue')
  const untilPurged = async () =>
    assert.ok(await waitUntil(async () => await queue.countDocuments({}) === 0, WAIT_MAX_MS), 'all is purged')
  return { app, edge, untilPurged }
}
