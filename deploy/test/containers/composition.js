// What compose.yaml says, in the form that the runner of these tests needs.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/**
 * The parts of the Compose Specification that compose.yaml uses. https://github.com/compose-spec/compose-spec
 * @typedef {object} Service
 * @property {string} image
 * @property {{context: string, dockerfile: string, target?: string}} [build]
 * @property {string[]} [entrypoint]
 * @property {string[]} [command]
 * @property {string} [user]
 * @property {Record<string, string>} [environment]
 * @property {boolean} [read_only]
 * @property {string[]} [cap_drop]
 * @property {string[]} [security_opt]
 * @property {string[]} [tmpfs]
 * @property {{driver: string, options: Record<string, string>}} [logging]
 * @property {string[]} [volumes]
 * @property {string[]} [ports]
 * @property {Record<string, {ipv4_address?: string}> | string[]} [networks]
 * @property {string} [network_mode]
 * @property {Record<string, {condition: string}>} [depends_on]
 * @property {{test?: string[], disable?: boolean}} [healthcheck]
 * @property {string} [stop_grace_period]
 * @property {Record<string, number>} [ulimits]
 * @property {string} [restart]
 * @property {{resources: {limits: {cpus: string, memory: string, pids: number}}}} [deploy]
 */

/**
 * @typedef {object} Composition
 * @property {Record<string, Service>} services
 * @property {Record<string, {internal?: boolean, ipam: {config: {subnet: string}[]}}>} networks
 * @property {Record<string, null>} volumes
 */

/** @type {string} */
export const COMPOSE_FILE = new URL('../../../compose.yaml', import.meta.url).pathname

/**
 * @param {Record<string, string>} [env]
 * @returns {Composition} anchors, merges and `${NAME:-default}` resolved
 */
export function readComposition (env = {}) {
  let text = readFileSync(COMPOSE_FILE, 'utf8')
  // The inner ones first: a default may name another variable.
  for (const innermost = /\$\{([A-Z_]+):-([^{}]*)\}/g; innermost.test(text);) {
    text = text.replaceAll(innermost, (_, name, otherwise) => env[name] ?? otherwise)
  }
  return parse(text, { merge: true })
}

/** @param {Service} service @returns {[string, string | undefined][]} each network with the fixed address there */
export function networksOf ({ networks = [] }) {
  return Array.isArray(networks)
    ? networks.map((name) => [name, undefined])
    : Object.entries(networks).map(([name, { ipv4_address: address } = {}]) => [name, address])
}

/** @param {Composition} composition @returns {string[]} of services, each after those that it depends on */
export function startOrder ({ services }) {
  /** @type {Set<string>} */
  const order = new Set()
  const add = (/** @type {string} */ name, /** @type {string[]} */ above) => {
    if (above.includes(name)) throw new Error(`services wait for each other: ${[...above, name].join(' → ')}`)
    for (const other of Object.keys(services[name].depends_on ?? {})) add(other, [...above, name])
    order.add(name)
  }
  for (const name of Object.keys(services)) add(name, [])
  return [...order]
}
