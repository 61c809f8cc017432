import { once } from 'node:events'
import { createServer } from 'node:http'

const BODY_MAX_BYTES = 16 * 1024 ** 2
const SPANS_MAX = 20_000
const REQUEST_TIMEOUT_MS = 10_000
const NS_PER_MS = 1e6
/** SpanKind and Status of https://github.com/open-telemetry/opentelemetry-proto, trace.proto */
const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer']
const STATUS_ERROR = 2

/**
 * A span as OTLP has it, with times in milliseconds since 1970.
 * @typedef {object} ReceivedSpan
 * @property {string} service  `service.name`
 * @property {string} trace_id  32 hexadecimal digits
 * @property {string} span_id  16 of them
 * @property {string | null} parent_id
 * @property {string} name
 * @property {string} kind
 * @property {number} start_ms
 * @property {number} end_ms
 * @property {Record<string, string | number | boolean | null>} attributes
 * @property {{trace_id: string, span_id: string}[]} links
 * @property {boolean} failed
 */

/**
 * A collector of traces on loopback. https://opentelemetry.io/docs/specs/otlp/#otlphttp
 * @param {{port?: number, spansMax?: number}} [options]  `port` 0: any free one; more spans than `spansMax` are only
 *   counted
 * @throws {Error} when it cannot listen there
 */
export async function startTraceReceiver ({ port = 0, spansMax = SPANS_MAX } = {}) {
  /** @type {ReceivedSpan[]} */
  const spans = []
  let count = 0
  let bytes = 0
  const timeouts = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS }
  const server = createServer(timeouts, async (request, response) => {
    const answer = (/** @type {number} */ status, /** @type {object} */ body) => response
      .writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.method !== 'POST' || request.url !== '/v1/traces') return answer(404, { message: 'POST /v1/traces' })
    if (!/^application\/json/.test(request.headers['content-type'] ?? '')) {
      return answer(415, { message: 'only OTLP in JSON is understood' })
    }
    try {
      const body = await bodyOf(request)
      const received = spansOf(JSON.parse(body))
      count += received.length
      bytes += Buffer.byteLength(body)
      spans.push(...received.slice(0, Math.max(0, spansMax - spans.length)))
      answer(200, {})
    } catch (error) {
      answer(400, { message: /** @type {Error} */ (error).message })
    }
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const { port: taken } = /** @type {import('node:net').AddressInfo} */ (server.address())

  return {
    url: `http://127.0.0.1:${taken}`,
    spans,
    /** Of all spans, and of the bodies that held them. */
    received: () => ({ spans: count, bytes }),
    async stop () {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}

/** @typedef {Awaited<ReturnType<typeof startTraceReceiver>>} TraceReceiver */

/** @param {import('node:http').IncomingMessage} request @throws {Error} when it is too long */
async function bodyOf (request) {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_MAX_BYTES) throw new Error(`more than ${BODY_MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** @param {any} request  ExportTraceServiceRequest @returns {ReceivedSpan[]} */
const spansOf = ({ resourceSpans = [] }) => resourceSpans.flatMap((/** @type {any} */ { resource, scopeSpans }) => {
  const service = String(attributesOf(resource?.attributes)['service.name'] ?? '')
  return scopeSpans.flatMap((/** @type {any} */ scope) => scope.spans.map((/** @type {any} */ span) => ({
    service,
    trace_id: String(span.traceId),
    span_id: String(span.spanId),
    parent_id: span.parentSpanId ? String(span.parentSpanId) : null,
    name: String(span.name),
    kind: KINDS[span.kind] ?? KINDS[0],
    start_ms: Number(span.startTimeUnixNano) / NS_PER_MS,
    end_ms: Number(span.endTimeUnixNano) / NS_PER_MS,
    attributes: attributesOf(span.attributes),
    links: (span.links ?? []).map((/** @type {any} */ link) =>
      ({ trace_id: String(link.traceId), span_id: String(link.spanId) })),
    failed: span.status?.code === STATUS_ERROR
  })))
})

/** @param {{key: string, value: Record<string, any>}[]} [list] @returns {ReceivedSpan['attributes']} */
const attributesOf = (list = []) => Object.fromEntries(list.map(({ key, value }) => [key, valueOf(value)]))

/** @param {Record<string, any>} value  AnyValue @returns {string | number | boolean | null} lists as JSON */
function valueOf ({ stringValue, boolValue, intValue, doubleValue, arrayValue }) {
  if (intValue !== undefined) return Number(intValue)
  if (arrayValue !== undefined) return JSON.stringify(arrayValue.values)
  return stringValue ?? boolValue ?? doubleValue ?? null
}
