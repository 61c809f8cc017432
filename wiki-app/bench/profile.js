/**
 * A CPU profile in V8's format: each sample is the id of the node that ran, each node a function as called from its
 * parent.
 * https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile
 * @typedef {import('node:inspector').Profiler.Profile} Profile
 */

/** V8's name for the time in which the process waits. */
const IDLE = '(idle)'

/**
 * @typedef {object} Frame  in the form that d3-flame-graph draws
 * @property {string} name
 * @property {number} value  µs in it and in all that it calls
 * @property {Frame[]} children
 */

/**
 * Sums up the time of each function.
 * @param {Profile} profile
 * @param {string} root  directory that names of files are relative to
 * @returns {{busyUs: number, totalUs: number, tree: Frame, self: {name: string, self_us: number}[]}} only `totalUs`
 *   includes waiting; `self` has the time of each function itself, from all callers together, the longest first
 * @throws {Error} when the profile has no samples
 */
export function summarise ({ nodes, samples = [], timeDeltas = [] }, root) {
  if (samples.length === 0) throw new Error('the CPU profile has no samples: was there any load?')
  /** @type {Map<number, number>} */
  const ownUs = new Map()
  // A delta is the time before its sample; each sample counts for the time until the next one.
  samples.forEach((id, index) => ownUs.set(id, (ownUs.get(id) ?? 0) + Math.max(0, timeDeltas[index + 1] ?? 0)))
  const byId = new Map(nodes.map((node) => [node.id, node]))
  /** @type {Map<string, number>} */
  const selfUs = new Map()

  /** @param {number} id @returns {Frame} */
  function frameOf (id) {
    const node = /** @type {Profile['nodes'][number]} */ (byId.get(id))
    const name = nameOf(node.callFrame, root)
    const own = ownUs.get(id) ?? 0
    if (own > 0) selfUs.set(name, (selfUs.get(name) ?? 0) + own)
    const children = (node.children ?? []).map(frameOf).filter(({ value }) => value > 0)
    return { name, value: own + children.reduce((sum, child) => sum + child.value, 0), children }
  }
  const whole = frameOf(nodes[0].id)
  const idleUs = selfUs.get(IDLE) ?? 0
  selfUs.delete(IDLE)
  const busyUs = whole.value - idleUs
  return {
    busyUs,
    totalUs: whole.value,
    tree: { name: 'wiki', value: busyUs, children: whole.children.filter(({ name }) => name !== IDLE) },
    self: [...selfUs].map(([name, us]) => ({ name, self_us: us })).sort((a, b) => b.self_us - a.self_us)
  }
}

/**
 * @param {Profile['nodes'][number]['callFrame']} frame
 * @param {string} root
 */
function nameOf ({ functionName, url, lineNumber }, root) {
  const name = functionName || '(anonymous)'
  if (url === '') return name
  const file = url.replace('file://', '').replace(`${root}/`, '').replace(/^.*node_modules\//, '')
  return `${name} ${file}:${lineNumber + 1}`
}
