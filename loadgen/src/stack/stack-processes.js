import { OTHER_CACHES } from '@stevec/cdn/caches'
import { nodeName } from '@stevec/harness/replica-set'
import { EDGE_NAMES, edgeProcess } from './edge-names.js'
import { SHARED_NAMES } from './shared.js'
import { isWiki } from './wiki-names.js'

/** The part that each process of a stack plays; a cache in front of the origin is `edge`, wherever it stands. */
const PARTS = /** @type {Record<string, import('../machine/reading.js').Part>} */ ({
  ...Object.fromEntries([0, 1, 2].map((index) => [nodeName(index), 'database'])),
  ...Object.fromEntries(SHARED_NAMES.map((name) => [name, 'database'])),
  'nginx origin': 'origin',
  ...Object.fromEntries(EDGE_NAMES.map((name) => [edgeProcess(name), 'edge'])),
  'nginx local': 'edge',
  ...Object.fromEntries(['nginx', ...OTHER_CACHES].map((name) => [`cache ${name}`, 'edge'])),
  toxiproxy: 'links',
  ssh: 'links'
})

/**
 * @param {Pick<import('./state.js').StackState, 'processes'>} state
 * @returns {import('../machine/reading.js').WatchedProcess[]}
 * @throws {Error} when a process plays no known part: its processor time would be another part's
 */
export const stackProcesses = ({ processes }) => processes.map(({ name, pid }) => {
  const part = isWiki(name) ? 'wiki' : PARTS[name]
  if (part === undefined) throw new Error(`the process "${name}" of the stack plays no known part`)
  return { name, pid, part }
})
