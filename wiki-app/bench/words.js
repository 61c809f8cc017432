// Measures what keeping the words of a page costs by different means: node wiki-app/bench/words.js
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { startMongod } from '@stevec/harness/mongod'
import { MongoClient } from 'mongodb'
import { createIndex, makeCurrent } from '../src/words/file.js'
import { createReaders } from '../src/words/readers.js'
import { queryOf } from '../src/words/terms.js'
import { cpuSeconds, residentMb } from './process.js'
import { createChinese, createText, SEARCHED } from './text.js'

const HELP = `Usage: node wiki-app/bench/words.js [--pages N] [--index]

Processor time that the words of a page take, when pages of 5 kB get whole new texts in batches of 1, 16 and 100,
outside any edit: MongoDB's text index, a multikey index on the words, and the wiki's own index (SQLite's FTS5). For
that one also texts with accents and in Chinese, the size of its file, the memory that it takes, and what a search for a
frequent and a rare word takes. A save is a batch of 1, and a new index is made in batches of 100. Some minutes.

  --pages N   that are there before (default 1000)
  --index     the wiki's own index alone
`
const BYTES = 5_000
const BATCHES = [1, 16, 100]
const EDITS = 400
const SEARCHES = 20

/** @typedef {{name: string, revision: number, content: string}} Text */
/** @typedef {{cpuS: () => number, write: (texts: Text[]) => Promise<unknown>}} Way */

/** @param {string} text */
const wordsOf = (text) => [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))].sort()

/** @param {string} label @param {Way} way @param {Text[]} texts */
async function measure (label, { cpuS, write }, texts) {
  for (let at = 0; at < texts.length; at += 100) await write(texts.slice(at, at + 100))
  for (const size of BATCHES) {
    const start = cpuS()
    let edits = 0
    for (; edits < EDITS; edits += size) {
      await write(Array.from({ length: size }, (_, index) => {
        const page = (edits + index) * 7
        return { ...texts[page % texts.length], content: texts[(page + 13 + edits + size) % texts.length].content }
      }))
    }
    console.log(`${label}\t${size}\t${((cpuS() - start) * 1_000 / edits).toFixed(2)}`)
  }
}

/** @param {import('mongodb').Collection<any>} collection @param {number} pid @param {(text: Text) => object} fields */
const inMongod = (collection, pid, fields) => ({
  cpuS: () => cpuSeconds(pid),
  write: (/** @type {Text[]} */ texts) => collection.bulkWrite(texts.map((text) => ({
    updateOne: { filter: { _id: text.name }, update: { $set: fields(text) }, upsert: true }
  })), { ordered: false })
})

/** @param {string} label @param {Text[]} texts @param {string[]} searched */
async function measureIndex (label, texts, searched) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-bench-words-'))
  const before = residentMb(process.pid)
  const index = await createIndex(directory, { database: 'bench', lasting: true, clusterTime: '0' })
  makeCurrent(directory, index)
  const readers = createReaders(directory, 'en')
  try {
    await measure(`SQLite: FTS5, ${label}`, {
      cpuS: () => process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
      write: (changed) => index.apply({ texts: changed, gone: [], state: {} })
    }, texts)
    await index.all('pragma wal_checkpoint(truncate)')
    console.log(`${label}: ${(residentMb(process.pid) - before).toFixed(0)} MB of memory, ` +
      `${(statSync(index.file).size / 1e6).toFixed(1)} MB of file for ${texts.length} pages`)
    for (const word of searched) {
      const query = queryOf(word)
      const times = []
      let hits = 0
      for (let round = 0; round < SEARCHES; round++) {
        const start = performance.now()
        const { names, more } = await readers.search(query, { skip: 0, limit: 1_000, maxMs: 60_000 })
        times.push(performance.now() - start)
        hits = names.length + Number(more)
      }
      console.log(`${label}: a search for ${word} takes ${times.sort((a, b) => a - b)[SEARCHES >> 1].toFixed(1)} ms` +
        ` and finds ${hits > 1_000 ? 'over 1000' : hits} pages`)
    }
  } finally {
    readers.close()
    index.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** @param {Text[]} texts */
async function measureMongod (texts) {
  let pid = 0
  const mongod = await startMongod({ onStart: (started) => { pid = started.pid } })
  const client = await MongoClient.connect(mongod.uri)
  try {
    const db = client.db()
    await db.collection('none').createIndex({ other: 1 })
    await measure('mongod: no words', inMongod(db.collection('none'), pid, ({ content }) => ({ content })), texts)
    await db.collection('text').createIndex({ content: 'text' }, { default_language: 'none' })
    await measure('mongod: text index', inMongod(db.collection('text'), pid, ({ content }) => ({ content })), texts)
    await db.collection('keys').createIndex({ words: 1 })
    const keys = inMongod(db.collection('keys'), pid, ({ content }) => ({ words: wordsOf(content) }))
    await measure('mongod: keys', keys, texts)
  } finally {
    await client.close()
    await mongod.stop()
  }
}

/** @param {number} count @param {boolean} indexAlone */
async function main (count, indexAlone) {
  await claimMachine()
  /** @param {(page: number) => string} content @returns {Text[]} */
  const textsOf = (content) =>
    Array.from({ length: count }, (_, page) => ({ name: `page-${page}`, revision: 1, content: content(page) }))
  const texts = textsOf((page) => createText(page, BYTES))
  console.log('kept by\tpages at once\tms of processor time a page')
  if (!indexAlone) await measureMongod(texts)
  await measureIndex('ASCII', texts, SEARCHED.latin)
  // 5 kB of it have somewhat more bytes.
  await measureIndex('accents', textsOf((page) => createText(page, BYTES).replaceAll('c', 'č')), SEARCHED.latin)
  await measureIndex('Chinese', textsOf((page) => createChinese(page, BYTES)), SEARCHED.chinese)
}

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '1000' }, index: { type: 'boolean' }, help: { type: 'boolean', short: 'h' }
  }
})
if (values.help) process.stdout.write(HELP)
else await main(Number(values.pages), values.index === true)
