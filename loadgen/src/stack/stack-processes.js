/** The part that each process of a stack plays; a cache in front of the origin is `edge`, wherever it stands. */
const PARTS = /** @type {Record<string, import('../machine/reading.js').Part>} */ ({
  mongod: 'database',
  wiki: 'wiki',
  'nginx origin': 'origin',
  'nginx edge': 'edge',
  'nginx local': 'edge',
  toxiproxy: 'links',
  ssh: 'links'
})

/**
 * @param {import('./state.js').StackState} state
 * @returns {import('../machine/reading.js').WatchedProcess[]}
 */
export const stackProcesses = ({ processes }) =>
  processes.map(({ name, pid }) => ({ name, pid, part: PARTS[name] ?? 'edge' }))
