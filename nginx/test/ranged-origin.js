/**
 * What an origin has at a URL.
 * @typedef {{body: string, etag: string, headers?: Record<string, string>}} Representation
 */

/**
 * Answers as an origin with single ranges and If-Range does, RFC 9110 §13.1.5 and §14.
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 * @param {Representation} representation
 */
export function answerRange (request, response, { body, etag, headers = {} }) {
  const fields = { 'cache-control': 'max-age=60', etag, ...headers }
  const { range, 'if-range': condition } = request.headers
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(range ?? '') ?? []
  if (from === undefined || (condition !== undefined && condition !== etag)) {
    return response.writeHead(200, { ...fields, 'content-length': body.length }).end(body)
  }
  const first = from === '' ? Math.max(0, body.length - Number(to)) : Number(from)
  const last = from === '' || to === '' ? body.length - 1 : Math.min(Number(to), body.length - 1)
  if (first > last) return response.writeHead(416, { 'content-range': `bytes */${body.length}` }).end()
  const part = body.slice(first, last + 1)
  const said = { 'content-range': `bytes ${first}-${last}/${body.length}`, 'content-length': part.length }
  response.writeHead(206, { ...fields, ...said }).end(part)
}

/** @param {number} length @param {number} [seed] @returns {string} text whose slices differ */
export const textOf = (length, seed = 0) => Array.from({ length: Math.ceil(length / 8) }, (_, index) =>
  String((index * 7919 + seed * 104_729) % 100_000_000).padStart(8, '0')).join('').slice(0, length)
