/**
 * Work that waits for a slot: `class` and `network` are those of its request, and `isGone` says whether its client has
 * disconnected.
 * @typedef {{refuse: () => void, isGone?: () => boolean, class?: string, network?: string}} Waiting
 */

/**
 * @template {Waiting} W
 * @typedef {object} WaitingLine
 * @property {number} length
 * @property {(work: W) => void} add  refuses it, or another one, when the line is full
 * @property {() => W | undefined} take  the next one; undefined: there is none, or none may begin yet
 * @property {(isOver: (work: W) => boolean) => W[]} remove  those for which it is true
 */

/** @template {Waiting} W @param {number} most @returns {WaitingLine<W>} */
export function createFirstComeFirstServed (most) {
  /** @type {W[]} */
  let line = []
  return {
    get length () { return line.length },
    add (work) { if (line.length < most) line.push(work); else work.refuse() },
    take: () => line.shift(),
    remove (isOver) {
      const { left, over } = divide(line, isOver)
      line = left
      return over
    }
  }
}

/** @template W @param {W[]} line @param {(work: W) => boolean} isOver */
function divide (line, isOver) {
  const parts = { left: /** @type {W[]} */ ([]), over: /** @type {W[]} */ ([]) }
  for (const work of line) parts[isOver(work) ? 'over' : 'left'].push(work)
  return parts
}

/**
 * Classes take turns, and in each class the networks of clients do: much work of one delays the others by a turn. When
 * the line is full, new work replaces the newest of the longest network in the longest class. It is refused if its own
 * class and network are as long, but for one.
 * @template {Waiting} W @param {number} most
 * @param {object} [options]
 * @param {number} [options.mostOfANetwork]  in each class
 * @param {(waiting: number) => boolean} [options.mayBegin]  whether the turn of a class, in which so much waits, has
 *   come; default: always
 * @returns {WaitingLine<W>}
 */
export function createTurns (most, { mostOfANetwork = Infinity, mayBegin = () => true } = {}) {
  /** Classes, and their networks, in the order of their turns. @type {Map<string, Map<string, W[]>>} */
  const classes = new Map()
  let count = 0

  /** @param {string} name @param {string} network @param {'pop' | 'shift'} end */
  function removeOne (name, network, end) {
    const networks = /** @type {Map<string, W[]>} */ (classes.get(name))
    const own = /** @type {W[]} */ (networks.get(network))
    const work = /** @type {W} */ (own[end]())
    count--
    if (own.length === 0) networks.delete(network)
    if (networks.size === 0) classes.delete(name)
    return work
  }

  return {
    get length () { return count },

    add (work) {
      const { class: name = '', network = '' } = work
      if ((classes.get(name)?.get(network)?.length ?? 0) >= mostOfANetwork) return work.refuse()
      if (count >= most) {
        for (const gone of this.remove(({ isGone }) => isGone?.() ?? false)) gone.refuse()
      }
      if (count >= most) {
        const longest = longestFor(classes, name, network)
        if (longest === null) return work.refuse()
        removeOne(longest.name, longest.network, 'pop').refuse()
      }
      const networks = classes.get(name) ?? new Map()
      const own = networks.get(network) ?? []
      own.push(work)
      classes.set(name, networks.set(network, own))
      count++
    },

    take () {
      const [name, networks] = [...classes].find(([, each]) => mayBegin(sizeOf(each))) ?? []
      if (name === undefined || networks === undefined) return undefined
      const [network] = networks.keys()
      const work = removeOne(name, network, 'shift')
      putLast(networks, network)
      putLast(classes, name)
      return work
    },

    remove (isOver) {
      /** @type {W[]} */
      const removed = []
      for (const [name, networks] of classes) {
        for (const [network, own] of networks) {
          const { left, over } = divide(own, isOver)
          removed.push(...over)
          if (left.length === 0) networks.delete(network)
          else networks.set(network, left)
        }
        if (networks.size === 0) classes.delete(name)
      }
      count -= removed.length
      return removed
    }
  }
}

/** @param {Map<string, {length: number}>} networks */
const sizeOf = (networks) => [...networks.values()].reduce((sum, { length }) => sum + length, 0)

/**
 * Where the newest work is dropped for one more of this class and network. Of two that are as long, the one whose turn
 * is later.
 * @param {Map<string, Map<string, {length: number}>>} classes @param {string} name @param {string} network
 * @returns {{name: string, network: string} | null} null: these have most already
 */
function longestFor (classes, name, network) {
  const sizes = [...classes].map(([each, networks]) => ({ name: each, size: sizeOf(networks) }))
  const largest = sizes.reduce((a, b) => b.size >= a.size ? b : a)
  const isOther = largest.size > sizeOf(classes.get(name) ?? new Map()) + 1
  const networks = classes.get(isOther ? largest.name : name)
  if (networks === undefined) return null
  const [longest, { length }] = [...networks].reduce((a, b) => b[1].length >= a[1].length ? b : a)
  if (!isOther && length <= (networks.get(network)?.length ?? 0) + 1) return null
  return { name: isOther ? largest.name : name, network: longest }
}

/** @template V @param {Map<string, V>} map @param {string} key  takes its next turn after the others */
function putLast (map, key) {
  const value = map.get(key)
  if (value === undefined) return
  map.delete(key)
  map.set(key, value)
}
