import { createHash } from 'node:crypto'
import http from 'node:http'
import { answerAnalytics } from './graphql.js'
import { createPurgeLimits, FREE_LIMITS } from './purges.js'
import { checkedRecord } from './records.js'
import { Refusal, refusal, unknownFields } from './refusal.js'
import { nextRuleset } from './rules.js'

const PREFIX = '/client/v4'
const PHASE = 'http_request_cache_settings'
const TIERED_CACHE = 'tiered_cache_smart_topology_enable'
const PER_PAGE_MAX = 100
const BODY_MAX_BYTES = 1_000_000
/** Defaults of a new zone. */
const SETTINGS = {
  development_mode: 'off',
  rocket_loader: 'off',
  email_obfuscation: 'on',
  automatic_https_rewrites: 'on',
  brotli: 'on',
  always_online: 'on',
  early_hints: 'off',
  browser_check: 'on',
  browser_cache_ttl: 14_400
}

export const TOKEN = 'a-token-of-forty-characters-for-the-fake'
/** The permissions that the README lists. */
export const LEAST = [
  '#zone:read', '#dns_records:read', '#dns_records:edit', '#cache_settings:read', '#cache_settings:edit',
  '#zone_settings:read', '#zone_settings:edit', '#cache_purge:edit', '#analytics:read'
]

/**
 * A fault for the next matching requests.
 * @typedef {object} Fault
 * @property {RegExp} match  method and path
 * @property {number} [times]  how many requests fail; default 1
 * @property {number} [skip]  how many matching requests succeed first
 * @property {'status' | 'lost' | 'half' | 'stall' | 'slow' | 'text' | 'before'} how
 *   status: refused with `status`; lost: carried out, but the connection breaks before the response; half: half a
 *   response, then nothing on an open connection; stall: no response; slow: after `delayMs`; text: HTML with 200;
 *   before: as usual, after `run`
 * @property {number} [status]
 * @property {Record<string, string>} [headers]
 * @property {number} [delayMs]
 * @property {() => void | Promise<void>} [run]  runs before everything else
 */

/**
 * @typedef {object} FakeZone
 * @property {string} id
 * @property {string} name
 * @property {string} plan
 * @property {string} status
 * @property {any[]} records
 * @property {any[]} rulesets  all versions of the cache rules, oldest first
 * @property {Record<string, any>} settings
 * @property {string} tiered
 * @property {any[]} purges
 */

/**
 * Starts a stateful fake of the part of Cloudflare's API that we use. It refuses what the real API refuses.
 * @param {import('node:test').TestContext} t  the fake stops after this test
 * @param {object} [options]
 * @param {{name: string, plan?: string, status?: string}[]} [options.zones]
 * @param {Partial<typeof FREE_LIMITS>} [options.limits]
 * @param {number} [options.sampleInterval]
 * @param {(body: any) => Promise<void>} [options.onPurge]  runs before the response
 */
