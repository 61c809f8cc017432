import { existsSync } from 'node:fs'
import { readBackup } from '@stevec/wiki-app/backup/read'
import { countsLine, progressLine, wikiUri } from './backup-terminal.js'
import { UsageError } from '../usage-error.js'
import { configWith, interruptSignal, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'put a backup of a wiki into a database',
  help: `Usage: stevec restore FILE [options]

Checks that FILE, written by \`stevec backup\`, is complete, and puts it into an empty database.
Writes nothing if FILE is damaged. Edits made during a restore are lost: stop the wiki first, or
restore into a database of another name and start a wiki on it.

  --uri URI    the database (default MONGODB_URI, then the wiki of \`stevec up\`)
  --replace    deletes the present contents of the database

Examples:
  stevec restore monday.stevec.gz --uri 'mongodb://127.0.0.1:27027/restored?replicaSet=stevec'
  stevec restore monday.stevec.gz --replace`,
  options: { uri: { type: 'string' }, replace: { type: 'boolean' } },
  async run ({ values, positionals }) {
    refuseMore(positionals, 1)
    const [file] = positionals
    if (file === undefined) throw new UsageError('FILE is missing, for example monday.stevec.gz')
    if (!existsSync(file)) throw new UsageError(`there is no file ${file}`)
    const progress = progressLine()
    const counts = await readBackup({
      uri: wikiUri(values.uri, configWith(values)),
      file,
      replace: values.replace ?? false,
      signal: interruptSignal(),
      onProgress: progress.show
    }).finally(progress.end)
    process.stdout.write(`restored ${countsLine(counts)}\n`)
    return 0
  }
}
