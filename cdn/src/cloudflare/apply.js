import { CloudflareError } from './error.js'
import { planApply, planDestroy } from './plan.js'
import { readState } from './state.js'
import { hostsOf, originOf, TIERED_CACHE } from './wanted.js'
import { writeRules } from './write-rules.js'
import { findZone } from './zone.js'

/** "The record already exists": an earlier attempt succeeded and its response was lost. */
const EXISTS_CODES = [81_053, 81_057, 81_058]
const GONE_CODE = 81_044

/**
 * @typedef {{zone: string, origin?: string, names?: string, tune?: boolean}} Wish  destroy needs no origin
 */

/**
 * Reads the zone and plans the changes, without making any.
 * @param {import('./client.js').Client} client
 * @param {'apply' | 'destroy'} kind
 * @param {Wish} wish
 * @returns {Promise<import('./plan.js').Plan>}
 */
export async function makePlan (client, kind, wish) {
  const hosts = hostsOf(wish.zone, wish.names)
  if (kind === 'apply') originOf(wish.origin ?? '', hosts)
  return planFor(client, kind, wish, await findZone(client, wish.zone))
}

/**
 * @param {import('./client.js').Client} client
 * @param {'apply' | 'destroy'} kind
 * @param {Wish} wish
 * @param {import('./zone.js').Zone} zone
 */
async function planFor (client, kind, { origin = '', names, tune }, zone) {
  const state = await readState(client, zone, Object.values(hostsOf(zone.name, names)))
  return kind === 'apply' ? planApply({ zone, state, origin, names, tune }) : planDestroy({ zone, state, names })
}

/**
 * Carries out a plan if it still holds, then checks the result. It can be repeated after a failure at any point.
 * @param {import('./client.js').Client} client
 * @param {Wish} wish
 * @param {{kind: 'apply' | 'destroy', fingerprint: string}} planned
 * @param {{onStep?: (change: import('./plan.js').Change) => void}} [options]
 * @returns {Promise<import('./plan.js').Plan>} the plan that was carried out
 * @throws {Error} when the zone has changed since the plan was made, when the plan has conflicts, or when the zone does
 *   not match the plan afterwards
 */
export async function carryOut (client, wish, planned, { onStep = () => {} } = {}) {
  const zone = await findZone(client, wish.zone)
  const plan = await planFor(client, planned.kind, wish, zone)
  if (plan.fingerprint !== planned.fingerprint) {
    throw new Error('nothing was done: the zone has changed since the plan was made; make a new plan and check it')
  }
  if (plan.conflicts.length > 0) throw new Error(`nothing was done: ${plan.conflicts.join('; ')}`)
  for (const step of plan.steps) {
    for (const change of step.changes) onStep(change)
    if (step.kind === 'rules') await writeRules(client, zone, step)
    else if (step.kind === 'setting') await writeSetting(client, zone, step)
    else await writeRecord(client, zone, step)
  }
  const left = (await planFor(client, planned.kind, wish, zone)).steps.flatMap(({ changes }) => changes)
  if (left.length > 0) {
    throw new Error(`the changes were made, but the zone is not as planned; still to do: ${left.map(({ action, what }) => `${action} ${what}`).join(', ')}. Somebody else may be changing it; run ${planned.kind} again`)
  }
  return plan
}

/**
 * @param {import('./client.js').Client} client
 * @param {import('./zone.js').Zone} zone
 * @param {Extract<import('./plan.js').Step, {kind: 'setting'}>} step
 */
async function writeSetting (client, zone, { id, value }) {
  await client.call(`set ${id} to ${value}`, (api, options) => /** @type {Promise<unknown>} */ (id === TIERED_CACHE
    ? api.cache.smartTieredCache.edit({ zone_id: zone.id, value: /** @type {any} */ (value) }, options)
    : api.zones.settings.edit(/** @type {any} */ (id), { zone_id: zone.id, value }, options)))
}

/**
 * @param {import('./client.js').Client} client
 * @param {import('./zone.js').Zone} zone
 * @param {Extract<import('./plan.js').Step, {kind: 'record'}>} step
 */
async function writeRecord (client, zone, { id, record }) {
  try {
    if (record === null) {
      await client.call('delete a DNS record', (api, options) => api.dns.records.delete(String(id), { zone_id: zone.id }, options))
    } else if (id === null) {
      await client.call(`create the DNS record ${record.name}`, (api, options) => api.dns.records.create({ zone_id: zone.id, ...record }, options))
    } else {
      await client.call(`change the DNS record ${record.name}`, (api, options) => api.dns.records.edit(id, { zone_id: zone.id, ...record }, options))
    }
  } catch (error) {
    // Whether the existing record is ours shows in the check at the end of carryOut.
    const done =
      error instanceof CloudflareError &&
      (record === null
        ? error.codes.includes(GONE_CODE) || error.kind === 'not_found'
        : id === null && error.codes.some((code) => EXISTS_CODES.includes(code)))
    if (!done) throw error
  }
}
