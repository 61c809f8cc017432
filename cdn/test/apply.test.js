import assert from 'node:assert/strict'
import { test } from 'node:test'
import { carryOut, makePlan } from '../src/cloudflare/apply.js'
import { createClient } from '../src/cloudflare/client.js'
import { planLines } from '../src/cloudflare/text.js'
import { startFake, TOKEN } from './fake/cloudflare.js'

const WISH = { zone: 'example.com', origin: '203.0.113.7' }
const QUICK = { pauseMs: 1, timeoutMs: 10_000 }

/**
 * @param {import('./fake/cloudflare.js').Fake} fake
 * @param {object} [options]
 */
const clientOf = (fake, options = {}) => createClient({ token: TOKEN, apiUrl: fake.url, ...QUICK, ...options })

/**
 * @param {import('../src/cloudflare/client.js').Client} client
 * @param {'apply' | 'destroy'} kind
 * @param {import('../src/cloudflare/apply.js').Wish} [wish]
 */
const doIt = async (client, kind, wish = WISH) => carryOut(client, wish, await makePlan(client, kind, wish))

/** Adds rules and records that are not ours. @param {import('./fake/cloudflare.js').Fake} fake */
function furnish (fake) {
  fake.addRecord({ type: 'A', name: 'example.com', content: '198.51.100.1', proxied: true, ttl: 1 })
  fake.addRecord({ type: 'MX', name: 'example.com', content: 'mail.example.com', ttl: 3600, priority: 10 })
  fake.addRecord({
    type: 'TXT',
    name: 'wiki.example.com',
    content: 'somebody was here',
    ttl: 120,
    comment: 'managed by hand'
  })
  fake.addRecord({
    type: 'CNAME',
    name: 'shop.example.com',
    content: 'shop.example.net',
    proxied: true,
    ttl: 1,
    comment: 'managed by stevecs cousin'
  })
  fake.writeRules([
    {
      action: 'set_cache_settings',
      expression: '(http.host eq "shop.example.com" and not starts_with(http.request.uri.path, "/cart"))',
      action_parameters: { cache: true, edge_ttl: { mode: 'override_origin', default: 7200 } },
      description: 'shop'
    },
    {
      action: 'set_cache_settings',
      expression: 'http.request.uri.path contains "\\"quoted\\""',
      action_parameters: { cache: false },
      enabled: false,
      ref: 'mine'
    }
  ], { description: 'the rules of the shop' })
}

test('plan lists all changes but makes none; apply makes them; a second apply has nothing to do', async (t) => {
  const fake = await startFake(t)
  const client = clientOf(fake)
  const plan = await makePlan(client, 'apply', WISH)
  assert.deepEqual(fake.writes(), [])
  const lines = planLines(plan).join('\n')
  for (const line of [
    '+ cache rule stevec_cached', '+ cache rule stevec_personal', '+ cache rule stevec_nocache',
    '~ setting tiered_cache_smart_topology_enable',
    '+ DNS record wiki.example.com', '+ DNS record nocache.example.com', '+ DNS record source.example.com',
    'note: brotli is on', 'example.com: 7 changes'
  ]) {
    assert.ok(lines.includes(line), `${line}\n${lines}`)
  }

  await carryOut(client, WISH, plan)
  assert.deepEqual(
    fake.zone.records.map(({ name, type, content, proxied, comment }) => [name, type, content, proxied, comment]),
    [
      ['wiki.example.com', 'A', '203.0.113.7', true, 'managed by stevec: cached'],
      ['nocache.example.com', 'A', '203.0.113.7', true, 'managed by stevec: nocache'],
      ['source.example.com', 'A', '203.0.113.7', false, 'managed by stevec: source']
    ]
  )
  assert.deepEqual(
    fake.zone.rulesets.at(-1).rules
      .map((/** @type {any} */ { ref, action_parameters: parameters }) => [ref, parameters]),
    [
      [
        'stevec_cached',
        {
          cache: true,
          edge_ttl: { mode: 'respect_origin' },
          browser_ttl: { mode: 'respect_origin' },
          respect_strong_etags: true
        }
      ],
      ['stevec_personal', { cache: false }],
      ['stevec_nocache', { cache: false }]
    ]
  )
  assert.equal(fake.zone.tiered, 'off')
  assert.equal(fake.zone.settings.brotli, 'on', 'unchanged without --tune')

  const before = fake.snapshot()
  const writes = fake.writes().length
  const again = await doIt(client, 'apply')
  assert.deepEqual(again.steps, [])
  assert.equal(fake.writes().length, writes)
  assert.equal(fake.snapshot(), before)
})

