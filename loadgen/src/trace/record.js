import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import path from 'node:path'
import { waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'

const SPANS_MAX_MS = 15_000
const LOG_MAX_MS = 3_000
const ROLES = /** @type {const} */ (['local', 'edge', 'origin'])

/** @typedef {import('@stevec/harness/trace-receiver').ReceivedSpan} ReceivedSpan */

/**
 * Sends one traced request through a door, and gathers its spans: the client's own, nginx's by its log, the wiki's.
 * @param {object} options
 * @param {import('@stevec/harness/trace-receiver').TraceReceiver} options.receiver  that the wiki sends to
 * @param {string} options.directory  of the stack
 * @param {import('../stack/doors.js').Door} options.door
 * @param {typeof ROLES[number]} options.outer  nginx's role at the door: it logs last
 * @param {{method: string, path: string, body?: string, type: string}} options.asked
 * @returns {Promise<{status: number, spans: ReceivedSpan[]}>} outermost first; a span of the wiki may be missing if a
 *   cache has answered
 */
export async function recordRequest ({ receiver, directory, door, outer: outerRole, asked }) {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  const headers = {
    traceparent: `00-${traceId}-${spanId}-01`, ...asked.body === undefined ? {} : { 'content-type': asked.type }
  }
  const logs = ROLES.map((role) => logFrom(role, path.join(directory, role, 'access.log')))
  const startMs = Date.now()
  const { status } = await request(door.url + asked.path, {
    method: asked.method, headers, body: asked.body, timeoutMs: 60_000, caFile: door.ca_file
  })
  const endMs = Date.now()
  const client = spanOf({
    ...{ traceId, spanId, parentId: null, service: 'client' },
    ...{ name: `${asked.method} ${asked.path}`, kind: 'client', startMs, endMs }
  }, { 'http.response.status_code': status })
  const hops = await nginxSpans(logs, traceId, spanId, outerRole)
  const reached = hops.length === 0 || hops.at(-1)?.service === 'nginx origin'
  const ofTrace = () => receiver.spans.filter((span) => span.trace_id === traceId)
  if (reached) await waitUntil(async () => isComplete(ofTrace()), SPANS_MAX_MS)
  const outer = hops.at(-1) ?? client
  const wiki = ofTrace().map((span) => span.parent_id === spanId ? { ...span, parent_id: outer.span_id } : span)
  return { status, spans: [client, ...hops, ...wiki] }
}

/** @param {ReceivedSpan[]} spans  of the wiki: the request's, and those of the work that it left to the queue */
function isComplete (spans) {
  const tasks = (/** @type {string} */ kind) => spans
    .filter((span) => span.kind === kind && !span.failed)
    .reduce((sum, { attributes }) => sum + Number(attributes['messaging.batch.message_count']), 0)
  return spans.some(({ kind }) => kind === 'server') && tasks('consumer') >= tasks('producer')
}

/**
 * nginx's clock has whole milliseconds.
 * @param {ReturnType<typeof logFrom>[]} logs
 * @param {string} traceId
 * @param {string} clientId
 * @param {string} outerRole
 * @returns {Promise<ReceivedSpan[]>} outermost first
 */
async function nginxSpans (logs, traceId, clientId, outerRole) {
  const find = () => logs.flatMap(({ role, lines }) => {
    const line = lines().find((text) => text.includes(traceId))
    return line === undefined ? [] : [{ role, ...JSON.parse(line) }]
  })
  await waitUntil(async () => find().some(({ role }) => role === outerRole), LOG_MAX_MS)
  let parentId = clientId
  return find().map((line) => {
    const endMs = 1000 * line.time_s
    const span = spanOf({
      ...{ traceId, spanId: randomBytes(8).toString('hex'), parentId, service: `nginx ${line.role}` },
      ...{ name: `${line.method} ${line.uri}`, kind: 'server', startMs: endMs - 1000 * line.duration_s, endMs }
    }, {
      'http.response.status_code': line.status,
      ...line.cache_status && { 'stevec.cache_status': line.cache_status }
    })
    parentId = span.span_id
    return span
  })
}

/**
 * Reads a log from where it ends now: that of a wiki that runs for long is large.
 * @param {typeof ROLES[number]} role @param {string} file
 */
function logFrom (role, file) {
  const begin = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  return { role, lines: () => linesAfter(file, begin) }
}

/** @param {string} file @param {number} begin @returns {string[]} */
function linesAfter (file, begin) {
  if (!existsSync(file)) return []
  const descriptor = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(descriptor).size - begin))
    readSync(descriptor, bytes, 0, bytes.length, begin)
    return bytes.toString().split('\n')
  } finally {
    closeSync(descriptor)
  }
}

/**
 * @param {{traceId: string, spanId: string, parentId: string | null, service: string, name: string, kind: string,
 *   startMs: number, endMs: number}} span
 * @param {ReceivedSpan['attributes']} attributes
 * @returns {ReceivedSpan}
 */
const spanOf = ({ traceId, spanId, parentId, startMs, endMs, ...rest }, attributes) => ({
  ...rest,
  trace_id: traceId,
  span_id: spanId,
  parent_id: parentId,
  start_ms: startMs,
  end_ms: endMs,
  attributes,
  links: [],
  failed: false
})
