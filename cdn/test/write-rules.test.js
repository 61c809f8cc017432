// Other users write the cache rules at the same time, and responses to our writes are lost.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { carryOut, makePlan } from '../src/cloudflare/apply.js'
import { createClient } from '../src/cloudflare/client.js'
import { mergeRules } from '../src/cloudflare/merge.js'
import { startFake, TOKEN } from './fake/cloudflare.js'

const WISH = { zone: 'example.com', origin: '203.0.113.7' }
const OURS = ['stevec_cached', 'stevec_personal', 'stevec_nocache']
const PUT = /^PUT .*entrypoint$/
const GET = /^GET .*entrypoint$/

/** @typedef {import('./fake/cloudflare.js').Fake} Fake */
/** @typedef {(rules: any[]) => any[]} Edit */

/** @param {string} name */
const rule = (name, cache = true) => ({
  action: 'set_cache_settings',
  description: name,
  expression: `(http.host eq "${name}.example.com")`,
  action_parameters: { cache }
})

/** @param {Fake} fake @returns {any[]} */
const rulesOf = (fake) => fake.zone.rulesets.at(-1)?.rules ?? []

/** @param {Fake} fake */
const othersOf = (fake) => rulesOf(fake).filter(({ ref }) => !OURS.includes(ref))

/** Writes rules as another user. @param {Fake} fake @param {Edit} edit */
const edit = (fake, edit) =>
  fake.writeRules(edit(rulesOf(fake)), { description: fake.zone.rulesets.at(-1)?.description ?? 'theirs' })

/** @type {(name: string) => Edit} */
const add = (name) => (rules) => [...rules, rule(name)]
/** @type {(name: string) => Edit} */
const remove = (name) => (rules) => rules.filter(({ description }) => description !== name)
/** @type {(name: string) => Edit} */
const change = (name) => (rules) =>
  rules.map((found) => found.description === name ? { ...rule(name, false), id: found.id } : found)
/** @type {Edit} */
const reverse = (rules) => [...rules].reverse()

/** @param {import('node:test').TestContext} t @param {string[]} names  of others' rules, all with `cache: true` */
async function startWith (t, names) {
  const fake = await startFake(t)
  if (names.length > 0) fake.writeRules(names.map((name) => rule(name)), { description: 'theirs' })
  return { fake, client: createClient({ token: TOKEN, apiUrl: fake.url, pauseMs: 1, timeoutMs: 10_000 }) }
}

/** @param {import('../src/cloudflare/client.js').Client} client @param {'apply' | 'destroy'} kind */
const doIt = async (client, kind) => carryOut(client, WISH, await makePlan(client, kind, WISH))

/** @typedef {{how: 'lost' | 'before', edits: Edit[]}} Write  edits by others before our write; how it ends */

/** @param {...Edit} edits @returns {Write} */
const lost = (...edits) => ({ how: 'lost', edits })
/** @param {...Edit} edits @returns {Write} */
const answered = (...edits) => ({ how: 'before', edits })

describe('other users write the cache rules before our write or our retry', { concurrency: 2 }, () => {
  // An exclamation mark after a name means that the rule is changed.
  for (const [what, writes, expected] of /** @type {[string, Write[], string[]][]} */ ([
    ['they add a rule before our write', [lost(add('new'))], ['a', 'b', 'new']],
    ['they add a rule before our retry', [lost(), answered(add('new'))], ['a', 'b', 'new']],
    ['they add rules before our write and retry', [lost(add('one')), answered(add('two'))], ['a', 'b', 'one', 'two']],
    ['they add a rule before each of three writes', [lost(add('x')), lost(add('y')), answered(add('z'))], [...'abxyz']],
    ['they add two rules one after the other', [lost(add('one'), add('two'))], ['a', 'b', 'one', 'two']],
    ['they add a rule as the first one', [lost((rules) => [rule('new'), ...rules])], ['new', 'a', 'b']],
    ['they add a rule between two others', [lost(([a, ...rest]) => [a, rule('new'), ...rest])], ['a', 'new', 'b']],
    ['they move a rule before our write', [lost(([a, b, ...rest]) => [b, a, ...rest])], ['b', 'a']],
    ['they change a rule before our write', [lost(change('a'))], ['a!', 'b']],
    ['they change a rule before our retry', [lost(), answered(change('a'))], ['a!', 'b']],
    ['they change rules before our write and retry', [lost(change('a')), answered(change('b'))], ['a!', 'b!']],
    ['they remove a rule before our write', [lost(remove('a'))], ['b']],
    ['they remove a rule before our retry', [lost(), answered(remove('a'))], ['b']],
    ['they remove a rule before our write and add one before our retry', [lost(remove('a')), answered(add('new'))],
      ['b', 'new']],
    ['they add a rule before our retry and remove it again', [lost(), answered(add('new'), remove('new'))], ['a', 'b']],
    ['they remove a rule while we restore it', [answered(add('new')), lost(), lost(remove('new'))], ['a', 'b']],
    ['they change a rule while we restore it', [answered(add('n')), lost(), lost(change('n'))], ['a', 'b', 'n!']]
  ])) {
    test(what, async (t) => {
      const { fake, client } = await startWith(t, ['a', 'b'])
      const ids = new Map(othersOf(fake).map(({ description, id }) => [description, id]))
      for (const { how, edits } of writes) {
        fake.fail({ match: PUT, how, run: () => edits.forEach((one) => edit(fake, one)) })
      }
      await doIt(client, 'apply')
      const others = othersOf(fake)
      const found = others.map(({ description, action_parameters: { cache } }) => description + (cache ? '' : '!'))
      assert.deepEqual(found, expected)
      assert.deepEqual(rulesOf(fake).slice(-OURS.length).map(({ ref }) => ref), OURS)
      for (const { description, id } of others) if (ids.has(description)) assert.equal(id, ids.get(description))
      assert.equal(fake.zone.rulesets.at(-1).description, 'theirs')
      assert.deepEqual((await makePlan(client, 'apply', WISH)).steps, [])
    })
  }
})

