import http from 'node:http'
import fc from 'fast-check'
import { startEdge } from '../test/edge-helper.js'
import { createRawClient } from './client.js'
import { bytesOf, canDecode, KEYED, pair } from './requests.js'

/** Pairs that are sent simultaneously, each over its own connection. */
const AT_ONCE = 16
const CODING = /^(br|gzip|zstd|deflate|x-gzip|dcb|dcz|compress|\*)$/

/** At two of three addresses, in the profile rfc9111: No-Vary-Search, and the parameters that count. */
const SEARCHES = Object.freeze([
  { header: '', counts: undefined },
  { header: 'key-order, params=("u")', counts: (/** @type {string} */ name) => name !== 'u' },
  { header: 'key-order, params, except=("a" "b")', counts: (/** @type {string} */ name) => /^[ab]$/.test(name) }
])

/** @typedef {import('./requests.js').Request} Request */
/** @typedef {{cases: number, found: string | null}} Outcome  found: a pair that violates a rule, and the rule */

/**
 * Sends pairs of requests for one address through a real edge. For the second request of a pair, the origin must see
 * the same request whether it is sent after the first or alone. Also, each client must be able to decode its body.
 * @param {object} options
 * @param {'cloudflare' | 'rfc9111'} options.profile
 * @param {number} options.cases  pairs; rounded up to a multiple of 16
 * @param {number} options.seed
 * @param {import('./holes.js').Hole['edits']} [options.edits]  replacements in a copy of lua/
 * @param {boolean} [options.smallest]  default true: when a pair was found, looks for the smallest one
 * @param {(done: number) => void} [options.onProgress]  called with the number of pairs sent so far
 * @returns {Promise<Outcome>}
 */
export async function fuzz ({ profile, cases, seed, edits = [], smallest = true, onProgress = () => {} }) {
  const edge = await startEdge(null, http.createServer({ insecureHTTPParser: true }, echo(profile)), { profile, edits })
  const clients = Array.from({ length: AT_ONCE }, () => createRawClient(edge.port))
  let done = 0
  try {
    const property = fc.asyncProperty(fc.array(pair, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (pairs) => {
      // Await all: a connection with a pending answer cannot be used for the next pair.
      const ends = await Promise.allSettled(pairs.map((two, index) => check(clients[index], two, edge.host, profile)))
      onProgress(done += pairs.length)
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    })
    const result = await fc.check(property, { numRuns: Math.ceil(cases / AT_ONCE), seed, endOnFailure: !smallest })
    return {
      cases: done,
      found: result.failed ? String(/** @type {any} */ (result.errorInstance)?.message ?? result.errorInstance) : null
    }
  } finally {
    for (const client of clients) client.close()
    await edge.stop()
  }
}

let addresses = 0

/**
 * @param {ReturnType<typeof createRawClient>} client
 * @param {[Request, Request]} pair
 * @param {string} host
 * @param {'cloudflare' | 'rfc9111'} profile
 * @throws {Error} that names the violated rule and both requests
 */
async function check (client, [first, second], host, profile) {
  const address = `/${++addresses}`
  const told = (/** @type {string} */ what) => new Error(
    `${what}\n  first:  ${JSON.stringify(bytesOf(first, address, host))}\n  second: ${JSON.stringify(bytesOf(second, address, host))}`)
  const send = async (/** @type {Request} */ request, /** @type {string} */ to) => {
    const answer = await client.ask(request.method, bytesOf(request, to, host))
      .catch((error) => { throw told(error.message) })
    if (!canDecode(request, answer.coding)) throw told(`a body in ${answer.coding} for a client that cannot decode it`)
    return answer
  }
  // Twice: the first HIT of an entry takes other code than the later ones, see lua/fast_path.lua.
  for (let time = 0; time < 2; time++) await send(first, address)
  const shared = await send(second, address)
  const alone = await send(second, `${address}-alone`)
  const [seen, wanted] = [shared, alone].map(({ echo: text }) => effective(text, profile))
  if (seen !== wanted) {
    throw told(`${shared.status} ${shared.cache}, ${alone.status} ${alone.cache}: the answer was made for ${seen}, this request is ${wanted}`)
  }
}

/**
 * Returns the part of a request that its response may depend on, in one spelling.
 * @param {string | null} text  the request as the origin saw it; null: no response from the origin
 * @param {'cloudflare' | 'rfc9111'} profile
 */
function effective (text, profile) {
  if (text === null || profile === 'cloudflare') return text
  // White space around commas does not change a request, RFC 9111 §4.1.
  return text.replaceAll(/[ \t]*,[ \t]*/g, ',')
}

/**
 * An origin that echoes the request as it arrived. At every other address the response also has a Vary, so that it
 * depends on more headers than the keyed ones.
 * @param {'cloudflare' | 'rfc9111'} profile
 * @returns {http.RequestListener}
 */
function echo (profile) {
  return ({ method, url, rawHeaders, headers }, response) => {
    const number = Number(/\d+/.exec(String(url)))
    const varies = number % 2 === 0
    const search = SEARCHES[profile === 'cloudflare' ? 0 : number % SEARCHES.length]
    const vary = varies ? profile === 'cloudflare' ? ['accept-encoding'] : ['accept-encoding', 'origin'] : []
    const named = [...KEYED, ...profile === 'cloudflare' ? ['origin'] : [], ...vary]
    /** @type {Record<string, string>} */
    const seen = { method: method === 'HEAD' ? 'GET' : String(method), host: String(headers.host), query: countingQuery(String(url), search.counts) }
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const [said, text] = rawHeaders.slice(index, index + 2)
      const name = said.toLowerCase()
      // The edge adds the scheme in this spelling when the client does not send it.
      if (!named.includes(name) || said === 'X-Forwarded-Proto') continue
      seen[name] = seen[name] === undefined ? text : `${seen[name]}, ${text}`
    }
    if (varies) {
      const coding = codingFor(seen['accept-encoding'] ?? '')
      if (coding) response.setHeader('Content-Encoding', coding)
      response.setHeader('Vary', vary.join())
    }
    if (search.header) response.setHeader('No-Vary-Search', search.header)
    const ordered = Object.fromEntries(Object.entries(seen).sort(([one], [other]) => one < other ? -1 : 1))
    response.setHeader('Echo', encodeURIComponent(JSON.stringify(ordered)))
      .setHeader('Cache-Control', 'max-age=600')
      .end('body')
  }
}

/**
 * @param {string} url
 * @param {((name: string) => boolean) | undefined} counts  undefined: each query has its own response
 */
function countingQuery (url, counts) {
  const query = /\?.*$/.exec(url)?.[0] ?? ''
  if (!counts) return query
  const parameters = new URLSearchParams([...new URLSearchParams(query)].filter(([name]) => counts(name)))
  parameters.sort()
  return String(parameters)
}

/**
 * @param {string} accepted  Accept-Encoding
 * @returns {string | undefined} the first coding that it allows; any for `*`
 */
function codingFor (accepted) {
  const allowed = accepted.toLowerCase().split(',').filter((member) => !/q=0(\.0*)?[ \t]*$/.test(member))
  const coding = allowed.map((member) => member.split(';')[0].trim()).find((text) => CODING.test(text))
  return coding === '*' ? 'compress' : coding
}
