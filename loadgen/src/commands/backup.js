import { statSync } from 'node:fs'
import { writeBackup } from '@stevec/wiki-app/backup/write'
import { configWith, interruptSignal, refuseMore } from './options.js'
import { countsLine, progressLine, wikiUri } from './backup-terminal.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'write all of a wiki into one file, while it runs',
  help: `Usage: stevec backup [FILE] [options]

Writes the wiki's database, as it is at one moment, into one gzip file of JSON lines: pages, every
revision, pictures, accounts. Sessions are left out. The wiki keeps running meanwhile. FILE appears
when it is complete (default wiki-<time>.stevec.gz). Protect it as you protect the wiki.

  --uri URI    the database (default MONGODB_URI, then the wiki of \`stevec up\`)

Examples:
  stevec backup
  stevec backup monday.stevec.gz
  stevec backup --uri 'mongodb://127.0.0.1:27027/stevec?replicaSet=stevec'
  zcat monday.stevec.gz | head -2`,
  options: { uri: { type: 'string' } },
  async run ({ values, positionals }) {
    refuseMore(positionals, 1)
    const file = positionals[0] ?? `wiki-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}.stevec.gz`
    const progress = progressLine()
    const counts = await writeBackup({
      uri: wikiUri(values.uri, configWith(values)),
      file,
      signal: interruptSignal(),
      onProgress: progress.show
    }).finally(progress.end)
    process.stdout.write(`wrote ${file}, ${statSync(file).size} bytes: ${countsLine(counts)}\n`)
    return 0
  }
}
