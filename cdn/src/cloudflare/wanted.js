import { BlockList, isIP, isIPv4 } from 'node:net'

/** Marks by which we recognise our own records, rules and rulesets. */
export const RECORD_MARK = 'managed by stevec'
export const RULE_MARK = 'stevec_'
export const RULESET_MARK = 'made by stevec'

/** The wiki never lets a cache store these; a cache rule makes sure of it. */
const BYPASSED_PATHS = ['/wiki/stevec', '/api', '/healthz', '/readyz']
const BYPASSED_PREFIXES = ['/api/', '/edit/']

export const TIERED_CACHE = 'tiered_cache_smart_topology_enable'
/**
 * Settings that would distort a measurement. apply sets those with `always`; it sets the others only with --tune.
 * Cloudflare has retired Auto Minify: that setting no longer exists.
 * https://developers.cloudflare.com/api/resources/zones/subresources/settings/
 */
export const SETTINGS = Object.freeze([
  { id: TIERED_CACHE, value: 'off', always: true, why: 'a second cache behind the first turns a MISS into half a HIT' },
  { id: 'development_mode', value: 'off', always: false, why: 'nothing is cached while it is on' },
  { id: 'rocket_loader', value: 'off', always: false, why: 'it rewrites pages' },
  { id: 'email_obfuscation', value: 'off', always: false, why: 'it rewrites pages' },
  { id: 'automatic_https_rewrites', value: 'off', always: false, why: 'it rewrites pages' },
  { id: 'brotli', value: 'off', always: false, why: 'the other doors compress with gzip, so sizes would differ' },
  { id: 'always_online', value: 'off', always: false, why: 'an archived copy may stand in for the origin' },
  { id: 'early_hints', value: 'off', always: false, why: 'it answers twice' },
  { id: 'browser_check', value: 'off', always: false, why: 'it may refuse a load generator' }
])

/**
 * @typedef {object} Record
 * @property {'A' | 'AAAA' | 'CNAME'} type
 * @property {string} name
 * @property {string} content
 * @property {boolean} proxied
 * @property {number} ttl
 * @property {string} comment
 *
 * @typedef {{cached: string, nocache: string, source: string}} Hosts
 */

/** @type {(keyof Hosts)[]} */
export const DOORS = ['cached', 'nocache', 'source']

/**
 * @param {string} zone
 * @param {string} [names]  three labels, for the doors cached, nocache and source
 * @returns {Hosts}
 * @throws {RangeError} with a one-line message
 */
export function hostsOf (zone, names = 'wiki,nocache,source') {
  if (!/^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/.test(zone)) {
    throw new RangeError(`the zone is a domain such as example.com, not "${zone}"`)
  }
  const labels = names.split(',').map((label) => label.trim())
  // Cloudflare's free certificate covers one level below the zone.
  if (
    labels.length !== 3 ||
    new Set(labels).size !== 3 ||
    !labels.every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label))
  ) {
    throw new RangeError(
      `the names are three different labels for the doors cached, nocache and source, such as wiki,nocache,source, not "${names}"`
    )
  }
  return { cached: `${labels[0]}.${zone}`, nocache: `${labels[1]}.${zone}`, source: `${labels[2]}.${zone}` }
}

/** https://www.iana.org/assignments/iana-ipv4-special-registry/ and -ipv6-: unreachable from the internet. */
const PRIVATE = new BlockList()
for (const [address, prefix] of /** @type {const} */ ([
  ['0.0.0.0', 8], ['10.0.0.0', 8], ['100.64.0.0', 10], ['127.0.0.0', 8], ['169.254.0.0', 16], ['172.16.0.0', 12],
  ['192.168.0.0', 16], ['224.0.0.0', 3]
])) PRIVATE.addSubnet(address, prefix, 'ipv4')
for (const [address, prefix] of /** @type {const} */ ([
  ['::', 127], ['fc00::', 7], ['fe80::', 10], ['ff00::', 8]
])) PRIVATE.addSubnet(address, prefix, 'ipv6')

/**
 * @param {string} origin  an IP address or a host name
 * @param {Hosts} hosts
 * @returns {Pick<Record, 'type' | 'content'>}
 * @throws {RangeError} with a one-line message
 */
export function originOf (origin, hosts) {
  const version = isIP(origin)
  if (version !== 0) {
    if (PRIVATE.check(origin, isIPv4(origin) ? 'ipv4' : 'ipv6')) {
      throw new RangeError(`the origin ${origin} cannot be reached from the internet; give its public address`)
    }
    return version === 4
      ? { type: 'A', content: origin }
      : { type: 'AAAA', content: new URL(`http://[${origin}]`).hostname.slice(1, -1) }
  }
  const host = origin.toLowerCase().replace(/\.$/, '')
  if (!/^(?=.{4,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/.test(host)) {
    throw new RangeError(`the origin is a public IP address or a host name, not "${origin}"`)
  }
  if (Object.values(hosts).includes(host)) {
    throw new RangeError(`the origin ${host} is one of the doors; use the address of the machine itself`)
  }
  return { type: 'CNAME', content: host }
}

/**
 * Returns the DNS records of the doors.
 * @param {Hosts} hosts
 * @param {string} origin
 * @returns {Record[]}
 */
export function recordsOf (hosts, origin) {
  const target = originOf(origin, hosts)
  // TTL 1 means automatic.
  return DOORS.map((door) => ({
    ...target,
    name: hosts[door],
    proxied: door !== 'source',
    ttl: 1,
    comment: `${RECORD_MARK}: ${door}`
  }))
}

/**
 * Returns the cache rules in their order: the last matching rule wins.
 * https://developers.cloudflare.com/cache/how-to/cache-rules/settings/
 * @param {Hosts} hosts
 * @returns {{
 *   ref: string,
 *   description: string,
 *   expression: string,
 *   action: string,
 *   action_parameters: object,
 *   enabled: boolean
 * }[]}
 */
export function rulesOf (hosts) {
  const path = 'http.request.uri.path'
  const bypassed = [
    `${path} in {${BYPASSED_PATHS.map((text) => `"${text}"`).join(' ')}}`,
    ...BYPASSED_PREFIXES.map((prefix) => `starts_with(${path}, "${prefix}")`)
  ].join(' or ')
  const rule = { action: 'set_cache_settings', enabled: true }
  return [
    {
      ...rule,
      ref: `${RULE_MARK}cached`,
      description: 'stevec: the door cached, as the origin says',
      expression: `(http.host eq "${hosts.cached}")`,
      action_parameters: {
        cache: true,
        edge_ttl: { mode: 'respect_origin' },
        // The zone's own default would tell browsers four hours.
        browser_ttl: { mode: 'respect_origin' },
        // A weakened ETag fails If-Match (RFC 9110 §13.1.1), which keeps editors from overwriting each other.
        respect_strong_etags: true
      }
    },
    {
      ...rule,
      ref: `${RULE_MARK}personal`,
      description: 'stevec: the counter, the API and all editing are never cached',
      expression: `(http.host eq "${hosts.cached}" and (${bypassed}))`,
      action_parameters: { cache: false }
    },
    {
      ...rule,
      ref: `${RULE_MARK}nocache`,
      description: 'stevec: the door nocache',
      expression: `(http.host eq "${hosts.nocache}")`,
      action_parameters: { cache: false }
    }
  ]
}
