import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/**
 * Below the kernel's ephemeral range (32768 and up), so that no outgoing connection can take a port between the check
 * and its use.
 */
const FREE_RANGE = { first: 20_000, last: 29_999 }
const ATTEMPTS_MAX = 200

/** The reservations of this process, by port. @type {Map<number, import('node:dgram').Socket>} */
const reserved = new Map()

/**
 * @param {number} port
 * @returns {Promise<boolean>} whether 127.0.0.1:port can be bound now
 */
export function isFree (port) {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/**
 * Reserves a port by binding the UDP port of the same number, which the project does not use. Seconds may pass between
 * the check and the server's listen(); without a reservation another process could find the port free as well. The
 * kernel drops the reservation however the process ends.
 * @param {number} port
 * @returns {Promise<boolean>} false if another process, or this one before, has reserved the port
 */
function reserve (port) {
  return new Promise((resolve) => {
    const socket = createSocket('udp4')
    socket.once('error', () => socket.close(() => resolve(false)))
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      socket.unref()
      reserved.set(port, socket)
      resolve(true)
    })
  })
}

/**
 * @param {number} count
 * @param {number[]} [except]  ports that are still free but have a planned use
 * @returns {Promise<number[]>} different ports without a listener; until `releasePorts` or the end of this process,
 *   `freePorts` returns them to no other caller in any process
 * @throws {Error} when 200 attempts find too few
 */
export async function freePorts (count, except = []) {
  /** @type {number[]} */
  const found = []
  for (let attempt = 0; attempt < ATTEMPTS_MAX && found.length < count; attempt++) {
    const port = FREE_RANGE.first + Math.floor(Math.random() * (FREE_RANGE.last - FREE_RANGE.first + 1))
    if (!except.includes(port) && await isFree(port) && await reserve(port)) found.push(port)
  }
  if (found.length < count) {
    await releasePorts(found)
    throw new Error(`fewer than ${count} free ports between ${FREE_RANGE.first} and ${FREE_RANGE.last}`)
  }
  return found
}

/**
 * Ends reservations of this process, once nothing listens on the ports any more; others are ignored.
 * @param {number[]} ports
 */
export async function releasePorts (ports) {
  for (const port of ports) {
    const socket = reserved.get(port)
    if (socket === undefined) continue
    reserved.delete(port)
    await new Promise((resolve) => { socket.close(() => resolve(undefined)) })
  }
}
