// Measures what keeping the words of a page costs by different means: node wiki-app/bench/words.js
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { startMongod } from '@stevec/harness/mongod'
import { MongoClient } from 'mongodb'
import { createIndex } from '../src/words/file.js'
import { cpuSeconds, residentMb } from './process.js'
import { createText } from './text.js'

const HELP = `Usage: node wiki-app/bench/words.js [--pages N]

Processor time that the words of a page take, when pages of 5 kB get whole new texts in batches of 1, 16 and 100,
outside any edit: MongoDB's text index, a multikey index on the words, and the wiki's own index (SQLite's FTS5). Then
the size of the file and the memory that the last takes. About a minute.

  --pages N   that are there before (default 1000)
`
const BYTES = 5_000
const BATCHES = [1, 16, 100]
const EDITS = 400

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

/** @param {number} count */
async function main (count) {
  await claimMachine()
  const texts = Array.from({ length: count }, (_, index) =>
    ({ name: `page-${index}`, revision: 1, content: createText(index, BYTES) }))
  let pid = 0
  const mongod = await startMongod({ onStart: (started) => { pid = started.pid } })
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-bench-words-'))
  const client = await MongoClient.connect(mongod.uri)
  try {
    console.log('kept by\tpages at once\tms of processor time a page')
    const db = client.db()
    await db.collection('none').createIndex({ other: 1 })
    await measure('mongod: no words', inMongod(db.collection('none'), pid, ({ content }) => ({ content })), texts)
    await db.collection('text').createIndex({ content: 'text' }, { default_language: 'none' })
    await measure('mongod: text index', inMongod(db.collection('text'), pid, ({ content }) => ({ content })), texts)
    await db.collection('keys').createIndex({ words: 1 })
    const keys = inMongod(db.collection('keys'), pid, ({ content }) => ({ words: wordsOf(content) }))
    await measure('mongod: keys', keys, texts)

    const before = residentMb(process.pid)
    const index = await createIndex(directory, { database: 'bench', lasting: true, clusterTime: '0' })
    await measure('SQLite: FTS5', {
      cpuS: () => process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
      write: (changed) => index.apply({ texts: changed, gone: [], state: {} })
    }, texts)
    console.log(`SQLite: ${(residentMb(process.pid) - before).toFixed(0)} MB of memory, ` +
      `${(statSync(index.file).size / 1e6).toFixed(1)} MB of file for ${count} pages`)
    index.close()
  } finally {
    await client.close()
    await mongod.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

const { values } = parseArgs({
  options: { pages: { type: 'string', default: '1000' }, help: { type: 'boolean', short: 'h' } }
})
if (values.help) process.stdout.write(HELP)
else await main(Number(values.pages))
