import { createPool } from './pool.js'

/** The longest ordinary text takes 2 s on two cores of a server; a small board is some five times slower. */
export const CPU_MAX_MS = 10_000
/** Six times as long: a thread with a sixth of a core still gets any text done that may be one. */
const WALL_MAX_MS = 60_000
/** Admission lets fewer in at once; bytes are bounded, too. */
const WAITING_MAX = 4_096
const THREADS = { min: 1, max: 2 }

/**
 * The threads that do what authors need: HTML of Markdown, and the front matter of what they import.
 * @param {{cpuMaxMs?: number}} [options]  of one task
 */
export const createAuthorsPool = ({ cpuMaxMs = CPU_MAX_MS } = {}) => createPool({
  filename: new URL('authors-work.js', import.meta.url).href,
  threads: THREADS,
  cpuMaxMs,
  wallMaxMs: WALL_MAX_MS,
  waitingMax: WAITING_MAX
})
