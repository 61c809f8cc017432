import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import path from 'node:path'
import { allPids } from './proc.js'

/** State of a listening socket in /proc/net/tcp. */
const LISTEN = '0A'
/** 127.0.0.1, and all addresses in IPv4 and in IPv6, as these files write them. */
const TAKES_LOOPBACK = ['0100007F', '00000000', '0'.repeat(32)]

/**
 * A server on a TCP port of 127.0.0.1 (proc_net_tcp(5)).
 * @typedef {object} Listener
 * @property {number} port
 * @property {number} uid  of the user who opened it
 * @property {number | null} pid  the oldest process that has it open; null: it is another user's, and this user may not
 *   see that
 */

/**
 * @param {number[]} ports
 * @returns {Listener[]} those that listen on the ports; [] on a system without /proc
 */
export function listenersOn (ports) {
  const sockets = ['tcp', 'tcp6'].flatMap((table) => rowsOf(`/proc/net/${table}`)).flatMap((row) => {
    const [, local, , state, , , , uid, , inode] = row.trim().split(/\s+/)
    const [address, port] = local.split(':')
    if (state !== LISTEN || !TAKES_LOOPBACK.includes(address) || !ports.includes(parseInt(port, 16))) return []
    return [{ port: parseInt(port, 16), uid: Number(uid), inode }]
  })
  if (sockets.length === 0) return []
  const owners = ownersOf(new Set(sockets.map(({ inode }) => inode)))
  const byPort = new Map(sockets.map(({ port, uid, inode }) => [port, { port, uid, pid: owners.get(inode) ?? null }]))
  return ports.flatMap((port) => byPort.get(port) ?? [])
}

/**
 * @param {number} pid
 * @returns {{uid: number, name: string, arguments: string} | null} its user, the name of its program, and its command
 *   line, which everybody may read; null when it has ended
 */
export function describeProcess (pid) {
  try {
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
    // The kernel's own name of a process is that of its first thread, which Node calls MainThread.
    const name = path.basename(commandLine.split(' ')[0].replace(/:$/, ''))
    return { uid: statSync(`/proc/${pid}`).uid, name, arguments: commandLine }
  } catch {
    return null
  }
}

/**
 * @param {number} uid
 * @returns {string} the user's name, or its number where /etc/passwd does not name it
 */
export function userName (uid) {
  const row = rowsOf('/etc/passwd', 0).map((line) => line.split(':')).find(([, , number]) => Number(number) === uid)
  return row?.[0] ?? `number ${uid}`
}

/**
 * @param {Set<string>} inodes  of sockets
 * @returns {Map<string, number>} the lowest pid that has each open, of the processes that this user may look into
 */
function ownersOf (inodes) {
  const owners = new Map()
  for (const pid of allPids().sort((one, other) => one - other)) {
    for (const inode of socketsOf(pid)) if (inodes.has(inode) && !owners.has(inode)) owners.set(inode, pid)
  }
  return owners
}

/** @param {number} pid */
function socketsOf (pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
      } catch {
        return []
      }
    })
  } catch {
    return []
  }
}

/**
 * @param {string} file
 * @param {number} [heading]  lines before the first row
 * @returns {string[]} [] when there is no such file
 */
function rowsOf (file, heading = 1) {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').slice(heading)
  } catch {
    return []
  }
}
