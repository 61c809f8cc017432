import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { asctimeDate, imfDate, rfc850Date, startEdge } from './edge-helper.js'
import { model } from './freshness-model.js'
import { runLua } from './lua.js'

const JUDGE = `
  local freshness = require("freshness")
  local results = {}
  for index, case in ipairs(input) do results[index] = freshness.judge(case.response, case.options) end
  return results`
const BATCHES = 40
const BATCH = 250
const REAL_CASES = 300
const SEED = 20261121
const NOW_S = Math.floor(Date.parse('2026-11-21T12:00:00Z') / 1000)

const seconds = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 5000 }) },
  fc.constantFrom(0, 1, 60, 2 ** 31 - 1)
)
const argument = fc.oneof(
  { weight: 6, arbitrary: seconds.map((value) => ({ kind: /** @type {const} */ ('seconds'), value })) },
  fc.constantFrom('abc', '-5', '1.5', '', '6 0').map((text) => ({ kind: /** @type {const} */ ('invalid'), text })))
const directive = fc.oneof(
  fc.record({ name: fc.constantFrom('max-age', 's-maxage', 'stale-while-revalidate', 'stale-if-error'), argument }),
  fc.record({
    name: fc.constantFrom(
      'public', 'private', 'no-store', 'no-cache', 'must-revalidate', 'proxy-revalidate', 'must-understand',
      'immutable', 'no-transform'
    ),
    argument: fc.constant({ kind: /** @type {const} */ ('none') })
  }))
/** @param {fc.Arbitrary<any>} arbitrary */
const rarely = (arbitrary) => fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })
const meaning = fc.record({
  status: fc.constantFrom(200, 200, 200, 203, 206, 299, 301, 302, 404, 410, 500, 599),
  directives: fc.array(directive, { maxLength: 4 }),
  targeted: rarely(fc.array(directive, { minLength: 1, maxLength: 3 })),
  expiresInS: rarely(fc.oneof(fc.integer({ min: -1000, max: 5000 }), fc.constant(/** @type {const} */ ('invalid')))),
  expiresZone: fc.constantFrom(/** @type {const} */ ('GMT'), 'GMT', 'GMT', 'UTC', 'EST', '+0000'),
  dateAgoS: rarely(fc.integer({ min: 0, max: 2000 })),
  ageS: rarely(fc.integer({ min: 0, max: 6000 })),
  etag: fc.boolean(),
  modifiedAgoS: rarely(fc.integer({ min: 1, max: 2_000_000 })),
  vary: fc.constantFrom(/** @type {const} */ ('none'), 'none', 'none', 'name', 'star'),
  setCookie: fc.constantFrom(false, false, false, true),
  authorized: fc.constantFrom(false, false, false, true)
})
/** The spelling of a meaning: case, quotes, white space, lines. */
const spelling = fc.record({
  upper: fc.boolean(),
  quoted: fc.boolean(),
  separator: fc.constantFrom(',', ', ', ' ,\t', ', ,'),
  lines: fc.boolean(),
  form: fc.constantFrom(imfDate, rfc850Date, asctimeDate)
})
const profile = fc.constantFrom(/** @type {const} */ ('rfc9111'), 'cloudflare')

/**
 * @param {import('./freshness-model.js').Directive} directive
 * @param {{upper: boolean, quoted: boolean}} how
 * @param {boolean} dictionary
 */
function spell ({ name, argument }, { upper, quoted }, dictionary) {
  const spelled = upper && !dictionary ? name.toUpperCase() : name
  if (argument.kind === 'none') return spelled
  if (argument.kind === 'seconds') {
    return quoted && !dictionary ? `${spelled}="${argument.value}"` : `${spelled}=${argument.value}`
  }
  // In a dictionary a token is well-formed, but it is not a number.
  return dictionary ? `${spelled}=abc` : `${spelled}=${argument.text}`
}

/**
 * @param {import('./freshness-model.js').Meaning} what
 * @param {{upper: boolean, quoted: boolean, separator: string, lines: boolean, form: (date: Date) => string}} how
 * @param {number} nowS
 */
