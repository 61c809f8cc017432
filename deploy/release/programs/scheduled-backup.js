import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { verifyBackup } from '@stevec/wiki-app/backup/verify'
import { writeBackup } from '@stevec/wiki-app/backup/write'

const VERIFIED = /^wiki-\d{8}T\d{6}Z\.stevec\.gz$/
/** The ending of a backup until its drill has passed. The next run deletes what a failed or killed drill leaves. */
const PENDING = '.unverified'

/** @param {Date} time */
export const backupName = (time) => `wiki-${time.toISOString().replace(/[-:]|\.\d+/g, '')}.stevec.gz`

/**
 * Writes a backup, restores it for a trial, and then deletes the oldest of those that have passed.
 * @param {object} options
 * @param {string} options.uri  with the database
 * @param {string} options.folder
 * @param {number} options.keep  verified backups
 * @param {import('@stevec/wiki-app/backup/pictures').Outside} [options.outside]
 * @param {AbortSignal} [options.signal]
 * @param {Date} [options.now]
 * @returns {Promise<{file: string, bytes: number, counts: Record<string, number>, deleted: string[]}>}
 * @throws {Error} when the database cannot be read, or the backup fails its drill; no older backup is deleted then
 */
export async function scheduledBackup ({ uri, folder, keep, outside, signal, now = new Date() }) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(folder).filter((entry) => /\.unverified(\.part)?$/.test(entry))) {
    rmSync(path.join(folder, name))
  }
  const file = path.join(folder, backupName(now))
  const pending = `${file}${PENDING}`
  await writeBackup({ uri, file: pending, outside, signal })
  const { counts } = await verifyBackup({ uri, file: pending, signal })
  renameSync(pending, file)
  const deleted = readdirSync(folder).filter((name) => VERIFIED.test(name)).sort().slice(0, -keep)
  for (const name of deleted) rmSync(path.join(folder, name))
  return { file, bytes: statSync(file).size, counts, deleted }
}
