import { isDeepStrictEqual } from 'node:util'
import { complaintAboutExpression } from './expression.js'
import { refusal, unknownFields } from './refusal.js'

// https://developers.cloudflare.com/ruleset-engine/rulesets-api/ and /cache/how-to/cache-rules/settings/
const RULE_FIELDS = ['id', 'ref', 'action', 'action_parameters', 'description', 'enabled', 'expression', 'logging']
const PARAMETERS = [
  'cache', 'edge_ttl', 'browser_ttl', 'cache_key', 'respect_strong_etags', 'serve_stale', 'origin_error_page_passthru',
  'origin_cache_control', 'additional_cacheable_ports', 'read_timeout', 'cache_reserve'
]
const RULES_MAX = { free: 10, pro: 25, business: 50, enterprise: 300 }
/** Seconds. https://developers.cloudflare.com/cache/how-to/edge-browser-cache-ttl/ */
const EDGE_TTL_MIN_S = { free: 7200, pro: 3600, business: 1, enterprise: 1 }
const BROWSER_TTL_MIN_S = { free: 120, pro: 120, business: 120, enterprise: 1 }
const TTL_MAX_S = 31_536_000

/**
 * Returns the next version of a phase's ruleset.
 * @param {any} body
 * @param {object} around
 * @param {any} around.zone
 * @param {any} around.present  null: no ruleset exists
 * @param {() => string} around.nextId
 * @param {string} around.now
 */
export function nextRuleset (body, { zone, present, nextId, now }) {
  unknownFields(body, ['rules', 'description', 'name', 'kind', 'phase'])
  const given = body.rules ?? []
  const plan = /** @type {keyof typeof RULES_MAX} */ (zone.plan)
  if (!Array.isArray(given)) throw refusal(400, 20_117, 'rules must be an array')
  if (given.length > RULES_MAX[plan]) {
    throw refusal(400, 20_217, `exceeded maximum number of rules in the phase http_request_cache_settings: ${RULES_MAX[plan]}`)
  }
  const refs = new Set()
  const ids = new Set()
  const rules = given.map((rule, index) => {
    const where = `/rules/${index}`
    checkRule(rule, where, plan)
    const before = rule.id === undefined ? null : present?.rules.find((/** @type {any} */ { id }) => id === rule.id)
    if (before === undefined || ids.has(rule.id)) {
      throw refusal(400, 20_119, `rule id '${rule.id}' not found (${where})`)
    }
    const id = rule.id ?? nextId()
    const ref = rule.ref ?? before?.ref ?? id
    if (refs.has(ref)) throw refusal(400, 20_128, `ref '${ref}' is not unique (${where})`)
    refs.add(ref)
    if (rule.id !== undefined) ids.add(rule.id)
    const content = { ...rule, id, ref, enabled: rule.enabled ?? true }
    if (
      before !== null &&
      isDeepStrictEqual({ ...content, version: 0, last_updated: 0 }, { ...before, version: 0, last_updated: 0 })
    ) {
      return before
    }
    return { ...content, version: before === null ? '1' : String(Number(before.version) + 1), last_updated: now }
  })
  return {
    id: present?.id ?? nextId(),
    name: body.name ?? 'default',
    description: body.description ?? '',
    kind: 'zone',
    phase: 'http_request_cache_settings',
    version: present === null ? '1' : String(Number(present.version) + 1),
    last_updated: now,
    rules
  }
}

/**
 * @param {any} rule
 * @param {string} where
 * @param {keyof typeof RULES_MAX} plan
 */
function checkRule (rule, where, plan) {
  unknownFields(rule, RULE_FIELDS)
  if (rule.action !== 'set_cache_settings') {
    throw refusal(400, 20_018, `'${rule.action}' is not a valid value for action because exceptions to the phase http_request_cache_settings are not allowed (${where})`)
  }
  const complaint = complaintAboutExpression(rule.expression)
  if (complaint) {
    throw refusal(400, 20_127, `'${rule.expression}' is not a valid value for expression because ${complaint} (${where})`)
  }
  const parameters = rule.action_parameters
  unknownFields(parameters, PARAMETERS)
  if (parameters.cache !== undefined && typeof parameters.cache !== 'boolean') {
    throw refusal(400, 20_124, `cache must be true or false (${where})`)
  }
  for (const [name, modes, least] of /** @type {const} */ ([
    ['edge_ttl', ['respect_origin', 'bypass_by_default', 'override_origin'], EDGE_TTL_MIN_S[plan]],
    ['browser_ttl', ['respect_origin', 'bypass_by_default', 'override_origin', 'bypass'], BROWSER_TTL_MIN_S[plan]]
  ])) {
    const ttl = parameters[name]
    if (ttl === undefined) continue
    if (parameters.cache === false) throw refusal(400, 20_124, `${name} cannot be set when cache is false (${where})`)
    unknownFields(ttl, ['mode', 'default', 'status_code_ttl'])
    if (
      !modes.includes(/** @type {never} */ (ttl.mode))
    ) throw refusal(400, 20_124, `'${ttl.mode}' is not a valid value for ${name}.mode (${where})`)
    if (
      ttl.mode === 'override_origin'
        ? !(Number.isInteger(ttl.default) && ttl.default >= least && ttl.default <= TTL_MAX_S)
        : ttl.default !== undefined
    ) {
      throw refusal(
        400,
        20_124,
        `${name}.default must be ${
          ttl.mode === 'override_origin'
            ? `a number of seconds from ${least} to ${TTL_MAX_S} on this plan`
            : `left out in the mode ${ttl.mode}`
        } (${where})`
      )
    }
  }
}
