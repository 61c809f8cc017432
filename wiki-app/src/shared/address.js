const PORT = 6379
const SENTINEL_PORT = 26379

/**
 * Where Redis is: a server, or sentinels that know which server is the master.
 * @typedef {{username?: string, password?: string, database: number, tls: boolean}} Login  of the servers
 * @typedef {{host: string, port: number}} Node
 * @typedef {Login & {name: string | null, nodes: Node[]}} RedisAddress  `name`: of the master, in the sentinels;
 *   null: the one node is the server
 */

const HOST = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/
const URI = new RegExp('^(?<scheme>rediss?(?:-sentinel)?)://(?:(?<user>[^:@/#?]*)(?::(?<password>[^@/#?]*))?@)?' +
  '(?<hosts>[^/#?@]+)(?:/(?<database>\\d{0,3}))?(?:#(?<name>[A-Za-z0-9._-]{1,200}))?$')

/**
 * `redis[s]://[[user]:password@]host[:port][/database]`, as registered with the IANA, or
 * `redis[s]-sentinel://[[user]:password@]host[:port][,…][/database]#master`, as the Redis client Lettuce has it
 * (https://redis.github.io/lettuce/user-guide/connecting-redis/). Parsed here: the official client knows the first
 * form only.
 * @param {string} uri
 * @returns {RedisAddress | null} null when it is none
 */
export function parseRedisUrl (uri) {
  const { scheme = '', user, password, hosts = '', database = '', name } = URI.exec(uri)?.groups ?? {}
  const isSentinel = scheme.endsWith('-sentinel')
  const nodes = hosts.split(',').map((host) => nodeOf(host, isSentinel ? SENTINEL_PORT : PORT))
  if (nodes.includes(null) || isSentinel !== (name !== undefined) || (!isSentinel && nodes.length > 1)) return null
  try {
    return {
      ...user && { username: decodeURIComponent(user) },
      ...password && { password: decodeURIComponent(password) },
      database: Number(database),
      tls: scheme.startsWith('rediss'),
      name: name ?? null,
      nodes: /** @type {Node[]} */ (nodes)
    }
  } catch {
    return null
  }
}

/** @param {string} text @param {number} otherwise @returns {Node | null} */
function nodeOf (text, otherwise) {
  const [match, ipv6, name, port = String(otherwise)] = HOST.exec(text) ?? []
  return match === undefined || Number(port) > 65_535 ? null : { host: ipv6 ?? name, port: Number(port) }
}

/** @param {RedisAddress} address @returns {string} for a log: without the password */
export const shownAddress = ({ nodes, name }) =>
  `${name === null ? '' : `${name} at `}${nodes.map(({ host, port }) => `${host}:${port}`).join(', ')}`