for (const tune of [false, true]) {
  test(`destroy after apply${tune ? ' --tune' : ''} restores rules, records and settings byte for byte`, async (t) => {
    const fake = await startFake(t)
    furnish(fake)
    const before = fake.snapshot()
    const client = clientOf(fake)
    const wish = { ...WISH, tune }
    await doIt(client, 'apply', wish)
    assert.deepEqual(
      fake.zone.rulesets.at(-1).rules.map((/** @type {any} */ { ref }) => ref).slice(-4),
      ['mine', 'stevec_cached', 'stevec_personal', 'stevec_nocache']
    )
    assert.equal(fake.zone.rulesets.at(-1).description, 'the rules of the shop')
    assert.equal(fake.zone.settings.email_obfuscation, tune ? 'off' : 'on')
    await doIt(client, 'apply', wish)
    await doIt(client, 'destroy', wish)
    assert.equal(fake.snapshot(), before)
    assert.deepEqual((await doIt(client, 'destroy', wish)).steps, [], 'a second destroy has nothing to do')
  })
}

test('a zone that had no cache rules before apply has none after destroy', async (t) => {
  const fake = await startFake(t)
  const before = fake.snapshot()
  const client = clientOf(fake)
  await doIt(client, 'apply')
  await doIt(client, 'destroy')
  assert.equal(fake.snapshot(), before)
  assert.deepEqual(fake.zone.rulesets, [])
})

test('apply corrects manual changes and moves our rules to the end; destroy restores the settings', async (t) => {
  const fake = await startFake(t)
  const client = clientOf(fake)
  await doIt(client, 'apply', { ...WISH, tune: true })
  const [cached, ...rest] = fake.zone.rulesets.at(-1).rules
  fake.writeRules(
    [
      { ...cached, enabled: false },
      ...rest,
      { action: 'set_cache_settings', expression: 'true', action_parameters: { cache: false } }
    ],
    { description: 'made by stevec' }
  )
  fake.zone.records[0].proxied = false
  const plan = await doIt(client, 'apply', { ...WISH, tune: true })
  assert.deepEqual(
    plan.steps.flatMap(({ changes }) => changes.map(({ action, what }) => `${action} ${what}`)),
    ['update cache rule stevec_cached', 'update DNS record wiki.example.com']
  )
  assert.equal(fake.zone.rulesets.at(-1).rules.at(-1).ref, 'stevec_nocache', 'our rules are the last ones')

  const rules = fake.zone.rulesets.at(-1).rules
  fake.writeRules([...rules.slice(1), rules[0]], { description: 'made by stevec' })
  assert.deepEqual(
    (await makePlan(client, 'apply', WISH)).steps.flatMap(({ changes }) => changes.map(({ action }) => action)),
    ['move']
  )

  fake.zone.tiered = 'on'
  fake.zone.settings.brotli = 'off'
  fake.zone.settings.always_online = 'on'
  const destroyed = await doIt(client, 'destroy')
  assert.equal(fake.zone.tiered, 'on')
  assert.equal(fake.zone.settings.brotli, 'on')
  assert.equal(fake.zone.settings.email_obfuscation, 'on')
  assert.deepEqual(destroyed.conflicts, [])
  assert.equal(fake.zone.rulesets.at(-1).rules.length, 1, 'the rule that is not ours stays')
})

