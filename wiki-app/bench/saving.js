import { setTimeout as sleep } from 'node:timers/promises'
import { load } from './load.js'
import { cpuSeconds } from './process.js'
import { median, pairedRatio } from './ratio.js'
import { fillLongPages, fillPages, saves, sharedLinks, smallEdits } from './workload.js'

/** Enough for a second or more on a fast machine, also where a hundred are committed together. */
const LINES = /** @type {const} */ ([
  { line: 'c1', connections: 1, amount: 60, edits: saves },
  { line: 'c16', connections: 16, amount: 320, edits: saves },
  { line: 'shared_links_c16', connections: 16, amount: 320, edits: sharedLinks },
  { line: 'c100', connections: 100, amount: 1_000, edits: saves },
  { line: 'small_edit_c16', connections: 16, amount: 160, edits: smallEdits }
])
/** What comes after the edit, such as indexing its words, is over when the wiki takes less than this. */
const QUIET = { window_ms: 200, cpu_s: 0.02, max_ms: 20_000 }
const [SYNC, GROUP, OTHER] = ['sync', 'group-commit', 'other']

/**
 * @typedef {Record<'rate_per_s' | 'wiki_ms' | 'mongod_ms' | 'refused_share' | 'generator_share', number>} Turn
 *   `wiki_ms`, `mongod_ms`: processor time of a save, with what comes after it
 * @typedef {Record<string, Record<string, Turn[]>>} Turns  by line, by variant, one per round
 */

/**
 * Measures saves a second over HTTP, in turns, all wikis on one mongod: the strategies of this tree, and another tree.
 * @param {object} options
 * @param {ReturnType<typeof import('./servers.js').createServers>} options.servers
 * @param {{uriFor: (database: string) => string, pid: number}} options.mongod
 * @param {import('./tree.js').Tree} [options.other]
 * @param {number} options.rounds
 * @param {(text: string) => void} options.note
 * @returns {Promise<Turns>}
 */
export async function measureSaving ({ servers, mongod, other, rounds, note }) {
  const variants = [
    { name: SYNC, settings: { WRITE_STRATEGY: 'sync' } },
    { name: GROUP, settings: { WRITE_STRATEGY: 'group-commit' } },
    ...other ? [{ name: OTHER, settings: {}, tree: other }] : []
  ]
  const wikis = []
  for (const { name, settings, tree } of variants) {
    note(`saves: filling the wiki “${name}” …`)
    const wiki = await servers.wiki(mongod.uriFor(`saving-${name}`), settings, [], tree)
    await fillPages(wiki.url)
    await fillLongPages(wiki.url)
    wikis.push({ name, wiki })
  }
  /** @type {Turns} */
  const turns = Object.fromEntries(LINES.map(({ line }) => [line, {}]))
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const { line, ...work } of LINES) {
      for (let index = 0; index < wikis.length; index++) {
        const { name, wiki } = wikis[(index + round) % wikis.length]
        const turn = await takeTurn(wiki, mongod.pid, work)
        if (round > 0) (turns[line][name] ??= []).push(turn)
      }
      if (round > 0) note(`saves, round ${round} of ${rounds}: ${line} ${shortly(turns[line], variants)}`)
    }
  }
  for (const { wiki } of wikis) await wiki.stop()
  return turns
}

/**
 * @param {import('./servers.js').Server} wiki @param {number} mongod  its pid
 * @param {Omit<(typeof LINES)[number], 'line'>} work
 * @returns {Promise<Turn>}
 */
async function takeTurn ({ url, pid }, mongod, { connections, amount, edits }) {
  const before = [cpuSeconds(pid), cpuSeconds(mongod)]
  const requests = () => edits(Math.ceil(amount / connections) + 1)
  // The wiki's queue is in force, as in production: it refuses what would wait too long.
  const { requests: saved, refused, rate_per_s: ratePerS, generator_cpu_share: share } =
    await load({ url, connections, requests, amount, refusal: 503 })
  await becomeQuiet(pid)
  const [wikiMs, mongodMs] = [pid, mongod].map((each, index) => 1_000 * (cpuSeconds(each) - before[index]) / saved)
  return {
    rate_per_s: ratePerS,
    wiki_ms: wikiMs,
    mongod_ms: mongodMs,
    refused_share: refused / (refused + saved),
    generator_share: share
  }
}

/** @param {number} pid */
async function becomeQuiet (pid) {
  const endsAt = performance.now() + QUIET.max_ms
  for (let used = Infinity; used > QUIET.cpu_s && performance.now() < endsAt;) {
    const before = cpuSeconds(pid)
    await sleep(QUIET.window_ms)
    used = cpuSeconds(pid) - before
  }
}

/** @param {Turns[string]} turns @param {{name: string}[]} variants */
const shortly = (turns, variants) => variants
  .map(({ name }) => `${name} ${turns[name].at(-1)?.rate_per_s.toFixed(0)}/s`)
  .join(', ')

/**
 * @param {Turns} turns @param {string} [other]  name of the other tree
 * @returns {{text: string, ratios: Record<string, number>}} tables, and each ratio of saves a second
 */
export function compareSaving (turns, other) {
  const names = [SYNC, GROUP, ...other === undefined ? [] : [OTHER]]
  const rows = names.flatMap((name) => Object.entries(turns).map(([line, found]) => {
    const column = (/** @type {keyof Turn} */ key) => median(found[name].map((turn) => turn[key]))
    return `${(name === OTHER ? other ?? '' : name).padEnd(14)}${line.padEnd(18)}` +
      `${column('rate_per_s').toFixed(0).padStart(10)}${column('wiki_ms').toFixed(2).padStart(9)}` +
      `${column('mongod_ms').toFixed(2).padStart(11)}${(100 * column('refused_share')).toFixed(0).padStart(8)} %` +
      `${(100 * column('generator_share')).toFixed(0).padStart(8)} %`
  }))
  const pairs = [[GROUP, SYNC], ...other === undefined ? [] : [[SYNC, OTHER], [GROUP, OTHER]]]
  /** @type {Record<string, number>} */
  const ratios = {}
  const compared = pairs.flatMap(([ours, base]) => Object.entries(turns).map(([line, found]) => {
    const rates = (/** @type {string} */ name) => found[name].map(({ rate_per_s: rate }) => rate)
    const { ratio, low, high, n } = pairedRatio(rates(ours), rates(base))
    ratios[`${ours.replace('-', '_')}_${line}_to_${base}`] = Number(ratio.toFixed(3))
    const against = base === OTHER ? other ?? '' : base
    return `${`${ours} ÷ ${against}`.padEnd(28)}${line.padEnd(18)}${ratio.toFixed(2)} ` +
      `(${low.toFixed(2)} … ${high.toFixed(2)})   n = ${n}`
  }))
  return {
    text: ['strategy      line              per second  wiki ms  mongod ms   refused  generator', ...rows, '',
      'saves a second, ratio (95 % interval)', ...compared].join('\n'),
    ratios
  }
}
