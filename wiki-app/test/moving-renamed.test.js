import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../src/config.js'
import { readGit } from '../src/moving/git/read.js'
import { renamedAsThere } from '../src/moving/rename-as-there.js'
import { isAllTaken, noTotals } from '../src/moving/report.js'
import { openWiki } from '../src/moving/open-wiki.js'
import { createPlaces } from '../src/moving/place.js'
import { readMediaWiki } from '../src/moving/mediawiki/reader.js'
import { get, save, untilCounted, useWiki } from './helper.js'
import { dump, page, redirect } from './mediawiki-dump.js'
import { contents, moveIn, page as moved } from './moving.js'

const wiki = useWiki()

/** @param {import('node:test').TestContext} t */
function folder (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-renamed-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

/** @param {string} name @param {string} id @param {number} revisions */
const numbered = (name, id, revisions) => ({ ...moved(name, Array.from({ length: revisions }, () => ({}))), id })

/** @param {import('fastify').FastifyInstance} app @param {string} name */
async function historyOf (app, name) {
  const { items } = (await get(app, `/api/v1/pages/${encodeURIComponent(name)}/revisions`)).json()
  return items.map((/** @type {any} */ { summary }) => summary).reverse()
}

/** @param {import('fastify').FastifyInstance} app @param {string} name @param {string} to */
const rename = (app, name, to) =>
  app.inject({ method: 'POST', url: `/api/v1/pages/${encodeURIComponent(name)}/rename`, payload: { to } })

test('a page that was renamed there is renamed here, with its talk page, and goes on', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const file = path.join(folder(t), 'dump.xml')
  const revisions = [1, 2, 3].map((id) => ({ id: 100 + id, text: `text ${id}`, comment: `<comment>${id}</comment>` }))
  const talk = { id: 200, text: 'chat', comment: '<comment>chat</comment>' }
  const moveDump = (/** @type {string[]} */ ...pages) => {
    writeFileSync(file, dump(...pages))
    return moveIn(uri, readMediaWiki(file, { namespaces: ['main', 'talk'] }))
  }
  await moveDump(page('Bees', revisions.slice(0, 1), { id: 1 }), page('Talk:Bees', [talk], { id: 2, ns: 1 }))
  const second = () => moveDump(
    page('Honey bees', revisions.slice(0, 2), { id: 1 }), redirect('Bees', 'Honey bees'),
    page('Talk:Honey bees', [talk, { ...talk, id: 201 }], { id: 2, ns: 1 })
  )
  const { outcomes, totals } = await second()
  assert.deepEqual(outcomes.map(({ name, from, result, revisions: count }) => [name, from, result, count]), [
    ['Honey bees', 'Bees', 'appended', 1], ['Talk:Honey bees', 'Talk:Bees', 'appended', 1],
    ['Bees', undefined, 'unchanged', undefined]
  ])
  assert.equal(totals.renamed, 2)
  assert.equal((await get(app, '/wiki/Bees')).headers.location, '/wiki/Honey%20bees')
  assert.match((await get(app, '/wiki/Honey%20bees')).body, /text 2/)
  assert.deepEqual(await historyOf(app, 'Honey bees'), ['1', '2', 'Renamed from “Bees”'])
  assert.equal((await get(app, '/wiki/Talk:Honey%20bees')).statusCode, 200)

  await untilCounted(app)
  const before = await contents(uri)
  assert.equal((await second()).totals.unchanged, 3)
  assert.deepEqual(await contents(uri), before)

  const third = await moveDump(page('Bees', revisions, { id: 1 }), redirect('Honey bees', 'Bees'))
  assert.deepEqual([third.outcomes[0].name, third.outcomes[0].from, third.outcomes[0].revisions],
    ['Bees', 'Honey bees', 1], 'and back again')
  assert.match((await get(app, '/wiki/Bees')).body, /text 3/)
})

test('a page is not renamed where somebody renamed it here, deleted it, or the name is taken', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await moveIn(uri, ['Ours', 'Edited', 'Deleted', 'Blocked', 'Moved', 'Swap 1', 'Swap 2'].map((name, index) =>
    numbered(name, `w:${index}`, 1)))
  await rename(app, 'Ours', 'Named here')
  await save(app, 'Edited', 'better')
  await app.inject({ method: 'DELETE', url: '/wiki/Deleted' })
  await save(app, 'Taken', 'a page of this wiki')
  const things = () => [
    numbered('Ours there', 'w:0', 2), numbered('Edited there', 'w:1', 2), numbered('Deleted there', 'w:2', 2),
    numbered('Taken', 'w:3', 2), numbered('Moved there', 'w:4', 1),
    numbered('Swap 2', 'w:5', 1), numbered('Swap 3', 'w:6', 1), numbered('Moved', 'w:7', 1)
  ]
  const dry = await moveIn(uri, things(), { dryRun: true })
  const { outcomes, totals } = await moveIn(uri, things())
  const said = outcomes.map(({ name, from, result, missing }) => [name, from, result, missing])
  const last = said[said.length - 1]
  assert.deepEqual(said, [
    ['Named here', undefined, 'kept', 1],
    ['Edited there', 'Edited', 'kept', 1],
    ['Deleted', undefined, 'kept', 1],
    ['Blocked', undefined, 'appended', undefined],
    ['Moved there', 'Moved', 'appended', undefined],
    ['Swap 1', undefined, 'kept', undefined],
    ['Swap 3', 'Swap 2', 'appended', undefined],
    last
  ])
  assert.ok(['created', 'untaken'].includes(String(last[2])), 'its name becomes free in this run')
  assert.equal(totals.refused, 4)
  assert.equal(isAllTaken({ ...noTotals(), refused: 1 }), false)
  assert.deepEqual([dry.outcomes[4].from, dry.totals.renamed > 0], ['Moved', true])
  assert.match(String(outcomes[0].problem), /it is called “Ours there” there now; it was renamed here/)
  assert.match(String(outcomes[2].problem), /“Deleted” is deleted/)
  assert.match(String(outcomes[3].problem), /the name of another page: rename that one, and run the same again/)
  assert.match((await get(app, '/wiki/Edited%20there')).body, /better/)
  assert.match((await get(app, '/wiki/Taken')).body, /a page of this wiki/)

  const next = await moveIn(uri, things())
  assert.match((await get(app, '/wiki/Moved')).body, /text 1/, 'at the latest now')
  assert.deepEqual([next.outcomes[5].name, next.outcomes[5].from], ['Swap 2', 'Swap 1'], 'the next run finds it free')
  await moveIn(uri, [numbered('Ours there', 'w:0', 2)], { onConflict: 'replace' })
  const { outcomes: [ours] } = await moveIn(uri, [numbered('Ours there', 'w:0', 3)])
  assert.deepEqual([ours.name, ours.result, ours.from], ['Named here', 'appended', undefined],
    'a replaced page keeps its name of here')
})

