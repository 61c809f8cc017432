import { isDeepStrictEqual } from 'node:util'
import { fingerprintOf } from './state.js'
import { hostsOf, RECORD_MARK, recordsOf, RULE_MARK, rulesOf, SETTINGS } from './wanted.js'

/**
 * The changes to a zone, in their order. Nothing in this file calls the API.
 * @typedef {object} Plan
 * @property {'apply' | 'destroy'} kind
 * @property {string} zone
 * @property {import('./wanted.js').Hosts} hosts
 * @property {Step[]} steps
 * @property {string[]} conflicts  reasons why the plan must not be carried out
 * @property {string[]} notes  for the user
 * @property {string} fingerprint  of the zone's state and the changes: the plan holds while it stays the same
 *
 * @typedef {{
 *     kind: 'rules',
 *     ruleset: import('./state.js').Ruleset | null,
 *     ours: import('./state.js').Rule[],
 *     changes: Change[]
 *   }
 *   | {kind: 'setting', id: string, value: string, changes: Change[]}
 *   | {kind: 'record', id: string | null, record: import('./wanted.js').Record | null, changes: Change[]}} Step
 * @typedef {object} Change
 * @property {'create' | 'update' | 'delete' | 'move'} action
 * @property {string} what
 * @property {any} before
 * @property {any} after
 * @property {string} [why]
 *
 * @typedef {{zone: import('./zone.js').Zone, state: import('./state.js').State, names?: string}} Found
 */

const RULE_FIELDS = /** @type {const} */ (['description', 'expression', 'action', 'action_parameters', 'enabled'])
const RECORD_FIELDS = /** @type {const} */ (['type', 'content', 'proxied', 'ttl', 'comment'])
const MEMORY = '; before us: '

/**
 * @param {Found & {origin: string, tune?: boolean}} found
 * @returns {Plan}
 * @throws {RangeError} for invalid names or an invalid origin
 */
export function planApply ({ zone, state, origin, names, tune = false }) {
  const hosts = hostsOf(zone.name, names)
  const conflicts = []
  const notes = []

  const settings = SETTINGS.filter(({ id, value }) => state.settings[id] !== null && state.settings[id] !== value)
  const changed = settings.filter(({ always }) => always || tune)
  for (const { id, why } of settings.filter((setting) => !changed.includes(setting))) {
    notes.push(`${id} is ${state.settings[id]}: ${why}; --tune sets it`)
  }
  const remembered = {
    ...Object.fromEntries(changed.map(({ id }) => [id, String(state.settings[id])])),
    ...memoryOf(state.ruleset)
  }

  const ours = rulesOf(hosts).map((rule, index) =>
    index === 0 ? { ...rule, description: rule.description + textOf(remembered) } : rule
  )
  const rules = rulesStep(state.ruleset, ours)
  const others = othersOf(state.ruleset)
  if (others.length > 0) {
    notes.push(`${others.length} cache rule${others.length === 1 ? '' : 's'} of others stay as they are, before ours`)
  }
  if (others.length + ours.length > zone.cacheRulesMax) {
    conflicts.push(`the plan ${zone.plan} has room for ${zone.cacheRulesMax} cache rules; ${others.length} are there, and ours are ${ours.length}`)
  }
  if (zone.status !== 'active') {
    notes.push(`the zone is ${zone.status}: nothing answers until its name servers are Cloudflare's`)
  }

  const records = recordSteps(state.records, recordsOf(hosts, origin), conflicts)
  // Rules first: the first rule's description stores the zone's previous settings, and no host name gets its DNS record
  // before its cache rules exist.
  const steps = [
    ...rules,
    ...changed.map((setting) => settingStep(setting.id, state.settings[setting.id], setting.value, setting.why)),
    ...records
  ]
  return {
    kind: 'apply',
    zone: zone.name,
    hosts,
    steps,
    conflicts,
    notes,
    fingerprint: fingerprintOf('apply', state, steps)
  }
}

/**
 * @param {Found} found
 * @returns {Plan}
 */
export function planDestroy ({ zone, state, names }) {
  const memory = memoryOf(state.ruleset)
  // A setting that somebody has changed since apply stays as it is.
  const settings = SETTINGS.filter(
    ({ id, value }) => memory[id] !== undefined && memory[id] !== value && state.settings[id] === value
  ).map(({ id, value }) => settingStep(id, value, memory[id], 'as it was before us'))
  const steps = [...recordSteps(state.records.filter(isOurs), [], []), ...settings, ...rulesStep(state.ruleset, [])]
  return {
    kind: 'destroy',
    zone: zone.name,
    hosts: hostsOf(zone.name, names),
    steps,
    conflicts: [],
    notes: [],
    fingerprint: fingerprintOf('destroy', state, steps)
  }
}

/** @param {{comment?: string | null}} record */
const isOurs = ({ comment }) => comment?.startsWith(`${RECORD_MARK}:`) ?? false

/** @param {import('./state.js').Rule} rule */
export const isOurRule = ({ ref }) => ref?.startsWith(RULE_MARK) ?? false

/** @param {import('./state.js').Ruleset | null} ruleset */
export const othersOf = (ruleset) => (ruleset?.rules ?? []).filter((rule) => !isOurRule(rule))

