import { existsSync, statSync } from 'node:fs'
import { startMongod } from '@stevec/harness/mongod'
import { openOutside } from '@stevec/wiki-app/backup/pictures'
import { verifyBackup } from '@stevec/wiki-app/backup/verify'
import { writeBackup } from '@stevec/wiki-app/backup/write'
import { UsageError } from '../usage-error.js'
import { configWith, interruptSignal, refuseMore } from './options.js'
import { countsLine, progressLine, wikiUri } from './backup-terminal.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'write all of a wiki into one file, while it runs',
  help: `Usage: stevec backup [FILE] [options]
       stevec backup --verify FILE [options]

Writes the wiki's database, as it is at one moment, into one gzip file of JSON lines: pages, every
revision, pictures, accounts. Sessions are left out. The wiki keeps running meanwhile. FILE appears
when it is complete (default wiki-<time>.stevec.gz). Protect it as you protect the wiki.
Pictures outside the database need the wiki's settings PICTURE_FOLDER or PICTURE_S3_…; a backup has
all of them, and a restore puts them into the database.

  --uri URI    the database (default MONGODB_URI, then the wiki of \`stevec up\`)
  --verify     writes no backup, and tries FILE: restores it into a database of its own, reads
               everything back, and compares numbers of documents and checksums. Uses a mongod
               that it starts and stops, or with --uri a new database of that server, which it
               drops at the end (stevec_verify_…; needs the room of the wiki). No wiki's database
               is touched. Ends with 1 when FILE is damaged.

Examples:
  stevec backup
  stevec backup monday.stevec.gz
  stevec backup --uri 'mongodb://127.0.0.1:27027/stevec?replicaSet=stevec'
  stevec backup --verify monday.stevec.gz
  zcat monday.stevec.gz | head -2`,
  options: { uri: { type: 'string' }, verify: { type: 'boolean' } },
  async run ({ values, positionals }) {
    refuseMore(positionals, 1)
    if (values.verify) return verify(positionals[0], values.uri, configWith(values))
    const file = positionals[0] ?? `wiki-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}.stevec.gz`
    const progress = progressLine()
    const counts = await writeBackup({
      uri: wikiUri(values.uri, configWith(values)),
      file,
      outside: await openOutside(configWith(values).pictureEnvironment),
      signal: interruptSignal(),
      onProgress: progress.show
    }).finally(progress.end)
    process.stdout.write(`wrote ${file}, ${statSync(file).size} bytes: ${countsLine(counts)}\n`)
    return 0
  }
}

/**
 * @param {string | undefined} file
 * @param {string | undefined} given  URI of a server
 * @param {ReturnType<typeof import('../config.js').readConfig>} config
 */
async function verify (file, given, config) {
  if (file === undefined) throw new UsageError('FILE is missing, for example --verify monday.stevec.gz')
  if (!existsSync(file)) throw new UsageError(`there is no file ${file}`)
  const uri = given === undefined ? undefined : wikiUri(given, config)
  const progress = progressLine()
  const signal = interruptSignal()
  const mongod = uri === undefined ? await startMongod() : null
  try {
    const { counts } = await verifyBackup({
      uri: uri ?? /** @type {NonNullable<typeof mongod>} */ (mongod).uri, file, signal, onProgress: progress.show
    })
    progress.end()
    process.stdout.write(`verified ${file}, restored and read back: ${countsLine(counts)}\n`)
    return 0
  } finally {
    progress.end()
    await mongod?.stop()
  }
}
