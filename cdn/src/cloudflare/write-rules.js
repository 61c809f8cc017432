import { isDeepStrictEqual } from 'node:util'
import { CloudflareError } from './error.js'
import { contentOf, keyOf, mergeRules } from './merge.js'
import { isOurRule, othersOf, ruleFields } from './plan.js'
import { PHASE, readRuleset, rulesetFrom } from './state.js'
import { RULESET_MARK } from './wanted.js'

/** To exceed it, others must change the rules in each of this many windows of about a second. */
const MERGES_MAX = 3
/** Each version costs one call. A person makes fewer changes while one call is retried. */
const VERSIONS_MAX = 20

/**
 * @typedef {import('./client.js').Client} Client
 * @typedef {import('./zone.js').Zone} Zone
 * @typedef {import('./state.js').Ruleset} Ruleset
 * @typedef {import('./state.js').Rule} Rule
 *
 * @typedef {{name?: string, description?: string, others: Rule[]}} Goal  what others want; rules without ids
 * @typedef {object} Attempt
 * @property {Ruleset | null} base  the newest version whose changes are in the goal
 * @property {Goal} goal
 * @property {string[]} replaced  versions whose changes are in the goal, but perhaps not in the zone
 *
 * @typedef {object} Outcome
 * @property {Ruleset | null} now  null: the zone no longer has cache rules
 * @property {boolean} written  false: `now` is not ours, and nothing is done yet
 * @property {number} repeats  how many versions before `now` may be ours: writes whose response was lost
 * @property {Rule[]} rules  as sent
 */

/**
 * Writes our cache rules without losing concurrent changes of others. A write replaces all rules of a phase, and the
 * API has no conditional write. So we send others' rules as we read them, followed by ours. Then we compare each
 * version that appeared meanwhile with its predecessor, and write others' changes again.
 * @param {Client} client
 * @param {Zone} zone
 * @param {Extract<import('./plan.js').Step, {kind: 'rules'}>} step
 */
export async function writeRules (client, zone, { ruleset, ours }) {
  /** @type {Attempt} */
  let attempt = { base: ruleset, goal: goalOf(ruleset), replaced: [] }
  for (let merge = 1; merge <= MERGES_MAX; merge++) {
    const next = await writeOnce(client, zone, attempt, ours)
    if (next === null) return
    attempt = next
  }
  const { replaced } = attempt
  const advice = replaced.length === 0 ? '' : `look at ${textOf(replaced)} of them, which ours may have replaced, and `
  throw new Error(`somebody else is changing the cache rules at this moment; ${advice}apply again`)
}

/**
 * @param {Ruleset | null} ruleset
 * @returns {Goal}
 */
function goalOf (ruleset) {
  if (ruleset === null) return { name: undefined, description: RULESET_MARK, others: [] }
  return { name: ruleset.name, description: ruleset.description, others: othersOf(ruleset).map(contentOf) }
}

/** @param {string[]} versions */
const textOf = (versions) => `version${versions.length === 1 ? '' : 's'} ${versions.join(', ')}`

/**
 * @param {Client} client
 * @param {Zone} zone
 * @param {Attempt} attempt
 * @param {Rule[]} ours
 * @returns {Promise<Attempt | null>} the next write; null: done
 */
async function writeOnce (client, zone, attempt, ours) {
  const { base, goal } = attempt
  const empty = goal.others.length === 0 && ours.length === 0
  const { now, ...outcome } = base !== null && empty && goal.description === RULESET_MARK
    ? await deleteRuleset(client, zone, base)
    : await putRuleset(client, zone, attempt, ours)
  if (now === null) return null
  const versions = await versionsBetween(client, zone, base, now)
  const merged = merge(attempt, outcome.written ? versions : [...versions, now], outcome)
  if (outcome.written && isDeepStrictEqual(merged.goal, goal)) return null
  return { base: now, goal: merged.goal, replaced: [...outcome.written ? [] : attempt.replaced, ...merged.foreign] }
}

/**
 * Deletes our empty ruleset, unless somebody has just written to it.
 * @param {Client} client
 * @param {Zone} zone
 * @param {Ruleset} base
 * @returns {Promise<Outcome>}
 */
async function deleteRuleset (client, zone, base) {
  const now = await readRuleset(client, zone)
  const outcome = { written: false, repeats: 0, rules: [] }
  if (now === null || !isSameVersion(now, base)) return { now, ...outcome }
  await client.call('delete the empty list of cache rules', async (api, options) => {
    await api.rulesets.delete(now.id, { zone_id: zone.id }, options)
    return null
  })
  return { now: null, ...outcome }
}

