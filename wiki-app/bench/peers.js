// Measures how fast other wikis, where they are installed, show the same page on the same machine: make bench-peers
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { load, shuffled } from './load.js'
import { describeMachine } from './machine.js'
import { dokuwiki } from './peers/dokuwiki.js'
import { mediawiki } from './peers/mediawiki.js'
import { otterwiki } from './peers/otterwiki.js'
import { tiddlywiki } from './peers/tiddlywiki.js'
import { createServers } from './servers.js'

const SENTENCES = 66
const CONNECTIONS = 16
const ROUNDS = 3
const SECONDS = 5
const WARM_UP_S = 3
const SENTENCE_BEGINS = 'Lorem ipsum'

const { values } = parseArgs({
  options: {
    otterwiki: { type: 'string', default: 'python3' },
    tiddlywiki: { type: 'string', default: 'tiddlywiki' },
    help: { type: 'boolean', short: 'h' }
  }
})
const peers = [dokuwiki, mediawiki, otterwiki(values.otterwiki), tiddlywiki(values.tiddlywiki)]
const HELP = `Usage: node wiki-app/bench/peers.js [options]

Shows one page of 5 kB of text over ${CONNECTIONS} connections in this wiki and in others, one after the other in a random order, ${ROUNDS} rounds of ${SECONDS} s each, and
prints views a second and the processor time of a view, of all its processes, with their ratios to this wiki's in the same round. Each runs
as it usually does, on a free port of loopback, with files in a temporary folder, and is stopped at the end. What is not installed is left out and named. Nothing is installed by this program:

${peers.map(({ name, install }) => `  ${name.padEnd(14)} ${install}`).join('\n')}

  --otterwiki PYTHON     of the virtual environment with An Otter Wiki (default python3)
  --tiddlywiki COMMAND   (default tiddlywiki)

Examples:
  make bench-peers
  node wiki-app/bench/peers.js --tiddlywiki /tmp/tiddlywiki/node_modules/.bin/tiddlywiki
`
const note = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)
const median = (/** @type {number[]} */ numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]

/** @param {number[]} ratios */
const spread = (ratios) => {
  const [middle, least, most] = [median(ratios), Math.min(...ratios), Math.max(...ratios)]
    .map((ratio) => Number(ratio.toPrecision(2)))
  return `${middle} (${least} … ${most})`
}

/** @type {import('./peers/peer.js').Peer} */
const stevec = {
  name: 'this wiki',
  install: 'make setup',
  deployment: 'one process, mongod',
  lacks: () => null,
  version: () => '',
  sentence: 'Lorem ipsum dolor sit amet, [a link](https://example.org/) and *more* text. ',
  async start (servers, text) {
    const mongod = await servers.mongod()
    const { url, pid } = await servers.wiki(mongod.uri)
    const path = '/wiki/Bench'
    const saved = await fetch(url + path, { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: text })
    if (!saved.ok) throw new Error(`the page was answered ${saved.status}`)
    return { url, path, pids: [pid, mongod.pid] }
  }
}

if (values.help) {
  process.stdout.write(HELP)
} else {
  await main()
}

/**
 * @typedef {{name: string, version: string, deployment: string, url: string, path: string, pids: number[]}} Started
 * @typedef {Started & {bytes: number, rates: number[], cpuMs: number[]}} Wiki
 */

async function main () {
  await claimMachine()
  const machine = describeMachine()
  const servers = createServers()
  /** @type {Wiki[]} */
  const running = []
  /** @type {string[]} */
  const missing = []
  try {
    for (const { name, install, deployment, lacks, version, sentence, start } of [stevec, ...peers]) {
      const lacking = lacks()
      if (lacking !== null) {
        missing.push(`${name} is not installed (no ${lacking}): ${install}`)
        continue
      }
      note(`starting ${name} …`)
      try {
        const { url, path, pids } = await start(servers, sentence.repeat(SENTENCES))
        running.push({
          name,
          version: version(),
          deployment,
          url,
          path,
          pids,
          bytes: await bytesOf(name, url + path),
          rates: [],
          cpuMs: []
        })
      } catch (error) {
        // The others can still be compared, but not without this wiki, the first.
        if (running.length === 0) throw error
        missing.push(`${name} did not start: ${/** @type {Error} */ (error).message}`)
        process.exitCode = 1
      }
    }
    const views = (
      /** @type {{url: string, path: string, pids: number[]}} */ { url, path, pids },
      /** @type {number} */ seconds
    ) => load({ url, connections: CONNECTIONS, requests: [{ path }], duration_s: seconds, pids })
    note('warming up …')
    for (const wiki of running) await views(wiki, WARM_UP_S)
    for (let round = 1; round <= ROUNDS; round++) {
      for (const wiki of shuffled(running)) {
        const { rate_per_s: rate, cpu_us: cpuUs } = await views(wiki, SECONDS)
        wiki.rates.push(rate)
        wiki.cpuMs.push(cpuUs.reduce((sum, us) => sum + us, 0) / 1_000)
      }
      note(`round ${round} of ${ROUNDS}: ${running.map(({ name, rates }) => `${name} ${rates[round - 1].toFixed(1)}/s`).join(', ')}`)
    }
  } finally {
    await servers.stopAll()
  }
  printTable(machine, running, missing)
}

/** @param {string} machine @param {Wiki[]} running @param {string[]} missing */
function printTable (machine, running, missing) {
  const row = (/** @type {(string | number)[]} */ ...cells) => console.log(`| ${cells.join(' | ')} |`)
  console.log(`${machine}\n`)
  row(
    'wiki',
    'version',
    'runs as',
    'views/s (median)',
    'ratio to this wiki (least … most)',
    'CPU ms a view',
    'this wiki\'s ÷ its (least … most)',
    'bytes'
  )
  row(...Array(8).fill('---'))
  for (const { name, version, deployment, bytes, rates, cpuMs } of running) {
    const [faster, cheaper] = [
      rates.map((rate, round) => rate / running[0].rates[round]),
      cpuMs.map((ms, round) => running[0].cpuMs[round] / ms)
    ].map(spread)
    row(name, version, deployment, median(rates).toFixed(1), faster, median(cpuMs).toPrecision(2), cheaper, bytes)
  }
  if (missing.length > 0) console.log(`\n${missing.join('\n')}`)
}

/**
 * @param {string} name
 * @param {string} url
 * @returns {Promise<number>} size of the page
 * @throws {Error} when the response is not the whole page
 */
async function bytesOf (name, url) {
  const answer = await fetch(url, { redirect: 'manual' })
  const body = Buffer.from(await answer.arrayBuffer())
  const sentences = body.toString().split(SENTENCE_BEGINS).length - 1
  if (answer.status !== 200 || sentences < SENTENCES) {
    throw new Error(`${name} answered ${answer.status} with ${sentences} of ${SENTENCES} sentences at ${url}`)
  }
  return body.byteLength
}
