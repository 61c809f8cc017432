import { createPool } from './pool.js'

/** The longest ordinary text takes 2 s on two server cores; a small board is five times slower. */
export const CPU_MAX_MS = 10_000
/** A thread with a sixth of a core still finishes within the CPU limit. */
const WALL_MAX_MS = 60_000
/** http/concurrency-limits.js lets fewer run. */
const WAITING_MAX = 4_096
const THREADS = { min: 1, max: 2 }

/** @param {{cpuMaxMs?: number}} [options]  of one task */
export const createAuthorsPool = ({ cpuMaxMs = CPU_MAX_MS } = {}) => createPool({
  filename: new URL('authors-work.js', import.meta.url).href,
  threads: THREADS,
  cpuMaxMs,
  wallMaxMs: WALL_MAX_MS,
  waitingMax: WAITING_MAX
})
