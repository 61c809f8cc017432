// How many revisions a second a dump comes in with, and a second run of the same. `--pages N`, `--file DUMP`,
// `--converter none`: the database and the renderer alone. `--histories edited`: articles of which a revision changes a
// part, `new`: of which every revision is another text, with `--revisions` of a page each.
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { childPids } from '@stevec/harness/proc'
import { startMongod } from '@stevec/harness/mongod'
import { requireTool } from '@stevec/harness/tools/locate'
import { readConfig } from '../src/config.js'
import { cpuTimeMs } from '../src/moving/pandoc/cpu-time.js'
import { runImport } from '../src/moving/run-import.js'
import { generatedArticles } from '../test/mediawiki-articles.js'
import { generatedDump } from '../test/mediawiki-dump.js'

const DEFAULT_PAGES = 1_000
const DEFAULT_REVISIONS = 20
const MIB = 1_048_576
const HISTORIES = [undefined, 'edited', 'new']

const { values } = parseArgs({
  options: {
    pages: { type: 'string' },
    revisions: { type: 'string' },
    histories: { type: 'string' },
    file: { type: 'string' },
    converter: { type: 'string' }
  }
})
const pages = Number(values.pages ?? DEFAULT_PAGES)
if (!Number.isInteger(pages) || pages < 1) throw new Error('--pages must be a whole number from 1')
const revisionsOfPage = Number(values.revisions ?? DEFAULT_REVISIONS)
if (!Number.isInteger(revisionsOfPage) || revisionsOfPage < 1) {
  throw new Error('--revisions must be a whole number from 1')
}
if (!HISTORIES.includes(values.histories)) throw new Error('--histories must be “edited” or “new”')
const dumped = () => values.histories === undefined
  ? generatedDump({ pages })
  : generatedArticles({ pages, revisions: revisionsOfPage, isNew: values.histories === 'new' })
await claimMachine()

/** Of this process, those that it has started and that have ended (pandoc), and mongod. proc_pid_stat(5) */
function cpuSeconds () {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const [user, system, ofEnded, systemOfEnded] = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 15)
  const running = childPids(process.pid).map((pid) => (cpuTimeMs(pid) ?? 0) / 1000)
  return [user, system, ofEnded, systemOfEnded].reduce((sum, ticks) => sum + Number(ticks) / 100, 0) +
    running.reduce((sum, seconds) => sum + seconds, 0)
}

const folder = mkdtempSync(path.join(tmpdir(), 'stevec-bench-import-'))
const mongod = await startMongod()
try {
  const file = values.file ?? path.join(folder, 'dump.xml')
  if (values.file === undefined) await pipeline(dumped(), createWriteStream(file))
  const config = readConfig({ MONGODB_URI: mongod.uriFor('import') })
  for (const run of ['first', 'second']) {
    let most = 0
    const timer = setInterval(() => { most = Math.max(most, process.memoryUsage.rss()) }, 100)
    const start = performance.now()
    const cpuStart = cpuSeconds()
    const { totals } = await runImport({
      config,
      kind: 'mediawiki',
      file,
      ...values.converter === 'none' ? { converter: { close: async () => {} } } : { pandoc: requireTool('pandoc').path }
    })
    clearInterval(timer)
    const seconds = (performance.now() - start) / 1000
    const cpu = cpuSeconds() - cpuStart
    const { created, unchanged, revisions } = totals
    process.stdout.write(`${run} run: ${seconds.toFixed(1)} s, ${created} pages created, ${unchanged} unchanged, ` +
      `${revisions} revisions, ${Math.round(revisions / seconds)} revisions/s; ${cpu.toFixed(1)} s of processors, ` +
      `load ${loadavg()[0].toFixed(1)}; at most ${Math.round(most / MIB)} MiB\n`)
  }
} finally {
  await mongod.stop()
  rmSync(folder, { recursive: true })
}
