// Measures what watchers cost an author, and when they see a change: node wiki-app/bench/watching.js
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { MongoClient } from 'mongodb'
import { hashPassword } from '../src/access/password.js'
import { sha256 } from '../src/access/users.js'
import { describeMachine } from './machine.js'
import { median, pairedRatio, ROUNDS_MAX } from './ratio.js'
import { createServers } from './servers.js'
import { createText } from './text.js'

const WATCHERS = 10_000
const READERS = 40
const SAVES = 20
const TEXT_CHARS = 5_000
const OTHER_PAGES = 300
const HELP = `Usage: node wiki-app/bench/watching.js [--rounds N]

A wiki in which ${WATCHERS} people watch one page, and one in which nobody does, in turns on one mongod:
how long an author waits for a save of that page, as a ratio; how long after the answer the lists of
${READERS} of the people, asked all at once, show the change; and how long a list takes of 1
watched page, and of ${OTHER_PAGES}.

  --rounds N   2 to ${ROUNDS_MAX} (default 10)
`
const AUTHOR = 'Ana'
const nameOf = (/** @type {number} */ number) => `Person ${number}`
const tokenOf = (/** @type {string} */ name) => `stevec_${sha256(name).slice(0, 40)}`
const headersOf = (/** @type {string} */ name) => ({ authorization: `Bearer ${tokenOf(name)}` })

/** @param {string} directory @returns {Promise<Record<string, string>>} settings of a wiki with these people */
async function settingsIn (directory) {
  const file = path.join(directory, 'users.json')
  const password = await hashPassword('correct horse battery')
  const user = (/** @type {string} */ name, /** @type {string} */ role) =>
    ({ name, role, password, tokens: [{ label: 'benchmark', sha256: sha256(tokenOf(name)) }] })
  const readers = Array.from({ length: WATCHERS }, (_, number) => user(nameOf(number), 'reader'))
  const users = [user(AUTHOR, 'editor'), ...readers]
  writeFileSync(file, JSON.stringify({ users }), { mode: 0o600 })
  return { ACCESS: 'users', USERS_FILE: file }
}

/** @param {import('mongodb').Db} db */
async function watchAll (db) {
  const since = new Date(0)
  const watcher = (/** @type {number} */ number, /** @type {string[]} */ pages) => ({
    _id: /** @type {any} */ (nameOf(number).toLowerCase()),
    pages: pages.map((name) => ({ name, since, history: name })),
    authors: [],
    read: [],
    read_before: since
  })
  const others = Array.from({ length: OTHER_PAGES - 1 }, (_, number) => `page ${number}`)
  await db.collection('watchers').insertMany(Array.from({ length: WATCHERS }, (_, number) =>
    watcher(number, number === 0 ? ['hub', ...others] : ['hub'])))
}

let saved = 0

/** @param {string} url @param {string} name @returns {Promise<{ms: number, revision: number}>} */
async function save (url, name) {
  const body = JSON.stringify({ content: createText(++saved, TEXT_CHARS) })
  const startedAt = performance.now()
  const answer = await fetch(`${url}/api/v1/pages/${encodeURIComponent(name)}`, {
    method: 'PUT', headers: { ...headersOf(AUTHOR), 'content-type': 'application/json' }, body
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`a save was answered ${answer.status}: ${text}`)
  return { ms: performance.now() - startedAt, revision: JSON.parse(text).revision }
}

/**
 * @param {string} url @param {string} name
 * @returns {Promise<{ms: number, newest: {name: string, revision: number}}>}
 */
async function list (url, name) {
  const startedAt = performance.now()
  const answer = await fetch(`${url}/api/v1/watching/changes`, { headers: headersOf(name) })
  if (!answer.ok) throw new Error(`a list was answered ${answer.status}: ${await answer.text()}`)
  const { items: [newest] } = /** @type {any} */ (await answer.json())
  return { ms: performance.now() - startedAt, newest }
}

/** @param {string} url @returns {Promise<number>} milliseconds after the answer until the last list shows the change */
async function untilShown (url) {
  const { revision } = await save(url, 'hub')
  const startedAt = performance.now()
  const readers = Array.from({ length: READERS }, () => nameOf(Math.floor(Math.random() * WATCHERS)))
  const lists = await Promise.all(readers.map((name) => list(url, name)))
  const late = lists.filter(({ newest }) => newest.name !== 'hub' || newest.revision !== revision)
  if (late.length > 0) throw new Error(`${late.length} of ${READERS} lists do not show the change`)
  return performance.now() - startedAt
}

/** @param {number} rounds */
async function main (rounds) {
  await claimMachine()
  const servers = createServers()
  try {
    const mongod = await servers.mongod()
    const settings = await settingsIn(servers.directory)
    const [watched, alone] = [mongod.uriFor('watched'), mongod.uriFor('alone')]
    const urls = [(await servers.wiki(watched, settings)).url, (await servers.wiki(alone, settings)).url]
    for (const url of urls) {
      await save(url, 'hub')
      for (let number = 0; number < OTHER_PAGES; number++) await save(url, `page ${number}`)
    }
    const client = await MongoClient.connect(watched)
    servers.atEnd(() => client.close())
    await watchAll(client.db())
    /** @type {number[][]} */
    const waits = [[], []]
    const [shown, few, many] = [[], [], []].map((each) => /** @type {number[]} */ (each))
    for (let round = 0; round < rounds; round++) {
      for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const times = []
        for (let count = 0; count < SAVES; count++) times.push((await save(urls[which], 'hub')).ms)
        waits[which].push(median(times))
      }
      shown.push(await untilShown(urls[0]))
      few.push((await list(urls[0], nameOf(1))).ms)
      many.push((await list(urls[0], nameOf(0))).ms)
    }
    const { ratio, low, high } = pairedRatio(waits[0], waits[1])
    const line = (/** @type {string} */ what, /** @type {number[]} */ ms) =>
      `${what.padEnd(60)}${median(ms).toFixed(1).padStart(8)}  (${Math.min(...ms).toFixed(1)} … ${
        Math.max(...ms).toFixed(1)})`
    process.stdout.write([
      describeMachine(),
      `\nmilliseconds: median (least … most) of ${rounds} rounds`,
      line(`a save, ${WATCHERS} watch the page (median of ${SAVES})`, waits[0]),
      line('a save, nobody watches', waits[1]),
      line(`until ${READERS} lists at once show the change`, shown),
      line('a list of 1 watched page', few),
      line(`a list of ${OTHER_PAGES} watched pages`, many),
      `\na save, watched ÷ not: ${ratio.toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)})\n`
    ].join('\n'))
  } finally {
    await servers.stopAll()
  }
}

const { values } = parseArgs({ options: { rounds: { type: 'string' }, help: { type: 'boolean', short: 'h' } } })
const rounds = Number(values.rounds ?? 10)
if (values.help) {
  process.stdout.write(HELP)
} else if (!Number.isInteger(rounds) || rounds < 2 || rounds > ROUNDS_MAX) {
  process.stderr.write(`--rounds must be a whole number from 2 to ${ROUNDS_MAX}\n`)
  process.exitCode = 2
} else {
  await main(rounds)
}
