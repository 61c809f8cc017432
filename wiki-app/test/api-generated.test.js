import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import test from 'node:test'
import fc from 'fast-check'
import { get, useWiki } from './helper.js'
import { png } from './images.js'
import { bearer, peopleOnly } from './people.js'

const load = createRequire(
  createRequire(createRequire(import.meta.url).resolve('fastify')).resolve('@fastify/ajv-compiler')
)
const [Ajv, addFormats] = [load('ajv/dist/2020').default, load('ajv-formats')]
const ajv = addFormats(new Ajv({ strict: false }))

const wiki = useWiki()

/** An idle machine needs a tenth of this time. A busy one skips the remaining calls. */
const CALLS = 300
const TIME_MAX_MS = 15_000

const WORDS = [
  'a', 'b', 'Handbook/Writing', 'stevec', '', ' ', '..', '.', '/', 'a//b', 'a\\b',
  '%', '%00', '\0', '\u200B', '\u202E', '{"$gt":""}', '$where', '__proto__', 'constructor', '<script>',
  '-1', '1e9', 'null', '[]', 'é'.repeat(201), 'x'.repeat(3_000)
]
const text = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ maxLength: 10 })
)
const anything = fc.oneof(
  text,
  fc.jsonValue({ maxDepth: 2 }),
  fc.integer(),
  fc.constant({ $ne: 1 }),
  fc.constant({ __proto__: null, toString: 1 })
)

/**
 * Generates values that mostly match a schema of the OpenAPI document.
 * @param {any} schema
 * @returns {fc.Arbitrary<unknown>}
 */
function valueOf (schema) {
  const examples = schema.examples?.length > 0 ? [{ weight: 3, arbitrary: fc.constantFrom(...schema.examples) }] : []
  return fc.oneof(...examples, { weight: 4, arbitrary: fitting(schema) }, { weight: 1, arbitrary: anything })
}

/** @param {any} schema @returns {fc.Arbitrary<unknown>} */
function fitting ({
  type, enum: choices, properties = {}, required = [], items = {}, minimum = -5, maximum = 5, maxItems = 3, anyOf
}) {
  if (choices) return fc.constantFrom(...choices)
  if (anyOf) return fc.oneof(...anyOf.map(fitting))
  switch (type) {
    case 'object': return fc.record(
      Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, valueOf(each)])),
      { requiredKeys: required }
    )
    case 'array': return fc.array(valueOf(items), { maxLength: maxItems })
    case 'integer': return fc.integer({ min: minimum, max: Math.min(maximum, 20) })
    default: return text
  }
}

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{calls: number, isOne?: (operation: {tags: string[]}) => boolean, by?: Record<string, string>}} how  `isOne`:
 *   of the operations that are called; `by`: headers of each call
 */
async function callAtRandom (app, { calls, isOne = () => true, by = {} }) {
  const document = (await get(app, '/api/v1/openapi.json')).json()
  const validators = new Map()
  const isDescribed = (/** @type {string} */ key, /** @type {object} */ schema, /** @type {unknown} */ value) => {
    if (!validators.has(key)) {
      const own = JSON.stringify({ ...schema, $defs: document.components.schemas })
      validators.set(key, ajv.compile(JSON.parse(own.replaceAll('#/components/schemas/', '#/$defs/'))))
    }
    return validators.get(key)(value)
  }
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })))
    .filter(isOne)
  const call = fc.constantFrom(...operations).chain(({ path, method, parameters = [], requestBody, responses }) => {
    const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
    const bytes = fc.oneof(fc.constant(png()), fc.uint8Array({ maxLength: 50 }).map((array) => Buffer.from(array)))
    const json = media && fc.oneof({ weight: 5, arbitrary: valueOf(media.schema) }, { weight: 1, arbitrary: anything })
      .map((value) => JSON.stringify(value) ?? '')
    return fc.record({
      values: fc.tuple(...parameters.map((/** @type {any} */ { schema, required }) =>
        required ? valueOf(schema) : fc.option(valueOf(schema), { nil: undefined, freq: 2 }))),
      body: media === undefined
        ? fc.constant(undefined)
        : fc.oneof(
          { weight: 5, arbitrary: type === 'application/json' ? json : bytes },
          { weight: 1, arbitrary: fc.constant(undefined) }
        ),
      type: fc.oneof(
        { weight: 6, arbitrary: fc.constant(type) },
        { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/json', 'application/zip', '') }
      ),
      conditions: fc.record({
        'if-match': fc.constantFrom('*', '"v1-1"', 'W/"x"', ','),
        'if-none-match': fc.constantFrom('*', '"v1-1"', '"')
      }, { requiredKeys: [] })
    }).map((parts) => ({ path, method, parameters, responses, ...parts }))
  })

  const seen = new Map()
  await fc.assert(fc.asyncProperty(call, async ({
    path: template, method, parameters, responses, values, body, type, conditions
  }) => {
    const query = new URLSearchParams()
    let url = document.servers[0].url + template
    for (const [index, { name, in: place }] of parameters.entries()) {
      if (values[index] === undefined) continue
      const value = typeof values[index] === 'string' ? values[index] : JSON.stringify(values[index])
      if (place === 'path') url = url.replace(`{${name}}`, () => encodeURIComponent(value))
      else query.set(name, value)
    }
    if (query.size > 0) url += `?${query}`
    const headers = { ...by, ...conditions, ...(type !== undefined && { 'content-type': type }) }
    const payload = /** @type {string | Buffer | undefined} */ (body)
    const answer = await app.inject({ method: /** @type {'GET'} */ (method), url, headers, payload })
    const label = `${method} ${url.slice(0, 300)} ${type} ${String(body).slice(0, 300)}: ` +
      `${answer.statusCode} ${answer.body.slice(0, 300)}`
    assert.ok(answer.statusCode < 500, label)
    seen.set(answer.statusCode, (seen.get(answer.statusCode) ?? 0) + 1)
    // With an empty name, or one that is a dot segment, the URL belongs to another route.
    if (answer.statusCode === 405 || (answer.statusCode === 404 && /\/\.{0,2}(?:\/|\?|$)/.test(url))) return
    const described = responses[answer.statusCode]
    assert.ok(described, `not in the OpenAPI document: ${label}`)
    const mediaType = String(answer.headers['content-type']).split(';')[0]
    if (described.content === undefined) return assert.equal(answer.body, '', label)
    assert.ok(described.content[mediaType], label)
    if (/json$/.test(mediaType)) {
      const key = `${method} ${template} ${answer.statusCode}`
      assert.ok(isDescribed(key, described.content[mediaType].schema, answer.json()), label)
    }
  }), { numRuns: calls, seed: 3316, interruptAfterTimeLimit: TIME_MAX_MS, markInterruptAsFailure: false })
  for (const status of [200, 201, 400, 404]) assert.ok(seen.has(status), `no status ${status} among ${[...seen]}`)
}

test('generated API calls get no 5xx and only responses that the OpenAPI document describes', async (t) => {
  await callAtRandom(await wiki.build(t), { calls: CALLS })
})

test('so do generated calls about private spaces', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  await callAtRandom(app, { calls: CALLS, isOne: ({ tags }) => tags.includes('spaces'), by: bearer('admin') })
})
