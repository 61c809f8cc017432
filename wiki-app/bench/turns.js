import { load } from './load.js'
import { residentMb } from './process.js'
import { pairedRatio, median } from './ratio.js'
import { knownOf, readPages, saves, VIEWS } from './workload.js'
import { loadWithWrk } from './wrk.js'

const WARM_UP_S = 2
/** A turn of saves is a number of them, not a time: on a busy machine no save may complete in a short time. */
const SAVES_PER_S = 250
/** Pages whose ETags are read in each round, as saves change them. */
const KNOWN_PAGES = 200

/**
 * A wiki to compare: one tree with some settings, on a database that contains the pages.
 * @typedef {object} Variant
 * @property {string} name
 * @property {(settings?: Record<string, string>) => Promise<import('./servers.js').Server>} start
 */
/**
 * µs of processor time a request, or MB: by line, by variant, one value per round
 * @typedef {Record<string, Record<string, number[]>>} Turns
 */

/**
 * Measures the processor time of a request in the wiki's process, for several wikis in turns of a second: A B C, A B C,
 * … A shared machine changes its speed within seconds, so wikis measured one after the other would not have the same
 * conditions. Each round restarts all wikis, as a process keeps V8's compiled code for as long as it lives. The unit is
 * the start, and its value the median of its turns. Resident memory is measured after the lines, saves among them.
 * @param {object} options
 * @param {string} options.directory  for the load's script
 * @param {Variant[]} options.variants
 * @param {number} options.rounds
 * @param {number} options.seconds  turns of each measurement; a turn of saves has as many as a fast machine makes in it
 * @param {(text: string) => void} options.note
 * @returns {Promise<Turns>}
 */
export async function measureInTurns ({ directory, variants, rounds, seconds, note }) {
  /** @type {Turns} */
  const found = {}
  const keep = (/** @type {string} */ line, /** @type {string} */ name, /** @type {number} */ value) => {
    ((found[line] ??= {})[name] ??= []).push(value)
  }
  for (let round = 0; round < rounds; round++) {
    const order = [...variants.slice(round % variants.length), ...variants.slice(0, round % variants.length)]
    for (const { settings, lines } of groups(directory)) {
      const wikis = []
      for (const variant of order) {
        const wiki = await variant.start(settings)
        await loadWithWrk({
          directory, url: wiki.url, connections: 16, requests: VIEWS, duration_s: WARM_UP_S, pid: wiki.pid
        })
        wikis.push({ name: variant.name, wiki, pages: await readPages(wiki.url, KNOWN_PAGES) })
      }
      for (const [line, measure] of Object.entries(lines)) {
        const turns = wikis.map(() => /** @type {number[]} */ ([]))
        for (let turn = 0; turn < seconds; turn++) {
          for (const [index, { wiki, pages }] of wikis.entries()) {
            turns[index].push((await measure(wiki, pages)).cpu_us[0])
          }
        }
        for (const [index, { name }] of wikis.entries()) keep(line, name, median(turns[index]))
      }
      for (const { name, wiki } of wikis) {
        if (!settings.ORIGIN_CACHE_MIB) keep('resident_mb', name, residentMb(wiki.pid))
        await wiki.stop()
      }
    }
    const seen = Object.entries(found).map(([line, times]) =>
      `${line} ${variants.map(({ name }) => times[name][round].toFixed(0)).join(' ')}`)
    note(`round ${round + 1} of ${rounds}: ${seen.join(', ')}`)
  }
  return found
}

/**
 * @typedef {(wiki: import('./servers.js').Server, pages: {etag: string}[]) =>
 *   Promise<import('./load.js').Load>} Measure
 */

/**
 * @param {string} directory
 * @returns {{settings: Record<string, string>, lines: Record<string, Measure>}[]} the lines of each group are measured
 *   on one process, saves last, as they change validators
 */
function groups (directory) {
  /** @type {(connections: number, expected?: number) => Measure} */
  const views = (connections, expected = 200) => ({ url, pid }, pages) =>
    loadWithWrk({
      directory,
      url,
      connections,
      requests: expected === 304 ? knownOf(pages) : VIEWS,
      expected,
      duration_s: 1,
      pid
    })
  return [
    {
      settings: {},
      lines: {
        view_c16: views(16),
        view_c64: views(64),
        not_modified_c16: views(16, 304),
        save_c16: ({ url, pid }) =>
          load({ url, connections: 16, requests: saves, amount: SAVES_PER_S, pids: [pid] })
      }
    },
    { settings: { ORIGIN_CACHE_MIB: '64' }, lines: { origin_cache_c16: views(16) } }
  ]
}

/**
 * @param {Turns} turns
 * @param {string} ours  a variant's name
 * @param {string} base
 * @returns {{text: string, ratios: Record<string, number>}} a table, and each line's ratio
 */
export function compare (turns, ours, base) {
  const lines = Object.entries(turns).map(([line, times]) =>
    ({ line, times, ...pairedRatio(times[ours], times[base]) }))
  return {
    text: [
      'what               ratio (95 % interval)      n   median   of base',
      ...lines.map(({ line, times, ratio, low, high, n }) =>
        `${line.padEnd(19)}${ratio.toFixed(3)} (${low.toFixed(3)} … ${high.toFixed(3)})`.padEnd(43) +
        `${String(n).padStart(4)}${median(times[ours]).toFixed(0).padStart(9)}` +
        `${median(times[base]).toFixed(0).padStart(10)}`)
    ].join('\n'),
    ratios: Object.fromEntries(lines.map(({ line, ratio }) => [line, Number(ratio.toFixed(3))]))
  }
}
