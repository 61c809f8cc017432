/** Far longer than an edit, unless its response was lost. */
const HOLD_MAX_MS = 5_000

/**
 * Keeps writers of a page from aborting each other's transactions. After `maxMs` the next one starts anyway.
 * @param {{maxMs?: number}} [options]
 */
export function createKeyedMutex ({ maxMs = HOLD_MAX_MS } = {}) {
  /** @type {Map<string, Promise<void>>} */
  const last = new Map()

  /** @template T @param {string} key @param {() => Promise<T>} work */
  return async function runExclusive (key, work) {
    const previous = last.get(key)
    let release = () => {}
    /** @type {Promise<void>} */
    const released = new Promise((resolve) => { release = resolve })
    last.set(key, released)
    await previous
    const timer = setTimeout(release, maxMs)
    try {
      return await work()
    } finally {
      clearTimeout(timer)
      release()
      if (last.get(key) === released) last.delete(key)
    }
  }
}

/** @typedef {ReturnType<typeof createKeyedMutex>} KeyedMutex */