export async function startFake (
  t,
  { zones: given = [{ name: 'example.com' }], limits = {}, sampleInterval = 1, onPurge } = {}
) {
  let ids = 0
  const nextId = () => createHash('md5').update(`id ${++ids}`).digest('hex')
  const zones = given.map(
    ({ name, plan = 'free', status = 'active' }) =>
      /** @type {FakeZone} */ ({
        id: nextId(),
        name,
        plan,
        status,
        records: [],
        rulesets: [],
        settings: { ...SETTINGS },
        tiered: 'on',
        purges: []
      })
  )
  /** @type {Map<string, {id: string, status: string, permissions: string[], zones: string[], expires_on?: string}>} */
  const tokens = new Map([
    [
      TOKEN,
      { id: nextId(), status: 'active', permissions: LEAST, zones: [zones[0].id], expires_on: '2099-01-01T00:00:00Z' }
    ]
  ])
  /** @type {(Fault & {times: number, skip: number})[]} */
  const faults = []
  /** @type {{method: string, path: string, headers: http.IncomingHttpHeaders, body: any}[]} */
  const requests = []
  /** @type {Parameters<typeof answerAnalytics>[1]['traffic']} */
  const traffic = []
  const purgeLimits = createPurgeLimits({ ...FREE_LIMITS, ...limits })
  let seconds = 0
  const now = () => new Date(Date.UTC(2026, 0, 1) + 1000 * ++seconds).toISOString()

  /**
   * @param {string} method
   * @param {URL} url
   * @param {any} body
   * @param {{id: string, status: string, permissions: string[], zones: string[], expires_on?: string}} token
   * @returns {{result: any, info?: any, bare?: any, after?: () => Promise<void>}}
   */
  function answer (method, url, body, token) {
    const route = `${method} ${url.pathname.slice(PREFIX.length)}`
    const may = (/** @type {string} */ permission) => {
      if (!token.permissions.includes(permission)) throw refusal(403, 10_000, 'Authentication error')
    }
    if (route === 'GET /user/tokens/verify') {
      return { result: { id: token.id, status: token.status, expires_on: token.expires_on } }
    }
    if (/^GET \/user\/tokens\/[0-9a-f]{32}$/.test(route)) {
      may('#user_tokens:read')
      return {
        result: {
          id: token.id,
          status: token.status,
          policies: [
            {
              id: token.id,
              effect: 'allow',
              permission_groups: token.permissions.map((name) => ({ id: name, name })),
              resources: {}
            }
          ]
        }
      }
    }
    if (route === 'GET /zones') {
      may('#zone:read')
      const name = url.searchParams.get('name')
      return page(
        url,
        zones
          .filter((zone) => token.zones.includes(zone.id) && (name === null || zone.name === name))
          .map((zone) => ({
            id: zone.id,
            name: zone.name,
            status: zone.status,
            paused: false,
            type: 'full',
            plan: { legacy_id: zone.plan, name: `${zone.plan} Website` },
            permissions: token.permissions,
            account: { id: nextId(), name: 'an account' }
          }))
      )
    }
    if (route === 'POST /graphql') {
      may('#analytics:read')
      return {
        result: null,
        bare: answerAnalytics(body, {
          zones: zones.filter(({ id }) => token.zones.includes(id)),
          traffic,
          sampleInterval
        })
      }
    }
    const [, zoneId, rest] = /^\w+ \/zones\/([^/]+)(\/.*)?$/.exec(route) ?? []
    if (zoneId === undefined) {
      throw refusal(404, 7003, `Could not route to ${url.pathname}, perhaps your object identifier is invalid?`)
    }
    if (!/^[0-9a-f]{32}$/.test(zoneId)) {
      throw refusal(404, 7003, `Could not route to ${url.pathname}, perhaps your object identifier is invalid?`)
    }
    const zone = zones.find(({ id }) => id === zoneId)
    if (zone === undefined || !token.zones.includes(zone.id)) {
      throw refusal(403, 9109, 'Unauthorized to access requested resource')
    }
    const call = `${method} ${rest}`

    if (call === 'GET /dns_records') {
      may('#dns_records:read')
      for (const key of url.searchParams.keys()) {
        if (!['page', 'per_page', 'name.exact', 'comment.startswith', 'type'].includes(key)) {
          throw refusal(400, 6003, `Invalid request: unknown parameter "${key}"`)
        }
      }
      const [name, comment] = [url.searchParams.get('name.exact'), url.searchParams.get('comment.startswith')]
      return page(
        url,
        zone.records.filter(
          (record) =>
            (name === null || record.name === name) && (comment === null || (record.comment ?? '').startsWith(comment))
        )
      )
    }
    if (call === 'POST /dns_records') {
      may('#dns_records:edit')
      const record = {
        id: nextId(),
        ...checkedRecord(body, { zone, others: zone.records }),
        created_on: now(),
        modified_on: now()
      }
      zone.records.push(record)
      return { result: record }
    }
    const [, recordId] = /^\w+ \/dns_records\/([0-9a-f]{32})$/.exec(call) ?? []
    if (recordId !== undefined && /^(PATCH|DELETE)/.test(call)) {
      may('#dns_records:edit')
      const index = zone.records.findIndex(({ id }) => id === recordId)
      if (index < 0) throw refusal(404, 81_044, 'Record does not exist.')
      if (method === 'DELETE') {
        zone.records.splice(index, 1)
        return { result: { id: recordId } }
      }
      const { type, name, content, proxied, ttl, comment, tags, settings } = zone.records[index]
      const record = checkedRecord(
        { type, name, content, proxied, ttl, comment, tags, settings, ...body },
        { zone, others: zone.records.filter(({ id }) => id !== recordId) }
      )
      zone.records[index] = { ...zone.records[index], ...record, modified_on: now() }
      return { result: zone.records[index] }
    }

    const present = zone.rulesets.at(-1) ?? null
    if (call === `GET /rulesets/phases/${PHASE}/entrypoint`) {
      may('#cache_settings:read')
      if (present === null) throw refusal(404, 10_003, `could not find entrypoint ruleset in the ${PHASE} phase`)
      return { result: present }
    }
    if (call === `PUT /rulesets/phases/${PHASE}/entrypoint`) {
      may('#cache_settings:edit')
      zone.rulesets.push(nextRuleset(body, { zone, present, nextId, now: now() }))
      return { result: zone.rulesets.at(-1) }
    }
    const [, version] = new RegExp(`^GET /rulesets/phases/${PHASE}/entrypoint/versions/(\\d+)$`).exec(call) ?? []
    if (version !== undefined) {
      may('#cache_settings:read')
      const found = zone.rulesets.find((ruleset) => ruleset.version === version)
      if (found === undefined) throw refusal(404, 10_004, `version ${version} does not exist`)
      return { result: found }
    }
    if (present !== null && call === `DELETE /rulesets/${present.id}`) {
      may('#cache_settings:edit')
      zone.rulesets = []
      return { result: null }
    }

    if (rest === `/cache/${TIERED_CACHE}`) {
      may(method === 'GET' ? '#zone_settings:read' : '#zone_settings:edit')
      if (method === 'PATCH') {
        unknownFields(body, ['value'])
        if (body.value !== 'on' && body.value !== 'off') throw refusal(400, 1007, 'Invalid value for zone setting')
        zone.tiered = body.value
      } else if (method !== 'GET') throw refusal(405, 10_405, 'Method not allowed')
      return { result: { id: TIERED_CACHE, value: zone.tiered, editable: true, modified_on: null } }
    }
    const [, setting] = /^\/settings\/(\w+)$/.exec(rest ?? '') ?? []
    if (setting !== undefined) {
      may(method === 'GET' ? '#zone_settings:read' : '#zone_settings:edit')
      if (!(setting in zone.settings)) throw refusal(400, 1003, `Invalid or missing zone setting: ${setting}`)
      if (method === 'PATCH') {
        unknownFields(body, ['value'])
        if (
          typeof body.value !== typeof zone.settings[setting] ||
          (typeof body.value === 'string' && !['on', 'off'].includes(body.value))
        ) {
          throw refusal(400, 1007, `Invalid value for zone setting ${setting}`)
        }
        zone.settings[setting] = body.value
      }
      return { result: { id: setting, value: zone.settings[setting], editable: true, modified_on: null } }
    }

    if (call === 'POST /purge_cache' || call === 'POST /invalidate_cache') {
      may('#cache_purge:edit')
      purgeLimits.check(body, zone)
      zone.purges.push({ ...body, soft: rest === '/invalidate_cache' })
      return { result: { id: zone.id }, after: onPurge && (() => onPurge(body)) }
    }
    throw refusal(404, 7003, `Could not route to ${url.pathname}, perhaps your object identifier is invalid?`)
  }

  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const server = http.createServer(async (request, response) => {
    const chunks = []
    let size = 0
    for await (const chunk of request) {
      size += chunk.length
      if (size > BODY_MAX_BYTES) return request.destroy()
      chunks.push(chunk)
    }
    const text = Buffer.concat(chunks).toString('utf8')
    const url = new URL(request.url ?? '/', 'http://fake')
    const method = request.method ?? 'GET'
    const name = `${method} ${url.pathname}`
    const how = faults.find(({ match, times }) => times > 0 && match.test(name))
    const active = how !== undefined && how.skip-- <= 0
    if (active) how.times -= 1
    requests.push({
      method,
      path: url.pathname + url.search,
      headers: request.headers,
      body: text === '' ? undefined : safeJson(text)
    })

    if (active) await how.run?.()
    if (active && how.how === 'stall') return
    if (active && how.how === 'slow') await new Promise((resolve) => setTimeout(resolve, how.delayMs))
    if (active && how.how === 'text') {
      return response.setHeader('content-type', 'text/html').end('<html>Welcome to the network</html>')
    }

    let status = 200
    /** @type {Record<string, string>} */
    let headers = {}
    let content
    try {
      if (active && how.how === 'status') {
        throw refusal(how.status ?? 500, 10_001, 'Unable to complete the request', how.headers)
      }
      const [, given] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
      const token = tokens.get(given ?? '')
      if (given === undefined) throw refusal(400, 6003, 'Invalid request headers')
      if (token === undefined || token.status !== 'active') throw refusal(401, 1000, 'Invalid API Token')
      if (text !== '' && safeJson(text) === undefined) throw refusal(400, 6007, 'Malformed JSON in request body')
      const { result, info, bare, after } = answer(method, url, text === '' ? undefined : JSON.parse(text), token)
      await after?.()
      content = bare ?? { result, success: true, errors: [], messages: [], ...(info ? { result_info: info } : {}) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      status = error.status
      headers = error.headers
      content = { result: null, success: false, errors: [{ code: error.code, message: error.message }], messages: [] }
    }
    if (active && how.how === 'lost') return request.socket.destroy()
    const bytes = Buffer.from(JSON.stringify(content))
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': bytes.length,
      'cf-ray': '0123456789abcdef-LJU',
      ...headers
    })
    if (active && how.how === 'half') return response.write(bytes.subarray(0, bytes.length >> 1))
    response.end(bytes)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  let open = true
  const stop = async () => {
    if (!open) return
    open = false
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  t.after(stop)

  return {
    url: `http://127.0.0.1:${port}`,
    zones,
    zone: zones[0],
    tokens,
    requests,
    traffic,
    stop,
    /** @param {Fault} fault */
    fail (fault) { faults.push({ times: 1, skip: 0, ...fault }) },
    /** Returns the requests that change something. */
    writes: () => requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/graphql')),
    /**
     * Changes the rules as another user would in the dashboard.
     * @param {any[]} rules  all of the phase
     * @param {{zone?: typeof zones[number], description?: string}} [options]
     */
    writeRules (rules, { zone = zones[0], description = 'default' } = {}) {
      zone.rulesets.push(
        nextRuleset(
          { rules: rules.map(({ version: _version, last_updated: _lastUpdated, ...rule }) => rule), description },
          { zone, present: zone.rulesets.at(-1) ?? null, nextId, now: now() }
        )
      )
    },
    /** @param {any} body */
    addRecord (body, zone = zones[0]) {
      zone.records.push({
        id: nextId(),
        ...checkedRecord(body, { zone, others: zone.records }),
        created_on: now(),
        modified_on: now()
      })
    },
    /** Returns the zone's whole state as text, for comparison. */
    snapshot: (zone = zones[0]) =>
      JSON.stringify({
        records: zone.records,
        rules: zone.rulesets.at(-1)?.rules ?? null,
        settings: zone.settings,
        tiered: zone.tiered
      })
  }
}

/**
 * @param {URL} url
 * @param {any[]} all
 */
function page (url, all) {
  const number = Number(url.searchParams.get('page') ?? 1)
  const perPage = Number(url.searchParams.get('per_page') ?? 20)
  if (
    !(
      Number.isInteger(number) &&
      number >= 1 &&
      Number.isInteger(perPage) &&
      perPage >= 1 &&
      perPage <= PER_PAGE_MAX
    )
  ) {
    throw refusal(400, 6003, 'Invalid request: page and per_page')
  }
  const result = all.slice((number - 1) * perPage, number * perPage)
  return {
    result,
    info: {
      page: number,
      per_page: perPage,
      count: result.length,
      total_count: all.length,
      total_pages: Math.ceil(all.length / perPage)
    }
  }
}

/** @param {string} text */
function safeJson (text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @typedef {Awaited<ReturnType<typeof startFake>>} Fake */
