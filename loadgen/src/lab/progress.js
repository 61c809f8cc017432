import path from 'node:path'

/** @typedef {ReturnType<typeof createProgress>} Progress */

/**
 * Says on a text stream what a run is doing; nothing else reads it.
 * @param {(text: string) => void} write
 */
export function createProgress (write) {
  let trialsStartedAt = 0
  let stackStarting = false
  const line = (/** @type {string} */ text) => write(`${text}\n`)
  return {
    /**
     * @param {import('./definition.js').Definition} definition
     * @param {{preset: string, seed: number, trials: number, moved: boolean}} run
     */
    starting (definition, { preset, seed, trials, moved }) {
      line(`${definition.id} ${definition.name}: ${definition.title.toLowerCase()} (preset ${preset}, seed ${seed})`)
      line(`  ${definition.requests} requests over ${definition.pages} pages of ${definition.page_size_chars} characters, through ${definition.doors.length} doors × ${definition.repetitions} repetitions = ${trials} trials`)
      if (moved) line('  a usual port is taken (perhaps by `make up`), so this run\'s stack uses free ones')
    },
    /** @param {string} part */
    part (part) {
      write(stackStarting ? `, ${part}` : `starting ${part}`)
      stackStarting = true
    },
    /** @param {Record<string, import('../stack/doors.js').Door>} doors */
    doors (doors) {
      stackStarting = false
      write('\n')
      for (const text of doorLines(doors)) line(`  ${text}`)
    },
    /**
     * @param {number} pages
     * @param {number} warmUpRequests
     */
    ready (pages, warmUpRequests) {
      line(`wrote ${pages} pages and read them ${warmUpRequests} times to warm up`)
      trialsStartedAt = performance.now()
    },
    /**
     * @param {Awaited<ReturnType<typeof import('./trial.js').runTrial>>} result
     * @param {number} total
     */
    trial (result, total) {
      const left = (performance.now() - trialsStartedAt) / 1000 / result.trial * (total - result.trial)
      const mean = result.duration_mean_ms === null ? '—' : result.duration_mean_ms.toFixed(2)
      const verdict = result.valid ? 'ok' : `INVALID: ${result.invalid_reasons.join('; ')}`
      const limited = result.k6.generator_limited ? ', generator-limited' : ''
      line(`trial ${String(result.trial).padStart(String(total).length)} of ${total}  ${result.door.padEnd(7)}  ${result.counter.requests} of ${result.requests_sent} reached the origin, mean ${mean} ms${limited}  ${verdict}${left >= 1 ? `  (about ${Math.ceil(left)} s left)` : ''}`)
    },
    /** @param {{directory: string, trials: number, invalid: number}} run */
    finished ({ directory, trials, invalid }) {
      line(invalid === 0
        ? `all ${trials} trials valid: in each, requests sent = served by cache + counter, and the counter is what the plan says`
        : `${invalid} of ${trials} trials are INVALID; each says why in its trial.json`)
      line(`results: ${path.relative(process.cwd(), directory) || '.'}`)
    },
    /** @param {string} message */
    warn (message) {
      line(`warning: ${message}`)
    },
    stopped () {
      if (stackStarting) write('\n')
      line('stack stopped')
    }
  }
}

/**
 * @param {Record<string, import('../stack/doors.js').Door & {healthy?: boolean}>} doors
 * @returns {string[]} one line a door, in columns
 */
export function doorLines (doors) {
  const width = Math.max(...Object.values(doors).map(({ url }) => url.length + 1))
  return Object.entries(doors).map(([name, door]) => `${name.padEnd(8)} ${`${door.url}/`.padEnd(width)}  ${door.path}${door.healthy === false ? '  NOT ANSWERING' : ''}`)
}
