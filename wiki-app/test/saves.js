import assert from 'node:assert/strict'
import { waitUntil } from '@stevec/harness/processes'
import { get, save } from './helper.js'

/** @typedef {import('fastify').FastifyInstance} App */

const WAIT_MAX_MS = 60_000

/**
 * A save that is answered before it is stored.
 * @param {App} app @param {string} name @param {string} content @param {Record<string, string>} [headers]
 */
export async function accepted (app, name, content, headers) {
  const answer = await save(app, name, content, headers)
  assert.equal(answer.statusCode, 202, answer.body)
  assert.equal(answer.headers.location, answer.json().url)
  return answer.json()
}

/** @param {App} app @param {{url: string}} save @returns {Promise<any>} its status, once it is not pending any more */
export async function settled (app, { url }) {
  let status
  assert.ok(await waitUntil(async () => {
    const answer = await get(app, url)
    assert.equal(answer.statusCode, 200, answer.body)
    status = answer.json()
    return status.status !== 'pending'
  }, WAIT_MAX_MS), 'it stays pending')
  return status
}
