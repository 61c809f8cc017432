import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { once } from 'node:events'
import http from 'node:http'
import path from 'node:path'
import { test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { startEdge, WAIT_MAX_MS } from './edge-helper.js'

const WORKERS = 4
const LARGE_BYTES = 400_000

/** @typedef {Awaited<ReturnType<typeof startEdge>>} Edge */

/**
 * @param {import('node:test').TestContext} t @param {import('./edge-helper.js').Script} script
 * @param {Parameters<typeof startEdge>[2]} [options]
 */
const start = (t, script, options) => startEdge(t, script, {
  ...options,
  workers: WORKERS,
  // The first worker that is free accepts one connection and no more, so that requests spread over all.
  configure: (text) => text.replace('events {', 'events { multi_accept off; accept_mutex on; accept_mutex_delay 1ms;')
})

/** Each on a connection of its own. @param {Edge} edge @param {number} count @param {string} url */
const together = (edge, count, url) => Promise.all(Array.from({ length: count }, () => edge.get(url)))

/** How many requests each worker has answered. @param {Edge} edge @param {string} url */
async function answeredBy (edge, url) {
  const ids = new Set()
  assert.ok(await waitUntil(async () => {
    for (const { headers } of await together(edge, 16, url)) ids.add(String(headers['cf-ray']).slice(0, 8))
    return ids.size > 1
  }, WAIT_MAX_MS), 'only one worker answers')
  return ids.size
}

/** Holds responses until `open` is called. */
function gate () {
  /** @type {(value?: unknown) => void} */
  let open = () => {}
  const opened = new Promise((resolve) => { open = resolve })
  return { open: () => open(), opened }
}

test('simultaneous requests for one URL reach the origin once, in whichever workers they are', async (t) => {
  const { open, opened } = gate()
  const edge = await start(t, async (request, response, count) => {
    response.setHeader('Cache-Control', 'max-age=60')
    if (request.url !== '/warm') await opened
    response.end(`${request.url} ${count}`)
  })
  await answeredBy(edge, '/warm')
  for (let round = 0; round < 10; round++) {
    const all = together(edge, 20, `/cold/${round}`)
    assert.ok(await waitUntil(() => edge.reached(`/cold/${round}`) === 1, WAIT_MAX_MS))
    if (round === 0) setTimeout(open, 200)
    const answers = await all
    assert.ok(answers.every(({ status, body }) => status === 200 && body === `/cold/${round} 1`))
    assert.equal(edge.reached(`/cold/${round}`), 1)
    assert.equal(answers.filter(({ cache }) => cache === 'MISS').length, 1)
  }
})

test('requests of other workers read along a large body while it arrives', async (t) => {
  const { open, opened } = gate()
  const edge = await start(t, async (request, response) => {
    response.setHeader('Cache-Control', 'max-age=60')
    if (request.url === '/warm') return response.end('warm')
    response.setHeader('Content-Length', LARGE_BYTES)
    response.write('a'.repeat(LARGE_BYTES / 2))
    await opened
    response.end('b'.repeat(LARGE_BYTES / 2))
  })
  await answeredBy(edge, '/warm')
  const first = edge.get('/large')
  assert.ok(await waitUntil(() => edge.reached('/large') === 1, WAIT_MAX_MS))
  /** @type {Awaited<ReturnType<typeof firstBytes>>[]} */
  const begun = []
  assert.ok(await waitUntil(async () => {
    begun.push(...await Promise.all(Array.from({ length: 8 }, () => firstBytes(edge, '/large'))))
    return new Set(begun.map(({ worker }) => worker)).size > 1
  }, WAIT_MAX_MS), 'all readers are in one worker')
  assert.equal(edge.reached('/large'), 1)
  // For all other workers it might concern the response, so one of them fetches again. Those that read go on.
  await edge.purge({ tags: ['another'] })
  assert.ok(await waitUntil(async () => {
    begun.push(await firstBytes(edge, '/large'))
    return edge.reached('/large') === 2
  }, WAIT_MAX_MS), 'no worker fetches again')
  // Meanwhile each worker looks at what the others fetch.
  for (let times = 0; times < 100; times++) await edge.get('/warm')
  open()
  for (const { rest } of begun) assert.equal(await rest, 'a'.repeat(LARGE_BYTES / 2) + 'b'.repeat(LARGE_BYTES / 2))
  assert.equal((await first).body.length, LARGE_BYTES)
})

/**
 * Resolves when a first byte is there.
 * @param {Edge} edge @param {string} url @returns {Promise<{rest: Promise<string>, worker: string}>}
 */
const firstBytes = (edge, url) => new Promise((resolve, reject) => {
  http.get({ host: '127.0.0.1', port: edge.port, path: url, agent: false }, (response) => {
    let text = ''
    const rest = once(response, 'end').then(() => text)
    response.setEncoding('latin1').on('data', (data) => {
      text += data
      resolve({ rest, worker: String(response.headers['cf-ray']).slice(0, 8) })
    })
  }).on('error', reject)
})

test('no worker answers from before a purge that was acknowledged, under load and while fetches run', async (t) => {
  let version = 1
  const edge = await start(t, (_request, response) => {
    const text = String(version)
    response.setHeader('Cache-Control', 'max-age=600').setHeader('Cache-Tag', 'page')
    setTimeout(() => response.end(text), 5)
  })
  await answeredBy(edge, '/warm')
  const readers = new AbortController()
  let asked = 0
  /** @type {string[]} */
  const outdated = []
  let acknowledged = 1
  const reading = Array.from({ length: 8 }, async () => {
    while (!readers.signal.aborted) {
      const least = acknowledged
      const { body } = await edge.get('/page')
      asked++
      if (Number(body) < least) outdated.push(`${body} after the purge of ${least}`)
    }
  })
  const url = `http://${edge.host}/page`
  const ways = [{ files: [url] }, { tags: ['page'] }, { hosts: [edge.host] }, { prefixes: [`${edge.host}/pa`] }]
  for (let round = 0; round < 120; round++) {
    version++
    const purged = version
    // Several at once: each takes its own number.
    await Promise.all([ways[round % 4], ways[(round + 1) % 4]].map((body) => edge.purge(body)))
    acknowledged = purged
    // Each version is stored before the next purge, mostly.
    if (round % 3 === 0) await edge.get('/page')
  }
  readers.abort()
  await Promise.all(reading)
  assert.deepEqual(outdated, [])
  assert.ok(asked > 100, `${asked} requests`)
})

test('when the worker that fetches is killed, the requests of the others are answered', async (t) => {
  /** @type {http.ServerResponse[]} */
  const held = []
  const edge = await start(t, (request, response, count) => {
    response.setHeader('Cache-Control', 'max-age=60')
    if (request.url === '/page' && count === 1) return held.push(response)
    response.end(`${request.url} ${count}`)
  })
  const before = edge.workers()
  const waiting = [ask(edge, '/page')]
  assert.ok(await waitUntil(() => held.length === 1, WAIT_MAX_MS))
  const { remotePort, localPort } = held[0].socket ?? {}
  const holder = ownerOf(Number(remotePort), before, Number(localPort))
  assert.ok(holder !== undefined)
  // Until another worker has some of the connections.
  const isElsewhere = (/** @type {ReturnType<typeof ask>} */ { port }) =>
    ![undefined, holder].includes(ownerOf(edge.port, before, port()))
  assert.ok(await waitUntil(() => {
    const some = waiting.slice(-8).some(isElsewhere)
    if (!some) waiting.push(...Array.from({ length: 8 }, () => ask(edge, '/page')))
    return some
  }, WAIT_MAX_MS))
  process.kill(holder, 'SIGKILL')
  const bodies = await Promise.all(waiting.map(({ body }) => body))
  assert.ok(bodies.every((body) => body === 'broken' || body === '/page 2'), bodies.join())
  assert.ok(bodies.includes('/page 2'))
  assert.equal(edge.reached('/page'), 2)
  assert.ok(await waitUntil(() => edge.workers().length >= WORKERS &&
    edge.workers().join() !== before.join(), WAIT_MAX_MS))
  assert.equal((await edge.get('/page')).cache, 'HIT')
})

/** @param {Edge} edge @param {string} url */
function ask (edge, url) {
  const request = http.get({ host: '127.0.0.1', port: edge.port, path: url, agent: false })
  /** @type {Promise<string>} */
  const body = new Promise((resolve) => request.on('error', () => resolve('broken')).on('response', async (response) => {
    resolve((await response.setEncoding('latin1').toArray().catch(() => ['broken'])).join(''))
  }))
  return { body, port: () => request.socket?.localPort ?? 0 }
}

/**
 * The process that has the connection with these ports.
 * @param {number} local @param {number[]} pids @param {number} remote
 */
function ownerOf (local, pids, remote) {
  const hex = (/** @type {number} */ port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const fields = readFileSync('/proc/net/tcp', 'utf8').split('\n').map((line) => line.trim().split(/\s+/))
    .find(([, here, there]) => here?.endsWith(hex(local)) && there.endsWith(hex(remote)))
  return pids.find((pid) => socketsOf(pid).includes(`socket:[${fields?.[9]}]`))
}

/** @param {number} pid */
const socketsOf = (pid) => readdirSync(`/proc/${pid}/fd`).map((fd) => {
  try { return readlinkSync(`/proc/${pid}/fd/${fd}`) } catch { return '' }
})

test('a restart is warm with several workers: none answers before all is there', async (t) => {
  const edge = await start(t, (request, response) => {
    response.setHeader('Cache-Control', 'max-age=600').end(request.url)
  })
  const urls = Array.from({ length: 200 }, (_, at) => `/${at}`)
  for (const url of urls) await edge.get(url)
  await edge.purge({ files: [`http://${edge.host}/7`] })
  const current = path.join(edge.directory, 'answers', 'current')
  assert.ok(await waitUntil(() => existsSync(current), WAIT_MAX_MS), edge.errors())
  await edge.restart()
  const answers = await Promise.all(urls.map((url) => edge.get(url)))
  assert.deepEqual(answers.map(({ cache }, at) => cache === 'HIT' ? -1 : at).filter((at) => at >= 0), [7])
})
