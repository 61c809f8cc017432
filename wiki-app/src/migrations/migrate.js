import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { counted } from '../readable.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Collection, Db} from 'mongodb' */

/** Longer than a process is ever held up. */
const LEASE_MS = 30_000
const RENEWALS_PER_LEASE = 3
const CHECK_MS = 500
const LEASE = /** @type {const} */ ('lease')
const DUPLICATE_KEY = 11_000

/**
 * `run` returns the number of changed documents. It continues after a crash, and may run twice at once when a process
 * loses its lease.
 * @typedef {{number: number, name: string, run: () => Promise<number>}} Migration
 */

/**
 * @typedef {{_id: number, name: string, documents: number, applied_at: Date}} Applied
 * @typedef {{_id: 'lease', owner: string, until: Date}} Lease
 */

/**
 * Migrations run in one process at a time; the others wait.
 * @param {{db: Db, migrations: Migration[], log: Pick<FastifyBaseLogger, 'warn'>, leaseMs?: number, records?: string}}
 *   options  `records`: the collection that knows which are applied
 * @throws {Error} what a migration throws; the next call continues it
 */
export async function migrate ({ db, migrations, log, leaseMs = LEASE_MS, records: name = 'migrations' }) {
  /** @type {Collection<Applied>} */
  const records = db.collection(name)
  const applied = await appliedIn(records)
  const newest = migrations.at(-1)?.number ?? 0
  const unknown = [...applied].filter((number) => number > newest)
  if (unknown.length > 0) {
    log.warn(`a newer version of the wiki has changed what is stored (migration ${Math.max(...unknown)}); ` +
      'docs/operations.md says how far back a version may go')
  }
  const missing = migrations.filter(({ number }) => !applied.has(number))
  if (missing.length > 0) await applyAll(records, createLease(db.collection('migration_lease'), leaseMs), missing, log)
}

/** @param {Collection<Applied>} records */
const appliedIn = async (records) =>
  new Set((await records.find({}, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id))

/**
 * @param {Collection<Applied>} records @param {ReturnType<typeof createLease>} lease
 * @param {Migration[]} missing @param {Pick<FastifyBaseLogger, 'warn'>} log
 */
async function applyAll (records, lease, missing, log) {
  while (!await lease.take()) {
    const applied = await appliedIn(records)
    if (missing.every(({ number }) => applied.has(number))) return
    await sleep(CHECK_MS)
  }
  try {
    for (const migration of missing) await applyOnce(records, migration, log)
  } finally {
    await lease.release()
  }
}

/**
 * @param {Collection<Applied>} records @param {Migration} migration @param {Pick<FastifyBaseLogger, 'warn'>} log
 */
async function applyOnce (records, { number, name, run }, log) {
  // Another process may have applied it meanwhile.
  if (await records.findOne({ _id: number }) !== null) return
  const documents = await run()
  const record = { name, documents, applied_at: new Date() }
  await records.updateOne({ _id: number }, { $setOnInsert: record }, { upsert: true })
  if (documents > 0) log.warn(`migration ${number} (${name}) has changed ${counted(documents, 'document')}`)
}

/** The server's clock decides. @param {Collection<Lease>} leases @param {number} leaseMs */
function createLease (leases, leaseMs) {
  const owner = randomUUID()
  const untilFromNow = [{ $set: { owner, until: { $add: ['$$NOW', leaseMs] } } }]
  /** @type {NodeJS.Timeout | undefined} */
  let renewal

  return {
    /** @returns {Promise<boolean>} false while another process holds it */
    async take () {
      await leases.insertOne({ _id: LEASE, owner: '', until: new Date(0) }).catch((error) => {
        if (error.code !== DUPLICATE_KEY) throw error
      })
      const free = { _id: LEASE, $expr: { $lt: ['$until', '$$NOW'] } }
      const { modifiedCount } = await leases.updateOne(free, untilFromNow)
      if (modifiedCount === 0) return false
      const renew = () => { leases.updateOne({ _id: LEASE, owner }, untilFromNow).catch(() => {}) }
      renewal = setInterval(renew, leaseMs / RENEWALS_PER_LEASE)
      return true
    },

    async release () {
      clearInterval(renewal)
      await leases.updateOne({ _id: LEASE, owner }, { $set: { until: new Date(0) } }).catch(() => {})
    }
  }
}
