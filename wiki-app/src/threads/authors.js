import { createPool } from './pool.js'

/** The longest ordinary text takes 2 s on two cores of a server; a small board is about five times slower. */
export const CPU_MAX_MS = 10_000
/** Six times as long: a thread that gets a sixth of a core still finishes every text within the CPU limit. */
const WALL_MAX_MS = 60_000
/** http/concurrency-limits.js lets fewer run at once; bytes are bounded, too. */
const WAITING_MAX = 4_096
const THREADS = { min: 1, max: 2 }

/**
 * Creates the threads that render the Markdown of authors and parse the front matter of their imports.
 * @param {{cpuMaxMs?: number}} [options]  of one task
 */
export const createAuthorsPool = ({ cpuMaxMs = CPU_MAX_MS } = {}) => createPool({
  filename: new URL('authors-work.js', import.meta.url).href,
  threads: THREADS,
  cpuMaxMs,
  wallMaxMs: WALL_MAX_MS,
  waitingMax: WAITING_MAX
})
