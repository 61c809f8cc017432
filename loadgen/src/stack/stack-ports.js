import { freePorts, isFree } from '@stevec/harness/ports'
import { DEFAULT_PORTS, readConfig } from '../config.js'
import { UsageError } from '../usage-error.js'
import { StackError } from './stack-error.js'
import { findStrangers, strangerText } from './strangers.js'

/** @typedef {import('../config.js').PortName} PortName */
/** @typedef {import('../config.js').Ports} Ports */

const NAMES = /** @type {PortName[]} */ (Object.keys(DEFAULT_PORTS))
const variableOf = (/** @type {string} */ name) => `${name.toUpperCase()}_PORT`

/**
 * Chooses a stack's ports: the default ports if all are free, otherwise free ones. A port set explicitly is never
 * replaced.
 * @returns {Promise<{ports: Ports, moved: boolean}>}
 */
export async function flexiblePorts (requested = readConfig().ports) {
  const open = NAMES.filter((name) => requested[name] === undefined)
  const free = await Promise.all(open.map((name) => isFree(DEFAULT_PORTS[name])))
  if (free.every(Boolean)) return { ports: { ...DEFAULT_PORTS, ...requested }, moved: false }
  const found = await freePorts(open.length, Object.values(requested))
  const others = Object.fromEntries(open.map((name, index) => [name, found[index]]))
  return { ports: { ...DEFAULT_PORTS, ...requested, ...others }, moved: true }
}

/**
 * @param {Ports} ports
 * @param {boolean} ownMongod
 * @throws {StackError} naming each taken port
 * @throws {UsageError} naming one used twice
 */
export async function refuseTakenPorts (ports, ownMongod) {
  const names = NAMES.filter((name) => ownMongod || name !== 'mongod')
  const doubled = names.find((name, index) => names.findIndex((other) => ports[other] === ports[name]) !== index)
  if (doubled) {
    const variables = names.map(variableOf).join(', ')
    throw new UsageError(`port ${ports[doubled]} is given twice; every part needs its own (${variables})`)
  }
  const free = await Promise.all(names.map((name) => isFree(ports[name])))
  const taken = names.filter((_, index) => !free[index])
  if (taken.length === 0) return
  const { strangers } = findStrangers(Object.fromEntries(taken.map((name) => [name, ports[name]])))
  throw new StackError(taken.map((name) => {
    const stranger = strangers.find(({ port }) => port === ports[name])
    const by = stranger === undefined ? '' : ` by ${strangerText(stranger)}`
    return `port ${ports[name]} (${name}) is already taken${by}; ` +
      `free it, or choose another with ${variableOf(name)}=… or --${name}-port`
  }).join('\n'))
}
