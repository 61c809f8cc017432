import { isDeepStrictEqual } from 'node:util'
import { CloudflareError } from './error.js'
import { isOurRule, othersOf, planApply, planDestroy } from './plan.js'
import { PHASE, readRuleset, readState, rulesetFrom } from './state.js'
import { hostsOf, originOf, RULESET_MARK, TIERED_CACHE } from './wanted.js'
import { findZone } from './zone.js'

/** Others would have to change rules that many times within a second each. */
const MERGES_MAX = 3
/** "The record already exists": what was sent before has arrived, and its answer was lost. */
const EXISTS_CODES = [81_053, 81_057, 81_058]
const GONE_CODE = 81_044

/**
 * @typedef {{zone: string, origin?: string, names?: string, tune?: boolean}} Wish  origin: not for a destruction
 */

/**
 * Reads the zone and says what would be done. Changes nothing.
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
 * Does what a plan said, if it still holds, and looks afterwards whether it is so. Can be repeated after it broke off anywhere.
 * @param {import('./client.js').Client} client
 * @param {Wish} wish
 * @param {{kind: 'apply' | 'destroy', fingerprint: string}} planned
 * @param {{onStep?: (change: import('./plan.js').Change) => void}} [options]
 * @returns {Promise<import('./plan.js').Plan>} what was done
 * @throws {Error} when the zone has changed since the plan was made, the plan has conflicts, or the zone is not as planned afterwards
 */
export async function carryOut (client, wish, planned, { onStep = () => {} } = {}) {
  const zone = await findZone(client, wish.zone)
  const plan = await planFor(client, planned.kind, wish, zone)
  if (plan.fingerprint !== planned.fingerprint) throw new Error('the zone has changed since the plan was made, so nothing was done; make the plan again and look at it')
  if (plan.conflicts.length > 0) throw new Error(`nothing was done: ${plan.conflicts.join('; ')}`)
  for (const step of plan.steps) {
    for (const change of step.changes) onStep(change)
    if (step.kind === 'rules') await writeRules(client, zone, step)
    else if (step.kind === 'setting') await writeSetting(client, zone, step)
    else await writeRecord(client, zone, step)
  }
  const left = (await planFor(client, planned.kind, wish, zone)).steps.flatMap(({ changes }) => changes)
  if (left.length > 0) throw new Error(`done, yet the zone is not as planned: ${left.map(({ action, what }) => `${action} ${what}`).join(', ')} is still to do. Somebody else may be changing it`)
  return plan
}

/**
 * A write of a phase replaces all its rules. So: others' rules as they were read, then ours; and when somebody wrote in between, which
 * the version betrays, their rules are taken from the version that ours replaced, and written again.
 * @param {import('./client.js').Client} client
 * @param {import('./zone.js').Zone} zone
 * @param {Extract<import('./plan.js').Step, {kind: 'rules'}>} step
 */
async function writeRules (client, zone, { ruleset, ours }) {
  let base = ruleset
  for (let merge = 1; ; merge++) {
    const others = othersOf(base)
    if (base !== null && others.length === 0 && ours.length === 0 && base.description === RULESET_MARK) {
      // It was made by us and is empty now. If somebody has just put a rule there, its version is another.
      const now = await readRuleset(client, zone)
      if (now === null) return
      if (now.version === base.version) {
        await client.call('delete the empty list of cache rules', async (api, options) => { await api.rulesets.delete(now.id, { zone_id: zone.id }, options); return null })
        return
      }
      base = now
      if (merge < MERGES_MAX) continue
    }
    const about = base === null ? { description: RULESET_MARK } : { ...(base.name === undefined ? {} : { name: base.name }), ...(base.description === undefined ? {} : { description: base.description }) }
    const body = { zone_id: zone.id, ...about, rules: /** @type {any} */ ([...others.map(writable), ...ours]) }
    const written = rulesetFrom(await client.call('write the cache rules', (api, options) => api.rulesets.phases.update(PHASE, body, options)))
    if (!isDeepStrictEqual(othersOf(written).map(contentOf), others.map(contentOf))) throw new Error('the rules of others came back changed from being written; compare them in the dashboard')
    const version = Number(written.version)
    if (version <= (base === null ? 1 : Number(base.version) + 1)) return
    const replaced = rulesetFrom(await client.call('read the cache rules that were replaced', (api, options) => api.rulesets.phases.versions.get(String(version - 1), { ruleset_phase: PHASE, zone_id: zone.id }, options)))
    if (isDeepStrictEqual(othersOf(replaced).map(contentOf), others.map(contentOf))) return
    if (merge >= MERGES_MAX) throw new Error(`somebody else is changing the cache rules at this moment; look at version ${version - 1} of them, which ours replaced, and apply again`)
    // A rule that our write removed has lost its id; everything else of it can be brought back.
    const alive = new Set(written.rules.map(({ id }) => id))
    const lost = othersOf(replaced).map((rule) => alive.has(rule.id) ? rule : contentOf(rule))
    base = { ...written, name: replaced.name, description: replaced.description, rules: [...lost, ...written.rules.filter(isOurRule)] }
    ours = ours.map((rule) => ({ ...rule, id: written.rules.find(({ ref }) => ref === rule.ref)?.id }))
  }
}

/**
 * A rule as it may be sent back: its id keeps it what it is.
 * @param {import('./state.js').Rule} rule
 */
function writable ({ version: _version, last_updated: _lastUpdated, ...rule }) {
  return rule
}

/** @param {import('./state.js').Rule} rule */
function contentOf ({ id: _id, ...rule }) {
  return writable(rule)
}

/**
 * @param {import('./client.js').Client} client
 * @param {import('./zone.js').Zone} zone
 * @param {Extract<import('./plan.js').Step, {kind: 'setting'}>} step
 */
async function writeSetting (client, zone, { id, value }) {
  await client.call(`set ${id} to ${value}`, (api, options) => id === TIERED_CACHE
    ? api.cache.smartTieredCache.edit({ zone_id: zone.id, value: /** @type {any} */ (value) }, options)
    : api.zones.settings.edit(/** @type {any} */ (id), { zone_id: zone.id, value }, options))
}

/**
 * @param {import('./client.js').Client} client
 * @param {import('./zone.js').Zone} zone
 * @param {Extract<import('./plan.js').Step, {kind: 'record'}>} step
 */
async function writeRecord (client, zone, { id, record }) {
  try {
    if (record === null) await client.call('delete a DNS record', (api, options) => api.dns.records.delete(String(id), { zone_id: zone.id }, options))
    else if (id === null) await client.call(`create the DNS record ${record.name}`, (api, options) => api.dns.records.create({ zone_id: zone.id, ...record }, options))
    else await client.call(`change the DNS record ${record.name}`, (api, options) => api.dns.records.edit(id, { zone_id: zone.id, ...record }, options))
  } catch (error) {
    // Whether it is ours that exists, the look afterwards tells.
    const done = error instanceof CloudflareError && (record === null ? error.codes.includes(GONE_CODE) || error.kind === 'not_found' : id === null && error.codes.some((code) => EXISTS_CODES.includes(code)))
    if (!done) throw error
  }
}
