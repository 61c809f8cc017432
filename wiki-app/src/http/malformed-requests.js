import { maxHeaderSize, STATUS_CODES } from 'node:http'
import { englishSize } from '../readable.js'
import { problemOf } from './problem.js'
import { SECURITY_HEADERS } from './security-headers.js'

/** @import {Socket} from 'node:net' */

const BROKEN = { status: 400, detail: 'This is no request of HTTP/1.1 (RFC 9112). The connection ends here.' }
const CONNECT = { status: 501, detail: 'CONNECT is not possible: this is a wiki, and no proxy.' }
const EXPECTATION = { status: 417, detail: 'Only “100-continue” can be expected. Leave the header Expect out.' }

/** Error codes of Node's parser and timers. https://nodejs.org/api/errors.html */
const REFUSALS = new Map(Object.entries({
  HPE_HEADER_OVERFLOW: {
    status: 431,
    detail: `The header is longer than ${englishSize(maxHeaderSize)}. Send shorter fields.`
  },
  HPE_INVALID_METHOD: { status: 501, detail: 'The wiki knows GET, HEAD, POST, PUT and DELETE, not this method.' },
  HPE_INVALID_VERSION: { status: 505, detail: 'The wiki speaks HTTP/1.1 and HTTP/1.0.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, detail: 'The chunk extensions are too long. Leave them out.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, detail: 'The request did not arrive in time. Send it again.' }
}))

/** @param {Error & {code?: string}} error @param {Socket} socket */
export function answerMalformed (error, socket) {
  if (error.code === 'ECONNRESET') socket.destroy()
  else refuse(socket, REFUSALS.get(error.code ?? '') ?? BROKEN)
}

/** Node does not pass these to request listeners. @param {import('node:http').Server} server */
export function refuseConnectAndExpect (server) {
  server.on('connect', (_request, socket) => refuse(/** @type {Socket} */ (socket), CONNECT))
  server.on('checkExpectation', (_request, response) => {
    const { headers, body } = answerOf(EXPECTATION)
    response.writeHead(EXPECTATION.status, headers).end(body)
  })
}

/** @param {Socket} socket @param {typeof BROKEN} refusal */
function refuse (socket, refusal) {
  // A response has already started: a second head would become part of its body.
  const { _httpMessage: current } = /** @type {{_httpMessage?: {_headerSent?: boolean} | null}} */ (
    /** @type {unknown} */ (socket))
  if (!socket.writable || current?._headerSent) return socket.destroy()
  const { headers, body } = answerOf(refusal)
  const fields = Object.entries({ ...headers, date: new Date().toUTCString() })
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`)
  socket.once('error', () => {})
  socket.write(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${lines.join('')}\r\n${body}`)
  socket.destroySoon()
}

/** @param {typeof BROKEN} refusal */
function answerOf ({ status, detail }) {
  const body = JSON.stringify(problemOf(status, detail))
  return {
    headers: {
      ...SECURITY_HEADERS,
      'cache-control': 'no-store',
      'content-type': 'application/problem+json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      connection: 'close'
    },
    body
  }
}
