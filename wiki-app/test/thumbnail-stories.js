// For the tests of small versions of pictures.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import sharp from 'sharp'

export const MADE_MAX_MS = 120_000

/**
 * A picture with a red left half.
 * @param {number} width @param {number} height
 */
export const halves = (width, height) => sharp({ create: { width, height, channels: 3, background: '#fff' } })
  .composite([{
    input: { create: { width: Math.ceil(width / 2), height, channels: 3, background: '#f00' } }, left: 0, top: 0
  }])

/** @param {string} command  part of it @returns {number[]} processes of this one that run it */
export function childrenWith (command) {
  const found = []
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [, parent] = /\) \w (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? []
      if (Number(parent) !== process.pid) continue
      if (readFileSync(path.join('/proc', pid, 'cmdline'), 'latin1').includes(command)) found.push(Number(pid))
    } catch {
      // It has ended.
    }
  }
  return found
}

export const childrenCalled = (/** @type {string} */ command) => childrenWith(command).length