/** Returns the fields that our rules are compared by. @param {import('./state.js').Rule} rule */
export const ruleFields = (rule) => pick(rule, RULE_FIELDS)

/**
 * Reads the previous settings from the description of one of our rules. A zone has no other place to store them, and
 * they disappear with our rules.
 * @param {import('./state.js').Ruleset | null} ruleset
 * @returns {Record<string, string>}
 */
function memoryOf (ruleset) {
  const [, text = ''] = ruleset?.rules.find(isOurRule)?.description?.split(MEMORY) ?? []
  return Object.fromEntries([...text.matchAll(/(\w+)=(\w+)/g)].map(([, id, value]) => [id, value]))
}

/** @param {Record<string, string>} memory */
function textOf (memory) {
  const entries = Object.entries(memory).sort()
  return entries.length === 0 ? '' : MEMORY + entries.map(([id, value]) => `${id}=${value}`).join(' ')
}

/**
 * Plans all changes of rules as one step, because the API takes them in one call.
 * @param {import('./state.js').Ruleset | null} ruleset
 * @param {import('./state.js').Rule[]} wanted
 * @returns {Step[]}
 */
function rulesStep (ruleset, wanted) {
  const present = (ruleset?.rules ?? []).filter(isOurRule)
  /** @type {Change[]} */
  const changes = []
  const ours = wanted.map((rule) => {
    const before = present.find(({ ref }) => ref === rule.ref)
    if (before === undefined) {
      changes.push({ action: 'create', what: `cache rule ${rule.ref}`, before: null, after: pick(rule, RULE_FIELDS) })
    } else if (!isDeepStrictEqual(pick(before, RULE_FIELDS), pick(rule, RULE_FIELDS))) {
      changes.push({ action: 'update', what: `cache rule ${rule.ref}`, before: pick(before, RULE_FIELDS), after: pick(rule, RULE_FIELDS) })
    }
    return before === undefined ? rule : { ...rule, id: before.id }
  })
  for (const rule of present) {
    if (!wanted.some(({ ref }) => ref === rule.ref)) {
      changes.push({ action: 'delete', what: `cache rule ${rule.ref}`, before: pick(rule, RULE_FIELDS), after: null })
    }
  }
  const order = (ruleset?.rules ?? []).map(({ ref }) => ref).slice(-wanted.length)
  if (changes.length === 0 && wanted.length > 0 && !isDeepStrictEqual(order, wanted.map(({ ref }) => ref))) {
    changes.push({
      action: 'move',
      what: 'our cache rules',
      before: 'before rules of others',
      after: 'at the end, where the last word is',
      why: 'a later rule overrides an earlier one'
    })
  }
  return changes.length === 0 ? [] : [{ kind: 'rules', ruleset, ours, changes }]
}

/**
 * @param {string} id
 * @param {string | null} before
 * @param {string} value
 * @param {string} why
 * @returns {Step}
 */
const settingStep = (id, before, value, why) => ({
  kind: 'setting',
  id,
  value,
  changes: [{ action: 'update', what: `setting ${id}`, before, after: value, why }]
})

/**
 * @param {import('./state.js').DnsRecord[]} present
 * @param {import('./wanted.js').Record[]} wanted
 * @param {string[]} conflicts
 * @returns {Step[]}
 */
function recordSteps (present, wanted, conflicts) {
  /** @type {Step[]} */
  const steps = []
  const matched = new Set()
  for (const record of wanted) {
    const there = present.filter(({ name }) => name === record.name)
    const foreign = there.find(
      (other) => !isOurs(other) && (['A', 'AAAA', 'CNAME'].includes(other.type) || record.type === 'CNAME')
    )
    if (foreign) {
      conflicts.push(`${record.name} has a ${foreign.type} record that is not ours (${foreign.content}); choose other --names, or remove it yourself`)
    }
    const own = there.find((other) => isOurs(other) && other.type === record.type)
    const what = `DNS record ${record.name}`
    if (own === undefined) {
      steps.push({
        kind: 'record',
        id: null,
        record,
        changes: [{ action: 'create', what, before: null, after: pick(record, RECORD_FIELDS) }]
      })
    } else {
      matched.add(own.id)
      const [before, after] = [pick(own, RECORD_FIELDS), pick(record, RECORD_FIELDS)]
      if (!isDeepStrictEqual(before, after)) {
        steps.push({ kind: 'record', id: own.id, record, changes: [{ action: 'update', what, before, after }] })
      }
    }
  }
  // Deletions first: a name cannot hold its old record and a new one of another type at the same time.
  const gone = present.filter((record) => isOurs(record) && !matched.has(record.id))
  return [
    ...gone.map((record) => ({
      kind: /** @type {const} */ ('record'),
      id: record.id,
      record: null,
      changes: [
        {
          action: /** @type {const} */ ('delete'),
          what: `DNS record ${record.name}`,
          before: pick(record, RECORD_FIELDS),
          after: null
        }
      ]
    })),
    ...steps
  ]
}

/**
 * @template {string} Field
 * @param {object} object
 * @param {readonly Field[]} fields
 * @returns {Record<Field, any>}
 */
const pick = (object, fields) =>
  /** @type {any} */ (Object.fromEntries(fields.map((field) => [field, /** @type {any} */ (object)[field] ?? null])))
