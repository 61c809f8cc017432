import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

/** Longer than a process is ever held up, so that a living process does not lose its lease. */
const LEASE_MS = 30_000
const RENEWALS_PER_LEASE = 3
const LOOK_MS = 500
const LEASE = /** @type {const} */ ('lease')
const DUPLICATE_KEY = 11_000

/**
 * A change of what is stored.
 * @typedef {object} Migration
 * @property {number} number  1, 2, …: the order in which they run
 * @property {string} name
 * @property {() => Promise<number>} run  changes the documents that need it and returns how many. It continues after a
 *   crash, and may run twice at the same time, when a process that was held up loses its lease.
 */

/**
 * Of each applied migration by its number, and of the lease.
 * @typedef {{_id: number, name: string, documents: number, applied_at: Date}} Applied
 * @typedef {{_id: 'lease', owner: string, until: Date}} Lease
 * @typedef {import('mongodb').Collection<Applied | Lease>} Records
 */

/**
 * Runs the migrations that the database has no record of, each in one process at a time; the others wait for it. The
 * record is written when the last document is changed.
 * @param {object} options
 * @param {import('mongodb').Db} options.db
 * @param {Migration[]} options.migrations  ordered by number
 * @param {Pick<import('fastify').FastifyBaseLogger, 'warn'>} options.log
 * @param {number} [options.leaseMs]
 * @throws {Error} what a migration throws; the next call continues it
 */
export async function migrate ({ db, migrations, log, leaseMs = LEASE_MS }) {
  /** @type {Records} */
  const records = db.collection('migrations')
  const applied = await records.find({ _id: { $ne: LEASE } }, { projection: { _id: 1 } }).toArray()
  const numbers = new Set(applied.map(({ _id }) => Number(_id)))
  const newest = migrations.at(-1)?.number ?? 0
  const unknown = [...numbers].filter((number) => number > newest)
  if (unknown.length > 0) {
    log.warn(`a newer version of the wiki has changed what is stored (migration ${Math.max(...unknown)}); ` +
      'docs/operations.md says how far back a version may go')
  }
  for (const migration of migrations) {
    if (!numbers.has(migration.number)) await applyOnce(records, migration, { log, leaseMs })
  }
}

/**
 * @param {Records} records
 * @param {Migration} migration
 * @param {{log: Pick<import('fastify').FastifyBaseLogger, 'warn'>, leaseMs: number}} options
 */
async function applyOnce (records, { number, name, run }, { log, leaseMs }) {
  const owner = randomUUID()
  while (!await takeLease(records, owner, leaseMs)) {
    if (await records.findOne({ _id: number }) !== null) return
    await sleep(LOOK_MS)
  }
  const renew = () => { renewLease(records, owner, leaseMs).catch(() => {}) }
  const renewal = setInterval(renew, leaseMs / RENEWALS_PER_LEASE)
  try {
    // Another process may have applied it since this one looked.
    if (await records.findOne({ _id: number }) !== null) return
    const documents = await run()
    const record = { name, documents, applied_at: new Date() }
    await records.updateOne({ _id: number }, { $setOnInsert: record }, { upsert: true })
    if (documents > 0) log.warn(`migration ${number} (${name}) has changed ${documents} documents`)
  } finally {
    clearInterval(renewal)
    await records.updateOne({ _id: LEASE, owner }, { $set: { until: new Date(0) } }).catch(() => {})
  }
}

/**
 * Takes the lease unless another process holds it. The server's clock decides, as clocks of hosts differ.
 * @param {Records} records
 * @param {string} owner
 * @param {number} leaseMs
 * @returns {Promise<boolean>}
 */
async function takeLease (records, owner, leaseMs) {
  await records.insertOne({ _id: LEASE, owner: '', until: new Date(0) }).catch((error) => {
    if (error.code !== DUPLICATE_KEY) throw error
  })
  const free = { _id: LEASE, $expr: { $lt: ['$until', '$$NOW'] } }
  const { modifiedCount } = await records.updateOne(free, untilFromNow(owner, leaseMs))
  return modifiedCount === 1
}

/**
 * @param {Records} records
 * @param {string} owner
 * @param {number} leaseMs
 */
const renewLease = (records, owner, leaseMs) => records.updateOne({ _id: LEASE, owner }, untilFromNow(owner, leaseMs))

/**
 * @param {string} owner
 * @param {number} leaseMs
 */
const untilFromNow = (owner, leaseMs) => [{ $set: { owner, until: { $add: ['$$NOW', leaseMs] } } }]