/**
 * @param {Ruleset} one
 * @param {Ruleset | null} other
 */
const isSameVersion = (one, other) => one.id === other?.id && one.version === other.version

/**
 * @param {Client} client
 * @param {Zone} zone
 * @param {Attempt} attempt
 * @param {Rule[]} ours
 * @returns {Promise<Outcome>}
 */
async function putRuleset (client, zone, { base, goal: { others, ...about }, replaced }, ours) {
  // A rule keeps its identity by its id; the API refuses the id of a rule that no longer exists.
  const ids = new Map(base?.rules.map((rule) => [keyOf(rule), rule.id]))
  const rules = [...others, ...ours].map((rule) => ({ ...rule, id: ids.get(keyOf(rule)) }))
  const body = { zone_id: zone.id, ...about, rules: /** @type {any} */ (rules) }
  const what = 'write the cache rules'
  const again = `${what} again, with the changes of ${textOf(replaced)}, which ours may have replaced`
  let sent = 0
  try {
    const now = rulesetFrom(await client.call(replaced.length === 0 ? what : again, (api, options) => {
      sent += 1
      return api.rulesets.phases.update(PHASE, body, options)
    }))
    if (!isDeepStrictEqual(othersOf(now).map(contentOf), others)) {
      throw new Error('Cloudflare changed rules of others while it stored them; compare them in the dashboard')
    }
    return { now, written: true, repeats: sent - 1, rules }
  } catch (error) {
    if (!(error instanceof CloudflareError && error.refused)) throw error
    // Somebody may have removed a rule whose id we sent.
    const now = await readRuleset(client, zone)
    if (now === null || isSameVersion(now, base)) throw error
    return { now, written: false, repeats: sent - 1, rules }
  }
}

/**
 * @param {Client} client
 * @param {Zone} zone
 * @param {Ruleset | null} base
 * @param {Ruleset} now
 * @returns {Promise<Ruleset[]>} oldest first, excluding `base` and `now`
 */
async function versionsBetween (client, zone, base, now) {
  const isRecreated = base !== null && base.id !== now.id
  const first = base === null || isRecreated ? 1 : Number(base.version) + 1
  const last = Number(now.version) - 1
  if (last - first >= VERSIONS_MAX) {
    const what = `somebody else has written the cache rules more than ${VERSIONS_MAX} times meanwhile`
    const advice = `look at versions ${first} to ${last} of them, which ours may have replaced`
    throw new Error(`${what}; ${advice}, and apply again`)
  }
  // Deleting the ruleset removed all its rules.
  /** @type {Ruleset[]} */
  const versions = isRecreated ? [{ ...base, rules: [] }] : []
  for (let version = first; version <= last; version++) versions.push(await readVersion(client, zone, String(version)))
  return versions
}

/**
 * @param {Client} client
 * @param {Zone} zone
 * @param {string} version
 */
async function readVersion (client, zone, version) {
  const what = `read version ${version} of the cache rules, which ours may have replaced`
  return rulesetFrom(await client.call(what, (api, options) =>
    api.rulesets.phases.versions.get(version, { ruleset_phase: PHASE, zone_id: zone.id }, options)))
}

/**
 * Merges others' changes in these versions into the goal. A version equal to what we sent counts as ours, but only as
 * often as we sent it: others may return to the same rules by removing what they added.
 * @param {Attempt} attempt
 * @param {Ruleset[]} versions  all after `base`, oldest first
 * @param {Pick<Outcome, 'repeats' | 'rules'>} sent
 * @returns {{goal: Goal, foreign: string[]}}
 */
function merge ({ base, goal }, versions, { repeats, rules }) {
  const foreign = []
  let before = base
  for (const after of versions) {
    if (repeats > 0 && isDeepStrictEqual(after.rules.map(comparable), rules.map(comparable))) {
      repeats -= 1
    } else {
      foreign.push(after.version)
      goal = {
        name: after.name === before?.name ? goal.name : after.name,
        description: after.description === before?.description ? goal.description : after.description,
        others: mergeRules(goal.others, othersOf(before), othersOf(after))
      }
    }
    before = after
  }
  return { goal, foreign }
}

/** @param {Rule} rule */
const comparable = (rule) => isOurRule(rule) ? { ref: rule.ref, ...ruleFields(rule) } : contentOf(rule)
