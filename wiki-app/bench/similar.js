import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createIndex } from '../src/words/file.js'
import { similarTo } from '../src/words/similar.js'
import { openSqlite } from '../src/words/sqlite.js'

/** node wiki-app/bench/similar.js [words]: what it takes to find words that are like one of a query. */
const WORDS = Number(process.argv[2] ?? 100_000)
const PER_PAGE = 100
const LETTERS = 'aaabcdeeefghiiijklmnooprstuvz'
const ROUNDS = 20

let seed = 1
/** Numerical Recipes' generator. @param {number} below */
function draw (below) {
  seed = (seed * 1_664_525 + 1_013_904_223) >>> 0
  return Math.floor(seed / 2 ** 32 * below)
}
const word = () => Array.from({ length: 4 + draw(8) }, () => LETTERS[draw(LETTERS.length)]).join('')

const directory = mkdtempSync(path.join(tmpdir(), 'stevec-similar-'))
const { file, close } = await createIndex(directory, { database: 'bench', lasting: false, clusterTime: '' })
close()
const sqlite = await openSqlite(file)
try {
  const words = Array.from({ length: WORDS }, word)
  await sqlite.exec('begin')
  for (let at = 0; at < WORDS; at += PER_PAGE) {
    await sqlite.all('insert into words (rowid, title, content) values (?, ?, ?)', at + 1, '',
      words.slice(at, at + PER_PAGE).join(' '))
  }
  await sqlite.exec("commit; create virtual table temp.terms using fts5vocab('main', 'words', 'row')")
  for (const query of ['aranica', 'aranicate', 'zranica']) {
    const before = process.cpuUsage()
    const start = performance.now()
    for (let round = 0; round < ROUNDS; round++) await similarTo(sqlite, query)
    const { user, system } = process.cpuUsage(before)
    console.log(`${query} among ${WORDS} words: ${((performance.now() - start) / ROUNDS).toFixed(1)} ms, ` +
      `${((user + system) / 1000 / ROUNDS).toFixed(1)} ms of processor time`)
  }
} finally {
  sqlite.close()
  rmSync(directory, { recursive: true })
}
