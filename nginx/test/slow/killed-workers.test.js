import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import http from 'node:http'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { startEdge, WAIT_MAX_MS } from '../edge-helper.js'

/** KILLED_ANSWERS=1000000 asks for more. */
const ANSWERS = Number(process.env.KILLED_ANSWERS ?? 100_000)
const CONNECTIONS = 32
const KEYS = 400
const KILL_EVERY_MS = 1_000
const SIZES = [300, 5_000, 70_000]

/** The text of a URL begins with its digest and length, so that a mixture of two shows. @param {string} url */
function textOf (url) {
  const filling = url.repeat(Math.ceil(SIZES[url.length % SIZES.length] / url.length))
  return `${createHash('sha256').update(filling).digest('hex')} ${filling.length} ${filling}`
}

test('while workers are killed, no answer is torn or mixed, and the service goes on', async (t) => {
  const edge = await startEdge(t, (request, response) => {
    const age = Number(request.url?.split('/').at(-1)) % 5
    response.setHeader('Cache-Control', `max-age=${age}`).end(textOf(String(request.url)))
  }, { workers: 4, maxSizeBytes: 20_000_000 })
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const counts = { good: 0, broken: 0, refused: 0 }
  /** @type {string[]} */
  const wrong = []
  let next = 0
  const killing = setInterval(() => {
    const pids = edge.workers()
    try { process.kill(pids[Math.floor(Math.random() * pids.length)], 'SIGKILL') } catch { /* It has just ended. */ }
  }, KILL_EVERY_MS)
  try {
    await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
      while (counts.good + counts.broken + counts.refused < ANSWERS) {
        const url = `/${'k'.repeat(next % 3)}/${Math.floor(Math.random() ** 2 * KEYS)}`
        next++
        const { status, body } = await ask({ port: edge.port, path: url, agent })
        if (status === 0) counts.broken++
        else if (status >= 500) counts.refused++
        else if (body === textOf(url)) counts.good++
        else wrong.push(`${url}: ${status}, ${body.length} bytes`)
      }
    }))
  } finally {
    clearInterval(killing)
    agent.destroy()
  }
  t.diagnostic(JSON.stringify(counts))
  assert.deepEqual(wrong, [])
  assert.ok(counts.good > ANSWERS * 0.98, JSON.stringify(counts))
  assert.ok(await waitUntil(() => edge.workers().length === 4, WAIT_MAX_MS))
  assert.equal((await edge.get('/k/4')).body, textOf('/k/4'))
})

/** @param {http.RequestOptions} options @returns {Promise<{status: number, body: string}>} status 0: broken off */
const ask = (options) => new Promise((resolve) => {
  const broken = () => resolve({ status: 0, body: '' })
  http.get({ ...options, host: '127.0.0.1' }, (response) => {
    let body = ''
    response.setEncoding('latin1').on('data', (data) => { body += data })
    response.on('error', broken).on('end', () => resolve({ status: Number(response.statusCode), body }))
  }).on('error', broken)
})
