// Measures a page that very many pages link to: node wiki-app/bench/in-links.js
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { MongoClient } from 'mongodb'
import { fillWiki, nameOf } from './fill.js'
import { describeMachine } from './machine.js'
import { createServers } from './servers.js'

const PAGES_MAX = 1_000_000
const ROUNDS_MAX = 20
const HELP = `Usage: node wiki-app/bench/in-links.js [--pages N] [--links N] [--rounds N]

How long an author waits until a page is created, renamed, created again at the old name, and deleted,
while many pages link to its name; and how long after the answer the last of these pages is marked, so
that its next reader sees the link as it is now. Least, median and most of the rounds, in milliseconds.

  --pages N    of the wiki, 100 to ${PAGES_MAX} (default 100000)
  --links N    pages that link there, up to the number of pages (default 10000)
  --rounds N   1 to ${ROUNDS_MAX} (default 5)

Example:
  node wiki-app/bench/in-links.js --pages 1000000 --links 100000
`
const HUB = 'Hub'
const LOOK_MS = 10
const MARKED_MAX_MS = 600_000

/** @typedef {{step: string, waited_ms: number, marked_ms: number}} Measured */

/** @param {import('mongodb').Db} db @param {number} links */
async function link (db, links) {
  const names = Array.from({ length: links }, (_, number) => nameOf(number))
  const pages = db.collection('pages')
  for (let first = 0; first < links; first += 10_000) {
    const part = /** @type {any[]} */ (names.slice(first, first + 10_000))
    await pages.updateMany({ _id: { $in: part } }, { $push: /** @type {any} */ ({ links: HUB }) })
  }
  await db.collection('targets').insertOne({ _id: /** @type {any} */ (HUB), is: null, sources: links })
}

/** @param {string} url @param {string} moved  a name that no page has had yet */
const stepsOf = (url, moved) => {
  const page = (/** @type {string} */ name) => `${url}/api/v1/pages/${encodeURIComponent(name)}`
  const json = (/** @type {string} */ method, /** @type {object} */ body) =>
    ({ method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return /** @type {const} */ ([
    ['create', () => fetch(page(HUB), json('PUT', { content: 'text' }))],
    ['rename', () => fetch(`${page(HUB)}/rename`, json('POST', { to: moved }))],
    ['create at the old name', () => fetch(page(HUB), json('PUT', { content: 'text' }))],
    ['delete', () => fetch(page(HUB), { method: 'DELETE' })],
    // To begin the next round as the first, and not measured.
    ['', () => fetch(page(moved), { method: 'DELETE' })]
  ])
}

/** @param {import('mongodb').Db} db @returns {Promise<number>} milliseconds until nothing is left to do */
async function untilMarked (db) {
  const startedAt = performance.now()
  while (await db.collection('queue').findOne({}, { projection: { _id: 1 } }) !== null) {
    if (performance.now() - startedAt > MARKED_MAX_MS) throw new Error('the links are not marked after ten minutes')
    await sleep(LOOK_MS)
  }
  return performance.now() - startedAt
}

/** @param {string} url @param {import('mongodb').Db} db @param {number} round @returns {Promise<Measured[]>} */
async function takeRound (url, db, round) {
  const measured = []
  for (const [step, ask] of stepsOf(url, `Moved in round ${round}`)) {
    const startedAt = performance.now()
    const answer = await ask()
    await answer.arrayBuffer()
    const waitedMs = performance.now() - startedAt
    if (!answer.ok) throw new Error(`“${step}” was answered ${answer.status}`)
    measured.push({ step, waited_ms: waitedMs, marked_ms: await untilMarked(db) })
  }
  return measured.filter(({ step }) => step !== '')
}

/** @param {Measured[]} all */
function table (all) {
  const spread = (/** @type {number[]} */ values) => {
    const sorted = values.sort((a, b) => a - b)
    return [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted[sorted.length - 1]]
      .map((ms) => ms.toFixed(0).padStart(8)).join('')
  }
  const rows = [...new Set(all.map(({ step }) => step))].map((step) => {
    const of = all.filter((each) => each.step === step)
    return step.padEnd(24) + spread(of.map(({ waited_ms: ms }) => ms)) + spread(of.map(({ marked_ms: ms }) => ms))
  })
  return [`${''.padEnd(24)}    the author waits, ms    then all are marked, ms`,
    ''.padEnd(24) + ['least', 'median', 'most', 'least', 'median', 'most'].map((each) => each.padStart(8)).join(''),
    ...rows].join('\n')
}

/** @param {{pages: number, links: number, rounds: number}} options */
async function main ({ pages, links, rounds }) {
  await claimMachine()
  const servers = createServers()
  try {
    const mongod = await servers.mongod()
    const uri = mongod.uriFor('links')
    let shown = 0
    await fillWiki(uri, {
      pages,
      revisions: 1,
      onProgress (filled) {
        if (filled < shown) return
        process.stderr.write(`filling: ${filled} of ${pages} pages …\n`)
        shown = filled + pages / 10
      }
    })
    const client = await MongoClient.connect(uri)
    servers.atEnd(() => client.close())
    const db = client.db()
    await link(db, links)
    const { url } = await servers.wiki(uri)
    process.stderr.write('the wiki indexes the words …\n')
    await untilIndexed(url)
    const all = []
    for (let round = 1; round <= rounds; round++) {
      process.stderr.write(`round ${round} of ${rounds} …\n`)
      all.push(...await takeRound(url, db, round))
    }
    process.stdout.write(`${describeMachine()}\n${pages} pages, ${links} link to one\n\n${table(all)}\n`)
  } finally {
    await servers.stopAll()
  }
}

/** Which takes a core for a while, once. @param {string} url */
async function untilIndexed (url) {
  for (let building = true; building;) {
    await sleep(1_000)
    const { services } = await (await fetch(`${url}/status.json`)).json()
    building = services.find((/** @type {{name: string}} */ { name }) => name === 'search').building
  }
}

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '100000' },
    links: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '5' },
    help: { type: 'boolean', short: 'h' }
  }
})
const [pages, links, rounds] = [values.pages, values.links, values.rounds].map(Number)
const within = (/** @type {number} */ value, /** @type {number} */ min, /** @type {number} */ max) =>
  Number.isInteger(value) && value >= min && value <= max
if (values.help) {
  process.stdout.write(HELP)
} else if (!within(pages, 100, PAGES_MAX) || !within(links, 1, pages) || !within(rounds, 1, ROUNDS_MAX)) {
  process.stderr.write('--pages, --links or --rounds is not as --help says\n')
  process.exitCode = 2
} else {
  await main({ pages, links, rounds })
}