test('apply moves the doors to other names and to other types of origin', async (t) => {
  const fake = await startFake(t)
  const client = clientOf(fake)
  await doIt(client, 'apply')
  await doIt(client, 'apply', { ...WISH, origin: 'Home.example.net.', names: 'w,n,source' })
  assert.deepEqual(fake.zone.records.map(({ name, type, content }) => [name, type, content]).sort(), [
    ['n.example.com', 'CNAME', 'home.example.net'],
    ['source.example.com', 'CNAME', 'home.example.net'],
    ['w.example.com', 'CNAME', 'home.example.net']
  ])
  await doIt(client, 'apply', { ...WISH, origin: '2001:DB8::0:7' })
  assert.deepEqual(fake.zone.records.map(({ name, type, content }) => [name, type, content]).sort(), [
    ['nocache.example.com', 'AAAA', '2001:db8::7'],
    ['source.example.com', 'AAAA', '2001:db8::7'],
    ['wiki.example.com', 'AAAA', '2001:db8::7']
  ])
  assert.deepEqual((await makePlan(client, 'apply', { ...WISH, origin: '2001:db8::7' })).steps, [])
})

test('a name in use, or too little room for our rules, is a conflict, and nothing is written', async (t) => {
  const fake = await startFake(t)
  fake.addRecord({ type: 'A', name: 'wiki.example.com', content: '198.51.100.9' })
  fake.writeRules(
    Array.from({ length: 8 }, (_rule, index) => ({
      action: 'set_cache_settings',
      expression: `http.host eq "h${index}.example.com"`,
      action_parameters: { cache: false }
    }))
  )
  const client = clientOf(fake)
  const plan = await makePlan(client, 'apply', WISH)
  assert.match(
    plan.conflicts.join('\n'),
    /room for 10 cache rules; 8 are there, and ours are 3\nwiki\.example\.com has a A record that is not ours \(198\.51\.100\.9\); choose other --names/
  )
  await assert.rejects(carryOut(client, WISH, plan), /nothing was done: the plan free has room/)
  assert.deepEqual(fake.writes(), [])
})

for (const [what, change] of /** @type {[string, (fake: import('./fake/cloudflare.js').Fake) => void][]} */ ([
  [
    'a cache rule',
    (fake) =>
      fake.writeRules([{ action: 'set_cache_settings', expression: 'ssl', action_parameters: { cache: false } }])
  ],
  [
    'a DNS record with one of our names',
    (fake) => fake.addRecord({ type: 'TXT', name: 'source.example.com', content: 'new' })
  ],
  ['a setting', (fake) => { fake.zone.settings.brotli = 'off' }]
])) {
  test(`apply writes nothing if ${what} has changed since the plan`, async (t) => {
    const fake = await startFake(t)
    const client = clientOf(fake)
    const plan = await makePlan(client, 'apply', WISH)
    change(fake)
    await assert.rejects(
      carryOut(client, WISH, plan),
      /nothing was done: the zone has changed since the plan was made; make a new plan/
    )
    assert.deepEqual(fake.writes(), [])
  })
}

for (const created of [false, true]) {
  test(`a rule added between our read and write is kept${created ? ' (first in the zone)' : ''}`, async (t) => {
    const fake = await startFake(t)
    if (!created) furnish(fake)
    const others = () =>
      (fake.zone.rulesets.at(-1)?.rules ?? [])
        .filter((/** @type {any} */ { ref }) => !ref.startsWith('stevec_'))
        .map((/** @type {any} */ { expression, action_parameters: parameters }) => ({ expression, parameters }))
    const added = {
      action: 'set_cache_settings',
      expression: '(http.host eq "new.example.com")',
      action_parameters: { cache: true },
      ref: 'just_added'
    }
    const expected = [...others(), { expression: added.expression, parameters: added.action_parameters }]
    fake.fail({
      match: /^PUT .*entrypoint/,
      how: 'before',
      run: () => fake.writeRules([...(fake.zone.rulesets.at(-1)?.rules ?? []), added], { description: 'theirs' })
    })
    await doIt(clientOf(fake), 'apply')
    assert.deepEqual(others(), expected)
    assert.equal(fake.zone.rulesets.at(-1).description, 'theirs')
    assert.deepEqual(
      fake.zone.rulesets.at(-1).rules.slice(-3).map((/** @type {any} */ { ref }) => ref),
      ['stevec_cached', 'stevec_personal', 'stevec_nocache']
    )
  })
}