function fieldsOf (what, how, nowS) {
  const date = (/** @type {number} */ s) => new Date(s * 1000).toUTCString()
  const dateS = nowS - (what.dateAgoS ?? 0)
  const members = what.directives.map((item) => spell(item, how, false))
  /** @type {Record<string, string[]>} */
  const fields = {}
  if (members.length > 0) fields['cache-control'] = how.lines ? members : [members.join(how.separator)]
  if (what.targeted) fields['cdn-cache-control'] = [what.targeted.map((item) => spell(item, how, true)).join(', ')]
  if (what.expiresInS === 'invalid') fields.expires = ['0']
  else if (what.expiresInS !== null) {
    // The form of asctime has no zone.
    const form = what.expiresZone === 'GMT' ? how.form : imfDate
    fields.expires = [form(new Date((dateS + what.expiresInS) * 1000)).replace('GMT', what.expiresZone)]
  }
  if (what.dateAgoS !== null) fields.date = [date(dateS)]
  if (what.ageS !== null) fields.age = [String(what.ageS)]
  if (what.etag) fields.etag = ['"1"']
  if (what.modifiedAgoS !== null) fields['last-modified'] = [date(dateS - what.modifiedAgoS)]
  if (what.vary !== 'none') fields.vary = [what.vary === 'star' ? '*' : 'x-none']
  if (what.setCookie) fields['set-cookie'] = ['a=b']
  return fields
}

test(`freshness.lua agrees with a model of RFC 9111 on ${BATCHES * BATCH} random responses`, () => {
  fc.assert(fc.property(
    fc.array(fc.tuple(meaning, spelling, profile), { minLength: BATCH, maxLength: BATCH }),
    (cases) => {
      const judged = runLua(JUDGE, cases.map(([what, how, name]) => ({
        response: {
          status: what.status,
          fields: fieldsOf(what, how, NOW_S),
          requested_s: NOW_S,
          received_s: NOW_S,
          authorized: what.authorized
        },
        options: {
          cloudflare: name === 'cloudflare',
          default_ttls: name === 'cloudflare',
          heuristics: name === 'rfc9111'
        }
      })))
      for (const [index, [what, how, name]] of cases.entries()) {
        const {
          storable,
          lifetime_s: lifetimeS,
          initial_age_s: ageS,
          always_validate: always,
          stale_forbidden: staleForbidden
        } = judged[index]
        const actual = { storable, reusable: storable && lifetimeS > ageS && !always, lifetimeS, staleForbidden }
        assert.deepEqual(
          actual,
          model(what, name),
          JSON.stringify({ what, fields: fieldsOf(what, how, NOW_S), name })
        )
      }
    }
  ), { numRuns: BATCHES, seed: SEED, endOnFailure: true })
})

for (const name of /** @type {const} */ (['rfc9111', 'cloudflare'])) {
  test(`a real edge agrees with the model in ${name} on ${REAL_CASES} random responses`, async (t) => {
    // Some seconds may pass between a response and its reuse, so cases near the end of the lifetime are left out.
    const cases = fc.sample(fc.tuple(meaning, spelling), { numRuns: REAL_CASES, seed: SEED })
      .map(([what, how]) => /** @type {const} */ ([{ ...what, authorized: false }, how]))
      .filter(([what]) =>
        Math.abs(model(what, name).lifetimeS - Math.max(what.dateAgoS ?? 0, what.ageS ?? 0)) > 20 ||
        !model(what, name).reusable)
    const edge = await startEdge(t, (request, response) => {
      const [what, how] = cases[Number(request.url?.slice(1))]
      response.sendDate = what.dateAgoS !== null
      response.writeHead(what.status, fieldsOf(what, how, Math.floor(Date.now() / 1000))).end('body')
    }, { profile: name })
    for (const [index, [what, how]] of cases.entries()) {
      await edge.get(`/${index}`)
      const second = await edge.get(`/${index}`)
      assert.equal(
        second.cache === 'HIT',
        model(what, name).reusable,
        `${second.cache} ${JSON.stringify({ what, fields: fieldsOf(what, how, 0) })}`
      )
    }
  })
}