test('a page that is begun anew at a former name comes in with its history', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await moveIn(uri, [numbered('Mercury', 'w:1', 1), numbered('Pluto', 'w:3', 1)])
  await save(app, 'Own', 'a page of this wiki')
  await rename(app, 'Own', 'Own now')
  const things = () => [
    numbered('Mercury (planet)', 'w:1', 2), numbered('Mercury', 'w:2', 3), numbered('Own', 'w:4', 1)
  ]
  await moveIn(uri, things())
  const { outcomes } = await moveIn(uri, things())
  assert.match((await get(app, '/wiki/Mercury')).body, /text 3/)
  assert.match((await get(app, '/wiki/Mercury%20(planet)')).body, /text 2/)
  assert.deepEqual(await historyOf(app, 'Mercury'), ['change 1', 'change 2', 'change 3'])
  assert.deepEqual(await historyOf(app, 'Mercury (planet)'), ['change 1', 'change 2', 'Renamed from “Mercury”'])
  assert.match(String(outcomes[2].problem), /leads to “Own now” here/, 'a page of this wiki is not touched')
  await untilCounted(app)
  const before = await contents(uri)
  assert.equal((await moveIn(uri, things())).totals.unchanged, 2)
  assert.deepEqual(await contents(uri), before)
  const more = await moveIn(uri, [numbered('Mercury (planet)', 'w:1', 2), numbered('Mercury', 'w:2', 4)])
  assert.deepEqual([more.outcomes[1].result, more.outcomes[1].revisions], ['appended', 1])
})

test('a page that another import has renamed meanwhile is not called deleted', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'P0', 'one')
  await rename(app, 'P0', 'P1')
  await save(app, 'Gone', 'one')
  await app.inject({ method: 'DELETE', url: '/wiki/Gone' })
  const { store, models, close } = await openWiki(readConfig({ MONGODB_URI: uri }), { mayWrite: true })
  t.after(close)
  const parts = { store, places: createPlaces(models, 'mediawiki') }
  const reason = (/** @type {string} */ name) => renamedAsThere(parts, { kind: 'mediawiki', name, target: 'P2' })
  assert.equal(await reason('P0'), 'here, “P0” has just become “P1”: run the same again')
  assert.equal(await reason('Gone'), 'here, “Gone” is deleted')
})

test('pages that were moved in before pages had numbers are found by their names', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await moveIn(uri, [moved('Old', [{}, {}])])
  const { outcomes } = await moveIn(uri, [numbered('Old', 'w:1', 3)])
  assert.deepEqual([outcomes[0].result, outcomes[0].revisions], ['appended', 1])
  const renamed = await moveIn(uri, [numbered('New', 'w:1', 3)])
  assert.deepEqual([renamed.outcomes[0].from, renamed.totals.created], ['Old', 0])
  assert.equal((await get(app, '/wiki/Old')).headers.location, '/wiki/New')
})

test('a file of a repository that git finds renamed is a page that is renamed', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const repository = folder(t)
  const git = (/** @type {string[]} */ ...args) => execFileSync(
    'git', ['-c', 'user.name=Ana', '-c', 'user.email=ana@example.com', ...args], { cwd: repository, stdio: 'pipe' })
  git('init', '--quiet', '--initial-branch=main')
  writeFileSync(path.join(repository, 'bees.md'), 'A long text about bees.\n'.repeat(9))
  git('add', '.')
  git('commit', '--quiet', '--message', 'Begin')
  await moveIn(uri, readGit(repository, {}), { kind: 'git' })
  mkdirSync(path.join(repository, 'insects'))
  git('mv', 'bees.md', 'insects/bees.md')
  git('commit', '--quiet', '--message', 'Move')
  const { outcomes } = await moveIn(uri, readGit(repository, {}), { kind: 'git' })
  assert.deepEqual(outcomes.map(({ name, from, revisions }) => [name, from, revisions]), [['insects/bees', 'bees', 1]])
  assert.equal((await get(app, '/wiki/bees')).headers.location, '/wiki/insects/bees')

  writeFileSync(path.join(repository, 'bees.md'), 'Another page.\n')
  git('add', '.')
  git('commit', '--quiet', '--message', 'Begin anew')
  const anew = await moveIn(uri, readGit(repository, {}), { kind: 'git' })
  assert.deepEqual([anew.totals.created, anew.totals.unchanged], [1, 1])
  assert.match((await get(app, '/wiki/bees')).body, /Another page/)
})