test('apply and destroy that are interrupted at any write reach the same state when they run again', async (t) => {
  const whole = await startFake(t)
  furnish(whole)
  const untouched = whole.snapshot()
  await doIt(clientOf(whole), 'apply')
  const writes = whole.writes().length
  /** Returns the zone without ids, versions and times. @param {import('./fake/cloudflare.js').Fake} fake */
  const state = (fake) => ({
    records: fake.zone.records.map(({ name, type, content, proxied, ttl, comment }) =>
      ({ name, type, content, proxied, ttl, comment })),
    rules: fake.zone.rulesets.at(-1).rules
      .map((/** @type {any} */ { id: _id, version: _version, last_updated: _at, ...rule }) => rule)
      .map((/** @type {any} */ rule) => /^[0-9a-f]{32}$/.test(rule.ref) ? { ...rule, ref: 'id' } : rule),
    settings: fake.zone.settings,
    tiered: fake.zone.tiered
  })
  assert.equal(writes, 5)
  for (let kill = 0; kill < writes; kill++) {
    for (const done of [false, true]) {
      const fake = await startFake(t)
      furnish(fake)
      const killing = new AbortController()
      // Kills before the request arrives, or after it was carried out.
      fake.fail(
        done
          ? { match: /^(PUT|POST|PATCH|DELETE) /, skip: kill, how: 'lost' }
          : { match: /^(PUT|POST|PATCH|DELETE) /, skip: kill, how: 'stall' }
      )
      const running = doIt(clientOf(fake, { signal: killing.signal, attemptsMax: 1 }), 'apply')
      const outcome = assert.rejects(running)
      while (fake.writes().length <= kill) await new Promise((resolve) => setImmediate(resolve))
      killing.abort()
      await outcome
      await doIt(clientOf(fake), 'apply')
      assert.deepEqual(
        state(fake),
        state(whole),
        `apply interrupted at write ${kill + 1}, ${done ? 'after' : 'before'} it was done`
      )

      if (!done) {
        await fake.stop()
        continue
      }
      fake.fail({ match: /^(PUT|POST|PATCH|DELETE) /, skip: kill, how: 'lost' })
      await doIt(clientOf(fake, { attemptsMax: 1 }), 'destroy', WISH).catch(() => {})
      await doIt(clientOf(fake), 'destroy', WISH)
      assert.equal(fake.snapshot(), untouched, `destroy interrupted at write ${kill + 1}`)
      await fake.stop()
    }
  }
})

test('invalid parameters are refused before any write', async (t) => {
  const fake = await startFake(t)
  const client = clientOf(fake)
  for (const [wish, message] of /** @type {[Partial<typeof WISH> & {names?: string}, RegExp][]} */ ([
    [{ origin: '192.168.1.5' }, /cannot be reached from the internet/],
    [{ origin: '::1' }, /cannot be reached from the internet/],
    [{ origin: 'http://home.example.net' }, /a public IP address or a host name/],
    [{ origin: 'wiki.example.com' }, /is one of the doors/],
    [{ names: 'wiki,nocache' }, /three different labels/],
    [{ names: 'wiki,wiki,source' }, /three different labels/],
    [{ names: 'a.b,nocache,source' }, /three different labels/],
    [{ names: '*,nocache,source' }, /three different labels/],
    [{ zone: 'example.com" or true' }, /the zone is a domain/],
    [{ zone: 'other.org' }, /the token has access to no zone other\.org/]
  ])) {
    await assert.rejects(makePlan(client, 'apply', { ...WISH, ...wish }), message)
  }
  assert.deepEqual(fake.writes(), [])
})
