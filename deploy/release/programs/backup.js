#!/usr/bin/env node
import { existsSync, statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readBackup } from '@stevec/wiki-app/backup/read'
import { openOutside } from '@stevec/wiki-app/backup/pictures'
import { verifyBackup } from '@stevec/wiki-app/backup/verify'
import { writeBackup } from '@stevec/wiki-app/backup/write'
import { backupName, scheduledBackup } from './scheduled-backup.js'
import { backupSettings, SettingError } from './settings.js'

const HELP = `Usage: stevec-backup write [FILE]
       stevec-backup verify FILE
       stevec-backup restore FILE [--replace]
       stevec-backup scheduled

Backups of the wiki whose MONGODB_URI is in /etc/stevec/wiki.env.

  write        all of the wiki, as it is at one moment, into one gzip file of JSON lines, while it
               runs (default wiki-<time>.stevec.gz). Protect it as you protect the wiki.
  verify       tries FILE: restores it into a new database of the same server (stevec_verify_…),
               reads everything back, compares, and drops that database. No wiki is touched.
  restore      puts FILE into the wiki's database, which must be empty, or with --replace loses what
               is in it. Stop the wiki before: systemctl stop stevec-wiki
  scheduled    what stevec-backup.timer does each night: write, verify, and keep the newest
               BACKUP_KEEP (default 14). Ends with an error, and deletes nothing, if a step fails.

Exit code: 0 good, 1 a damaged backup, 2 wrong usage, 3 the database cannot be used.

Examples:
  stevec-backup write /root/monday.stevec.gz
  stevec-backup verify /root/monday.stevec.gz
  systemctl start stevec-backup && ls /var/lib/stevec/backups
`

/** Exit codes by the class of the error, as `stevec backup` has them (docs/operations.md). */
const CODES = /** @type {Record<string, number>} */ ({
  BackupError: 1, UsageError: 2, SettingError: 2, WrongDatabaseError: 2, AbortError: 130
})
const BROKEN = 3

class UsageError extends Error {}

const countsLine = (/** @type {Record<string, number>} */ counts) =>
  Object.entries(counts).filter(([, count]) => count > 0).map(([name, count]) => `${name} ${count}`).join(', ')

/** @type {Record<string, (argument: string | undefined, replace: boolean, signal: AbortSignal) => Promise<string>>} */
const COMMANDS = {
  async write (file = backupName(new Date()), _, signal) {
    const outside = await openOutside(process.env)
    const counts = await writeBackup({ uri: backupSettings(process.env).uri, file, outside, signal })
    return `wrote ${file}, ${statSync(file).size} bytes: ${countsLine(counts)}`
  },
  async verify (given, _, signal) {
    const file = present(given)
    const { counts } = await verifyBackup({ uri: backupSettings(process.env).uri, file, signal })
    return `verified ${file}, restored and read back: ${countsLine(counts)}`
  },
  async restore (given, replace, signal) {
    const { uri } = backupSettings(process.env)
    return `restored ${countsLine(await readBackup({ uri, file: present(given), replace, signal }))}`
  },
  async scheduled (_, __, signal) {
    const { uri, folder, keep } = backupSettings(process.env)
    if (folder === undefined) throw new SettingError('systemctl start stevec-backup runs this, and names its folder')
    const outside = await openOutside(process.env)
    const { file, bytes, counts, deleted } = await scheduledBackup({ uri, folder, keep, outside, signal })
    const gone = deleted.length > 0 ? `; deleted ${deleted.join(', ')}` : ''
    return `wrote and verified ${file}, ${bytes} bytes: ${countsLine(counts)}${gone}`
  }
}

/** @param {string | undefined} file */
function present (file) {
  if (file === undefined) throw new UsageError('FILE is missing, see stevec-backup --help')
  if (!existsSync(file)) throw new UsageError(`there is no file ${file}`)
  return file
}

/** @param {string[]} args */
function parse (args) {
  try {
    return parseArgs({
      args, allowPositionals: true, options: { replace: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } }
    })
  } catch (error) {
    throw new UsageError(/** @type {Error} */ (error).message)
  }
}

/** @param {string[]} args @returns {Promise<string>} the output */
async function main (args) {
  const { values, positionals: [command, argument, ...more] } = parse(args)
  if (values.help) return HELP.trimEnd()
  if (command === undefined || !Object.hasOwn(COMMANDS, command) || more.length > 0) {
    throw new UsageError(`one of ${Object.keys(COMMANDS).join(', ')}, and at most one FILE; see stevec-backup --help`)
  }
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => controller.abort())
  return COMMANDS[command](argument, values.replace ?? false, controller.signal)
}

try {
  process.stdout.write(`${await main(process.argv.slice(2))}\n`)
} catch (error) {
  const { message, name, constructor } = /** @type {Error} */ (error)
  process.stderr.write(`stevec-backup: ${message}\n`)
  process.exitCode = CODES[name] ?? CODES[constructor.name] ?? BROKEN
}
