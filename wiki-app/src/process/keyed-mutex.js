/** Far longer than an edit takes, also on a busy machine: only work whose response was lost runs for so long. */
const HOLD_MAX_MS = 5_000

/**
 * Serialises work of the same key. Within one process this keeps writers of the same page from aborting each other's
 * transactions again and again. It is no lock: after `maxMs` the next work starts although the previous one still runs.
 * @param {{maxMs?: number}} [options]
 */
export function createKeyedMutex ({ maxMs = HOLD_MAX_MS } = {}) {
  /** By key: resolves when the newest work is over, or overtaken. @type {Map<string, Promise<void>>} */
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
