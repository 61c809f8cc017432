// The networks of the composition, of network namespaces and bridges, as a container engine makes them.
import { execFileSync } from 'node:child_process'
import { networksOf } from './composition.js'

/** @import {Composition} from './composition.js' */

const PREFIX_BITS = 24
const ip = (/** @type {string[]} */ ...args) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] })

/**
 * @typedef {object} Networks
 * @property {string} outside  the namespace with the bridges: the host that the containers run on
 * @property {Record<string, string>} namespaces  service → the path of its network namespace
 * @property {Record<string, Record<string, string>>} addresses  service → network → address
 * @property {(service: string) => string} hosts  its /etc/hosts: the services in its networks
 * @property {() => void} remove
 */

/**
 * @param {string} id  starts the names of the namespaces
 * @param {Composition} composition
 * @returns {Networks}
 */
export function makeNetworks (id, composition) {
  const outside = `${id}-host`
  const services = Object.entries(composition.services)
  const members = services.filter(([, { network_mode: mode }]) => mode === undefined)
  const made = [outside]
  const remove = () => { for (const name of made.splice(0)) ip('netns', 'del', name) }
  try {
    ip('netns', 'add', outside)
    ip('-n', outside, 'link', 'set', 'lo', 'up')
    for (const [name, { ipam }] of Object.entries(composition.networks)) {
      ip('-n', outside, 'link', 'add', name, 'type', 'bridge')
      ip('-n', outside, 'addr', 'add', `${addressIn(ipam.config[0].subnet, 1)}/${PREFIX_BITS}`, 'dev', name)
      ip('-n', outside, 'link', 'set', name, 'up')
    }
    const addresses = chooseAddresses(composition)
    for (const [service] of members) {
      const namespace = `${id}-${service}`
      ip('netns', 'add', namespace)
      made.push(namespace)
      ip('-n', namespace, 'link', 'set', 'lo', 'up')
      Object.entries(addresses[service]).forEach(([network, address], index) => {
        const [inside, port] = [`eth${index}`, `${service}-${index}`]
        ip('-n', outside, 'link', 'add', port, 'type', 'veth', 'peer', 'name', inside, 'netns', namespace)
        ip('-n', outside, 'link', 'set', port, 'master', network, 'up')
        ip('-n', namespace, 'addr', 'add', `${address}/${PREFIX_BITS}`, 'dev', inside)
        ip('-n', namespace, 'link', 'set', inside, 'up')
      })
    }
    const namespaces = namespacesOf(id, composition)
    return { outside, namespaces, addresses, hosts: hostsOf(composition, addresses), remove }
  } catch (error) {
    remove()
    throw error
  }
}

/** @param {string} id @param {Composition} composition */
function namespacesOf (id, { services }) {
  return Object.fromEntries(Object.entries(services).flatMap(([service, { network_mode: mode }]) => {
    if (mode === 'none') return []
    return [[service, `/run/netns/${id}-${mode?.replace(/^service:/, '') ?? service}`]]
  }))
}

/** @param {Composition} composition @returns {Record<string, Record<string, string>>} */
function chooseAddresses ({ services, networks }) {
  /** @type {Record<string, number>} */
  const next = {}
  return Object.fromEntries(Object.entries(services).map(([service, description]) => [
    service,
    Object.fromEntries(networksOf(description).map(([network, fixed]) => {
      next[network] = (next[network] ?? 100) + 1
      return [network, fixed ?? addressIn(networks[network].ipam.config[0].subnet, next[network])]
    }))
  ]))
}

/**
 * @param {Composition} composition
 * @param {Record<string, Record<string, string>>} addresses
 */
function hostsOf ({ services }, addresses) {
  return (/** @type {string} */ service) => {
    const shown = services[service].network_mode?.replace(/^service:/, '') ?? service
    const mine = Object.keys(addresses[shown] ?? {})
    const others = Object.entries(addresses).flatMap(([name, places]) =>
      mine.flatMap((network) => places[network] === undefined ? [] : [`${places[network]} ${name}`]))
    return ['127.0.0.1 localhost', ...others, ''].join('\n')
  }
}

/** @param {string} subnet @param {number} last */
const addressIn = (subnet, last) => subnet.replace(/\.\d+\/24$/, `.${last}`)