test('the first rule of a zone is kept when it is added before a write whose response is lost', async (t) => {
  const { fake, client } = await startWith(t, [])
  fake.fail({ match: PUT, how: 'lost', run: () => edit(fake, add('new')) })
  await doIt(client, 'apply')
  assert.deepEqual(othersOf(fake).map(({ description }) => description), ['new'])
  assert.deepEqual(rulesOf(fake).slice(1).map(({ ref }) => ref), OURS)
})

for (const count of [2, 0]) {
  test(`a ruleset of ${count} rules deleted and recreated before our write has only its new rules`, async (t) => {
    const { fake, client } = await startWith(t, ['a', 'b'])
    edit(fake, (rules) => rules.slice(0, count))
    const anew = () => {
      fake.zone.rulesets = []
      edit(fake, add('new'))
    }
    fake.fail({ match: PUT, how: 'before', run: anew })
    await doIt(client, 'apply')
    assert.deepEqual(othersOf(fake).map(({ description }) => description), ['new'])
  })
}

for (const [times, message] of /** @type {[number, RegExp | null][]} */ ([
  [20, null],
  [21, /more than 20 times meanwhile; look at versions 2 to 22 of them, .*, and apply again/]
])) {
  test(`${times} versions by others are ${message === null ? 'merged' : 'too many and cause an error'}`, async (t) => {
    const { fake, client } = await startWith(t, ['a', 'b'])
    const run = () => {
      edit(fake, add('new'))
      for (let done = 1; done < times; done++) edit(fake, reverse)
    }
    fake.fail({ match: PUT, how: 'before', run })
    if (message !== null) return assert.rejects(doIt(client, 'apply'), message)
    await doIt(client, 'apply')
    assert.deepEqual(othersOf(fake).map(({ description }) => description), ['new', 'b', 'a'])
  })
}

test('if others do not stop writing, the error names the version that our write replaced', async (t) => {
  const { fake, client } = await startWith(t, ['a'])
  let number = 0
  const run = () => edit(fake, (rules) => [...remove(`new${number}`)(rules), rule(`new${++number}`)])
  fake.fail({ match: PUT, times: 99, how: 'before', run })
  const message = /somebody else is changing the cache rules at this moment; look at version 6 of them, .*apply again/
  await assert.rejects(doIt(client, 'apply'), message)
})

test('if the plan has no room for a rule that others added, the error names the version that has it', async (t) => {
  const { fake, client } = await startWith(t, ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  fake.fail({ match: PUT, how: 'before', run: () => edit(fake, add('new')) })
  const message = /again, with the changes of version 2, which ours may have replaced: 400, exceeded maximum number/
  await assert.rejects(doIt(client, 'apply'), message)
})

test('destroy does not delete a ruleset that others change one to three times during the call', async (t) => {
  for (const changes of [1, 2, 3]) {
    const { fake, client } = await startWith(t, [])
    await doIt(client, 'apply')
    const plan = await makePlan(client, 'destroy', WISH)
    // carryOut itself reads the rules once before.
    for (let look = 1; look <= changes; look++) {
      const run = () => edit(fake, look < changes ? reverse : add('new'))
      fake.fail({ match: GET, skip: look === 1 ? 1 : 0, how: 'before', run })
    }
    await carryOut(client, WISH, plan).catch((error) => assert.match(error.message, /somebody else is changing/))
    assert.deepEqual(othersOf(fake).map(({ description }) => description), ['new'], `${changes} changes`)
  }
})

test('mergeRules applies the changes of others to the rules that we write', () => {
  // The letters are the rule's ref; each ! stands for other content.
  const parse = (/** @type {string} */ text) =>
    text.split(' ').map((word) => ({ ref: word.replaceAll('!', ''), description: word }))
  for (const [current, before, after, expected] of [
    ['a b', 'a b', 'a b', 'a b'],
    ['a b', 'a b', 'a b n', 'a b n'],
    ['a b', 'a b', 'n a m b', 'n a m b'],
    ['a n b', 'a b', 'a m b', 'a n m b'],
    ['a b n', 'a b', 'a b m', 'a b n m'],
    ['a b n', 'a b', 'b', 'b n'],
    ['a b', 'a b n', 'a b', 'a b'],
    ['a b n', 'a b n', 'a b', 'a b'],
    ['a! b', 'a b', 'a b n', 'a! b n'],
    ['a! b', 'a b', 'a!! b', 'a!! b'],
    ['a b n', 'a b', 'b a', 'b a n'],
    ['b a', 'a b', 'a b n', 'b a n'],
    ['b', 'a b', 'a b n', 'b n'],
    ['b', 'a b', 'a! b', 'a! b']
  ]) {
    const merged = mergeRules(parse(current), parse(before), parse(after)).map(({ description }) => description)
    assert.equal(merged.join(' '), expected, `${before} -> ${after}, on ${current}`)
  }
  const [one, two] = [{ id: '1', description: 'one' }, { id: '2', description: 'two' }]
  const without = mergeRules([{ description: 'one' }, { description: 'two' }], [one, two], [{ ...two, id: '3' }])
  assert.deepEqual(without, [{ description: 'two' }], 'a rule without a ref is identified by its content')
})
