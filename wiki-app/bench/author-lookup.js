// Measures what it costs to know a signed-in author's name: node wiki-app/bench/author-lookup.js
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { MongoClient } from 'mongodb'
import { WIKI_ARGUMENTS } from '../src/start.js'
import { describeMachine } from './machine.js'
import { AUTHOR, BEARER, PEOPLE, peopleIn, signIn } from './people.js'
import { cpuSeconds } from './process.js'
import { meanOf, pairedRatio, ROUNDS_MAX } from './ratio.js'
import { createServers } from './servers.js'
import { createText } from './text.js'

const HEADINGS = ['p50 ms', 'wiki, ms of cpu', 'mongod, ms of cpu', 'queries']
const HELP = `Usage: node wiki-app/bench/author-lookup.js [--rounds N]

Measures a save of 5 kB by one signed-in author, one after the other, in three ways: with a token
(its author is in memory), with a session (one read, which has the author's name: as the wiki does
it), and with a session and one more read of the author's document, which a related study removed
(its R4). In turns of a few saves on one mongod; --rounds: 2 to ${ROUNDS_MAX}, default 20.

Example:
  node wiki-app/bench/author-lookup.js --rounds 30
`
const SAVES = 25
const WARM_UP_SAVES = 50
const TEXT_CHARS = 5_000
const [TOKEN, SESSION, LOOKUP] = ['token', 'session', 'session-and-lookup']

/** @typedef {{p50_ms: number, mean_ms: number, wiki_ms: number, mongod_ms: number, queries: number}} Turn  of a save */
/** @typedef {{name: string, url: string, pid: number, headers: Record<string, string>}} Variant */

let saved = 0

/** @param {Variant} variant @param {number} amount @returns {Promise<number[]>} ms of each */
async function saves ({ url, name, headers }, amount) {
  const times = []
  for (let save = 0; save < amount; save++) {
    const body = createText(++saved, TEXT_CHARS)
    const startedAt = performance.now()
    const answer = await fetch(`${url}/edit/text/${name}-${save}`, {
      method: 'POST', headers: { 'content-type': 'text/markdown', ...headers }, body
    })
    await answer.arrayBuffer()
    times.push(performance.now() - startedAt)
    if (!answer.ok) throw new Error(`a save (${name}) was answered ${answer.status}`)
  }
  return times
}

/** @param {Variant} variant @param {{pid: number, queries: () => Promise<number>}} mongod @returns {Promise<Turn>} */
async function takeTurn (variant, mongod) {
  const queries = await mongod.queries()
  const before = [variant.pid, mongod.pid].map(cpuSeconds)
  const times = (await saves(variant, SAVES)).sort((a, b) => a - b)
  const [wiki, database] = [variant.pid, mongod.pid]
    .map((pid, index) => (cpuSeconds(pid) - before[index]) / SAVES * 1e3)
  return {
    p50_ms: times[Math.floor(times.length / 2)],
    mean_ms: times.reduce((sum, time) => sum + time, 0) / SAVES,
    wiki_ms: wiki,
    mongod_ms: database,
    queries: (await mongod.queries() - queries) / SAVES
  }
}

/** @param {ReturnType<typeof createServers>} servers @param {string} uri @returns {Promise<Variant[]>} */
async function startVariants (servers, uri) {
  const people = await peopleIn(servers.directory)
  const own = await servers.wiki(uri, people)
  const arguments_ = [...WIKI_ARGUMENTS.slice(0, -1), fileURLToPath(new URL('author-lookup-wiki.js', import.meta.url))]
  const looking = await servers.wiki(uri, people, [], { wikiArguments: arguments_, wikiEnvironment: {} })
  return [
    { name: TOKEN, url: own.url, pid: own.pid, headers: BEARER },
    { name: SESSION, url: own.url, pid: own.pid, headers: await signIn(own.url) },
    { name: LOOKUP, url: looking.url, pid: looking.pid, headers: await signIn(looking.url) }
  ]
}

/** @param {Record<string, Turn[]>} turns */
function table (turns) {
  const column = (/** @type {Turn[]} */ of, /** @type {keyof Turn} */ name) => {
    const { mean, low, high } = meanOf(of.map((turn) => turn[name]))
    return `${mean.toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)})`.padStart(23)
  }
  const rows = Object.entries(turns).map(([name, of]) => name.padEnd(20) +
  /** @type {const} */ (['p50_ms', 'wiki_ms', 'mongod_ms', 'queries']).map((each) => column(of, each)).join(''))
  const { ratio, low, high } = pairedRatio(turns[SESSION].map(({ p50_ms: ms }) => ms),
    turns[LOOKUP].map(({ p50_ms: ms }) => ms))
  return [
    ''.padEnd(20) + HEADINGS.map((each) => each.padStart(23)).join(''),
    ...rows,
    '',
    `p50, ${SESSION} ÷ ${LOOKUP}: ${ratio.toFixed(3)} (${low.toFixed(3)} … ${high.toFixed(3)})`
  ].join('\n')
}

/** @param {number} rounds */
async function main (rounds) {
  await claimMachine()
  const servers = createServers()
  try {
    const mongod = await servers.mongod()
    const uri = mongod.uriFor('author')
    const variants = await startVariants(servers, uri)
    const client = await MongoClient.connect(uri)
    servers.atEnd(() => client.close())
    await client.db().collection(PEOPLE).insertOne({ _id: /** @type {any} */ (AUTHOR), name: AUTHOR })
    const queries = async () => (await client.db().admin().serverStatus()).opcounters.query
    /** @type {Record<string, Turn[]>} */
    const turns = Object.fromEntries(variants.map(({ name }) => [name, []]))
    for (const variant of variants) await saves(variant, WARM_UP_SAVES)
    for (let round = 0; round < rounds; round++) {
      for (let turn = 0; turn < variants.length; turn++) {
        const variant = variants[(round + turn) % variants.length]
        turns[variant.name].push(await takeTurn(variant, { pid: mongod.pid, queries }))
      }
    }
    process.stdout.write(`${describeMachine()}\n\n${table(turns)}\n`)
  } finally {
    await servers.stopAll()
  }
}

const { values } = parseArgs({ options: { rounds: { type: 'string' }, help: { type: 'boolean', short: 'h' } } })
const rounds = Number(values.rounds ?? 20)
if (values.help) process.stdout.write(HELP)
else if (!Number.isInteger(rounds) || rounds < 2 || rounds > ROUNDS_MAX) {
  process.stderr.write(`--rounds must be a whole number from 2 to ${ROUNDS_MAX}\n`)
  process.exitCode = 2
} else await main(rounds)
