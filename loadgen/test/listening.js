import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * Returns the addresses on which processes listen, from /proc/net/tcp and tcp6 (proc(5)).
 * @param {number[]} pids
 * @returns {{address: string, port: number}[]}
 */
export function listeningAddresses (pids) {
  const inodes = new Set(pids.flatMap((pid) => readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
    } catch {
      return []
    }
  })))
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/net/${table}`, 'utf8')
      .trim().split('\n').slice(1)
      .flatMap((line) => {
        const [, local, , state, , , , , , inode] = line.trim().split(/\s+/)
        if (state !== '0A' || !inodes.has(inode)) return []
        const [hex, port] = local.split(':')
        const address = table === 'tcp'
          ? /** @type {string[]} */ (hex.match(/../g)).reverse().map((byte) => parseInt(byte, 16)).join('.')
          : `[${hex}]`
        return [{ address, port: parseInt(port, 16) }]
      })
  )
}
