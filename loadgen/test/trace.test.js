import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { rowsOf, waterfall } from '../src/trace/waterfall.js'
import { createSandbox } from './helper.js'

/** @param {Partial<import('@stevec/harness/trace-receiver').ReceivedSpan>} given */
const span = (given) => ({
  ...{ service: 'wiki', trace_id: '1', span_id: 'a', parent_id: null, name: 'GET', kind: 'server' },
  ...{ start_ms: 0, end_ms: 10, attributes: {}, links: [], failed: false, ...given }
})

test('a waterfall has the steps below their parents, the times between them, and no markup of a name', () => {
  const hostile = '<img src=x onerror=alert(1)>"\'&'
  const spans = [
    span({ span_id: 'c', parent_id: 'a', name: 'second', start_ms: 6, end_ms: 8 }),
    span({ span_id: 'b', parent_id: 'a', name: hostile, start_ms: 1, end_ms: 4, attributes: { 'url.path': hostile } }),
    span({})
  ]
  assert.deepEqual(
    rowsOf(spans).map(({ span, start_ms: from, end_ms: until }) => [span?.name ?? 'gap', from, until]),
    [['GET', 0, 10], ['gap', 0, 1], [hostile, 1, 4], ['gap', 4, 6], ['second', 6, 8], ['gap', 8, 10]]
  )
  const later = span({ span_id: 'd', parent_id: 'a', name: 'queue', start_ms: 90, end_ms: 95 })
  assert.deepEqual(rowsOf([span({ start_ms: 9 }), later]).map(({ span, end_ms: until }) => [span?.name, until]),
    [['GET', 10], [undefined, 10], ['queue', 95]], 'the time between a request and its work is no gap in the request')
  const page = waterfall({ title: hostile, spans, at: new Date(0) })
  assert.ok(!page.includes('<img') && !page.includes('<script') && page.includes('&#60;img'))
  assert.doesNotMatch(page, /(?:src|href)=["']?https?:/)
})

test('one save is recorded from the client to the database; wrong requests say what is right', async (t) => {
  const sandbox = await createSandbox()
  t.after(() => sandbox.remove())
  const wrong = await sandbox.stevec(['trace', 'FETCH /wiki/Home'])
  assert.deepEqual([wrong.exitCode, wrong.stderr.includes('"GET /wiki/Home"')], [2, true])

  const output = path.join(sandbox.directory, 'save.html')
  const { exitCode, stdout, stderr } =
    await sandbox.stevec(['trace', 'POST /wiki/A', '--body', 'a-text [[B]]', '--door', 'cached', '--output', output])
  assert.equal(exitCode, 0, stderr)
  assert.match(stdout, /^status 201/)
  const page = readFileSync(output, 'utf8')
  const texts = ['nginx edge', 'nginx origin', 'POST &#47;wiki', 'commitTransaction', 'render', 'insert revisions',
    'process counts', 'process purge', 'delete queue']
  for (const text of texts) {
    assert.ok(page.includes(text.replace('&#47;', '/')), `${text} in ${page}`)
  }
  assert.ok(!page.includes('a-text'))
  assert.deepEqual(sandbox.processes(), [], 'nothing is left')
})

test('a request is recorded at the wiki that runs, if that makes traces; otherwise the next step is named', async (t) => {
  const sandbox = await createSandbox()
  t.after(async () => {
    await sandbox.stevec(['down'])
    sandbox.remove()
  })
  const output = path.join(sandbox.directory, 'trace.html')
  const trace = (/** @type {string[]} */ ...args) => sandbox.stevec(['trace', ...args, '--output', output])
  const remote = await sandbox.stevec(['up', '--traces', '--origin', 'board'])
  assert.deepEqual([remote.exitCode, /leave out --origin/.test(remote.stderr)], [2, true], remote.stderr)

  const up = await sandbox.stevec(['up', '--traces'])
  assert.equal(up.exitCode, 0, up.stderr)
  const before = sandbox.processes().map(({ pid }) => pid)
  for (const [request, ...args] of [['POST /wiki/A', '--body', '[[B]]'], ['GET /wiki/A'], ['GET /wiki/A']]) {
    const { exitCode, stdout, stderr } = await trace(request, ...args)
    assert.deepEqual([exitCode, /^status 20[01]/.test(stdout)], [0, true], stdout + stderr)
    const page = readFileSync(output, 'utf8')
    const texts = ['nginx origin', ...request.startsWith('GET') ? ['find pages'] : ['process counts', 'delete queue']]
    for (const text of texts) assert.ok(page.includes(text), `${text} in ${page}`)
  }
  assert.deepEqual(sandbox.processes().map(({ pid }) => pid), before, 'the wiki still runs, and nothing else')

  await sandbox.stevec(['down'])
  assert.equal((await sandbox.stevec(['up'])).exitCode, 0)
  const without = await trace('GET /wiki/A')
  assert.deepEqual([without.exitCode, /stevec down.*stevec up --traces/.test(without.stderr)], [2, true], without.stderr)
  const other = await sandbox.stevec(['up', '--traces'])
  assert.deepEqual([other.exitCode, /without traces; run `stevec down`/.test(other.stderr)], [2, true], other.stderr)
})
