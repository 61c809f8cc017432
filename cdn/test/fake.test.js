// The fake must refuse what Cloudflare refuses; otherwise tests that use it prove little.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Cloudflare from 'cloudflare'
import { complaintAboutExpression } from './fake/expression.js'
import { startFake, TOKEN } from './fake/cloudflare.js'

const RULE = { action: 'set_cache_settings', expression: 'true', action_parameters: { cache: true } }

test('the fake accepts valid expressions and refuses invalid ones', () => {
  for (const good of [
    'true', 'ssl', 'not ssl', '(http.host eq "a")',
    'http.host == "a" and (http.request.uri.path in {"/a" "/b"} ' +
      'or starts_with(lower(http.request.uri.path), "/c")) xor !ssl',
    'http.request.uri.path contains "\\"q\\""', 'http.request.uri.path wildcard "/a/*"'
  ]) {
    assert.equal(complaintAboutExpression(good), null, good)
  }
  for (const bad of [
    '',
    ' ',
    'http.hst eq "a"',
    'http.host',
    'http.host eq a',
    'http.host eq "a',
    '(http.host eq "a"',
    'http.host eq "a")',
    'http.host in {}',
    'http.host in ("a")',
    'starts_with(http.host)',
    'starts_with("a", http.host)',
    'http.host eq "a" and',
    'eq "a"',
    'http.host eq "a" ; true',
    42,
    'true '.repeat(2),
    `${'('.repeat(60)}true${')'.repeat(60)}`,
    `http.host eq "${'a'.repeat(5000)}"`
  ]) {
    assert.notEqual(complaintAboutExpression(bad), null, String(bad))
  }
})

test('the fake refuses what Cloudflare refuses, with Cloudflare\'s status, code and error envelope', async (t) => {
  const fake = await startFake(t)
  const api = new Cloudflare({ apiToken: TOKEN, baseURL: `${fake.url}/client/v4`, maxRetries: 0 })
  const zoneId = fake.zone.id
  const rules = (/** @type {any[]} */ ...list) =>
    api.rulesets.phases.update('http_request_cache_settings', { zone_id: zoneId, rules: list })
  const record = (/** @type {any} */ body) => api.dns.records.create({ zone_id: zoneId, ...body })
  await record({ type: 'A', name: 'a.example.com', content: '203.0.113.1', ttl: 1 })
  for (const [call, status, code] of /** @type {[() => PromiseLike<unknown>, number, number][]} */ ([
    [() => rules({ ...RULE, expression: 'http.host eq' }), 400, 20_127],
    [() => rules({ ...RULE, action: 'block' }), 400, 20_018],
    [() => rules({ ...RULE, surprise: 1 }), 400, 6003],
    [() => rules({ ...RULE, id: '0'.repeat(32) }), 400, 20_119],
    [() => rules({ ...RULE, ref: 'a' }, { ...RULE, ref: 'a' }), 400, 20_128],
    [
      () => rules({ ...RULE, action_parameters: { cache: true, edge_ttl: { mode: 'override_origin', default: 60 } } }),
      400,
      20_124
    ],
    [
      () => rules({ ...RULE, action_parameters: { cache: true, edge_ttl: { mode: 'respect_origin', default: 7200 } } }),
      400,
      20_124
    ],
    [() => rules({ ...RULE, action_parameters: { cache: false, edge_ttl: { mode: 'respect_origin' } } }), 400, 20_124],
    [() => rules({ ...RULE, action_parameters: { cache: true, browser_ttl: { mode: 'respect' } } }), 400, 20_124],
    [() => rules(...Array.from({ length: 11 }, () => RULE)), 400, 20_217],
    [() => api.rulesets.phases.get('http_request_cache_settings', { zone_id: zoneId }), 404, 10_003],
    [() => record({ type: 'A', name: 'a.example.com', content: '203.0.113.1', ttl: 1 }), 400, 81_058],
    [() => record({ type: 'CNAME', name: 'a.example.com', content: 'b.example.net', ttl: 1 }), 400, 81_054],
    [() => record({ type: 'A', name: 'b.example.com', content: '203.0.113', ttl: 1 }), 400, 9005],
    [() => record({ type: 'A', name: 'b.example.org', content: '203.0.113.1', ttl: 1 }), 400, 9007],
    [() => record({ type: 'A', name: 'b.example.com', content: '203.0.113.1', ttl: 30 }), 400, 9021],
    [() => record({ type: 'TXT', name: 'b.example.com', content: 'x', ttl: 1, proxied: true }), 400, 9004],
    [() => record({ type: 'A', name: 'b.example.com', content: '10.0.0.1', ttl: 1, proxied: true }), 400, 9003],
    [
      () => record({ type: 'A', name: 'b.example.com', content: '203.0.113.1', ttl: 1, comment: 'x'.repeat(101) }),
      400,
      9212
    ],
    [() => record({ type: 'A', name: 'b.example.com', content: '203.0.113.1', ttl: 1, surprise: 1 }), 400, 6003],
    [() => api.dns.records.delete('0'.repeat(32), { zone_id: zoneId }), 404, 81_044],
    [() => api.zones.settings.edit(/** @type {any} */ ('minify'), { zone_id: zoneId, value: 'off' }), 400, 1003],
    [() => api.zones.settings.edit('brotli', { zone_id: zoneId, value: 'perhaps' }), 400, 1007],
    [() => api.cache.purge({ zone_id: zoneId, files: [] }), 400, 1095],
    [() => api.cache.purge(/** @type {any} */ ({ zone_id: zoneId, purge_everything: true, tags: ['a'] })), 400, 1012],
    [() => api.cache.purge({ zone_id: zoneId, prefixes: ['https://wiki.example.com/a'] }), 400, 1048],
    [
      () => api.cache.purge({ zone_id: zoneId, tags: Array.from({ length: 101 }, (_tag, index) => `t${index}`) }),
      400,
      1095
    ]
  ])) {
    await assert.rejects(async () => { await call() }, (/** @type {any} */ error) => {
      assert.deepEqual([error.status, error.errors[0].code], [status, code], `${call}: ${error.message}`)
      assert.equal(error.error.success, false)
      return true
    })
  }
})

test('lists are paginated, and a call over the rate limit gets 429 with Retry-After', async (t) => {
  const fake = await startFake(t, { limits: { calls_bucket: 1, calls_per_s: 0.1 } })
  for (let index = 0; index < 45; index++) {
    fake.addRecord({ type: 'A', name: `h${index}.example.com`, content: '203.0.113.1' })
  }
  const api = new Cloudflare({ apiToken: TOKEN, baseURL: `${fake.url}/client/v4`, maxRetries: 0 })
  const names = []
  for await (const { name } of api.dns.records.list({ zone_id: fake.zone.id, per_page: 20 })) names.push(name)
  assert.equal(new Set(names).size, 45)
  await api.cache.purge({ zone_id: fake.zone.id, tags: ['a'] })
  await assert.rejects(
    async () => { await api.cache.purge({ zone_id: fake.zone.id, tags: ['a'] }) },
    (/** @type {any} */ error) => error.status === 429 && Number(error.headers.get('retry-after')) >= 9
  )
})
