import { spawnSync } from 'node:child_process'

/** By path of the binary. @type {Map<string, boolean>} */
const known = new Map()

/**
 * Whether a k6 has the output `stevec` (harness/k6), which writes one row for each request. Any other k6 writes its own
 * CSV, which takes it more processor time.
 * @param {import('./tools/locate.js').Tool} k6
 */
export function writesRows ({ path }) {
  const found = known.get(path) ?? spawnSync(path, ['version'], { encoding: 'utf8' }).stdout.includes('stevec [output]')
  known.set(path, found)
  return found
}
