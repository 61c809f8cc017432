import { t } from '../language.js'
import { createPool, TooCostly } from '../threads/pool.js'

/** @import {Drawings} from './diagrams.js' */
/** @import {Pool} from '../threads/pool.js' */

/** Of one diagram: ordinary ones take less than 0.1 s on a server, on a small board five times as long. */
const CPU_MAX_MS = 3_000
/** Of all diagrams of a page together, but for the last one. */
const PAGE_CPU_MAX_MS = 6_000
const POOL = {
  filename: new URL('diagram-work.js', import.meta.url).href,
  // The library takes 80 MB; most wikis have few diagrams.
  threads: { min: 0, max: 1 },
  cpuMaxMs: CPU_MAX_MS,
  wallMaxMs: 60_000,
  waitingMax: 256,
  heap: { oldMib: 128, youngMib: 16 }
}

const tooCostly = () => t('drawing it takes more than {{seconds}} s of processor time, or too much memory',
  { seconds: CPU_MAX_MS / 1000 })
const tooMuch = () => t('the diagrams of this page take too much processor time')

/**
 * A thread of its own, which can be ended without harm to the text.
 * @param {{pool?: Pool, pageCpuMaxMs?: number}} [options]
 */
export function createDiagrams ({ pool = createPool(POOL), pageCpuMaxMs = PAGE_CPU_MAX_MS } = {}) {
  /**
   * @param {string[]} sources  of one page @returns {Promise<Drawings>}
   * @throws {Error} 503 when the machine is busy
   */
  async function draw (sources) {
    /** @type {Drawings} */
    const drawings = new Map()
    let leftMs = pageCpuMaxMs
    for (const source of sources) {
      const { svg, reason, cpuMs } = leftMs > 0 ? await drawOne(source) : { ...refused(tooMuch()), cpuMs: 0 }
      drawings.set(source, { svg, reason })
      leftMs -= cpuMs
    }
    return drawings
  }

  /** @param {string} source @returns {Promise<import('./diagram-work.js').Drawing & {cpuMs: number}>} */
  const drawOne = (source) => pool.run(source, { bytes: Buffer.byteLength(source) }).catch((error) => {
    if (error instanceof TooCostly) return { ...refused(tooCostly()), cpuMs: CPU_MAX_MS }
    throw error
  })

  return {
    /**
     * Renders again with the drawings when there are diagrams.
     * @template {{diagrams: string[]}} Result
     * @param {(drawings?: Drawings) => Promise<Result>} render  without drawings it may only name the diagrams
     */
    async drawn (render) {
      const first = await render()
      return first.diagrams.length === 0 ? first : render(await draw(first.diagrams))
    },

    close: pool.close
  }
}

/** @typedef {ReturnType<typeof createDiagrams>} Diagrams */

/** @param {string} reason */
const refused = (reason) => ({ svg: '', reason })
