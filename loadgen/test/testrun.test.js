import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { Ajv } from 'ajv'
import { ROOT } from '@stevec/harness/config'
import { requireTool } from '@stevec/harness/tools/locate'
import { parseAllDocuments } from 'yaml'
import { newPageName, pageName, requestAt } from '../scenarios/plan.js'
import { loadDefinition } from '../src/lab/definition.js'
import { planRun } from '../src/lab/matrix.js'
import { segmentOptions } from '../src/lab/segments.js'
import { testRun } from '../src/testrun/testrun.js'
import { createSandbox } from './helper.js'

const run = promisify(execFile)
const GENERATORS = 3

test('stevec testrun prints what k6-operator runs: each request of the plan once, by several k6', async (t) => {
  const sandbox = await createSandbox()
  t.after(() => sandbox.remove())
  /** @type {string[]} */
  const received = []
  const server = createServer((request, response) => {
    received.push(`${request.method} ${request.url}`)
    request.resume().once('end', () => response.writeHead(200, { 'Content-Length': 2 }).end('ok'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => { server.close(); server.closeAllConnections() })
  const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`

  const settings = { pages: 10, page_size_chars: 100, requests: 40, vus: 4, edit: 'create-get' }
  const file = sandbox.experiment({ settings, factors: { edit_ratio: [0, 0.5], pause_s: [0] } })
  const several = await sandbox.stevec(['testrun', file, '--url', url])
  assert.deepEqual([several.exitCode, /name one cell with --cell: edit_ratio=0\|0.5/.test(several.stderr)], [2, true])
  const printed = await sandbox.stevec([
    'testrun', file, '--url', url, '--cell', 'edit_ratio=0.5', '--generators', String(GENERATORS), '--seed', '5'
  ])
  assert.equal(printed.exitCode, 0, printed.stderr)
  const [configMap, testRun] = parseAllDocuments(printed.stdout).map((document) => document.toJS())

  const schema = JSON.parse(readFileSync(path.join(ROOT, 'loadgen/src/testrun/testrun.schema.json'), 'utf8'))
  const ajv = new Ajv({ strict: true })
  assert.equal(ajv.validate(schema, testRun), true, ajv.errorsText())
  assert.equal(ajv.validate(schema, { ...testRun, spec: { ...testRun.spec, parallelism: '3' } }), false)
  const { spec, metadata } = testRun
  assert.deepEqual([spec.parallelism, spec.script.configMap.name], [GENERATORS, configMap.metadata.name])
  const { plans: [plan] } = planRun(loadDefinition(file, 'quick', { only: { edit_ratio: ['0.5'] } }), 5)
  assert.equal(metadata.annotations['stevec/plan-hash'], plan.hash)

  // As the pods have it: the ConfigMap's entries as files of one folder.
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-testrun-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(configMap.data)) writeFileSync(path.join(folder, name), String(text))
  const script = path.join(folder, spec.script.configMap.file)
  const environment = Object.fromEntries(spec.runner.env.map((/** @type {any} */ { name, value }) => [name, value]))
  const env = { PATH: process.env.PATH, HOME: folder, ...environment }
  const k6 = requireTool('k6').path

  // The operator's first step (pkg/resources/jobs/initializer.go), which drops --no-usage-report.
  const archive = path.join(folder, 'archived.tar')
  await run(k6, ['archive', script, '-O', archive, '--include-system-env-vars'], { env })
  const { stdout } = await run(k6, ['inspect', '--execution-requirements', archive], { env: { PATH: env.PATH } })
  assert.equal(JSON.parse(stdout).maxVUs, settings.vus)

  await Promise.all(Array.from({ length: GENERATORS }, (_, index) => run(k6, [
    'run', '--quiet', ...segmentOptions(index, GENERATORS), ...spec.arguments.split(' '), script, '--address', ''
  ], { env })))
  const expected = Array.from({ length: settings.requests }, (_, index) => {
    const { page, edit } = requestAt(plan.plan, index)
    const created = newPageName('t1', index)
    return edit ? [`POST /wiki/${created}`, `GET /wiki/${created}`] : [`GET /wiki/${pageName(page)}`]
  }).flat()
  assert.deepEqual(received.sort(), expected.sort())
})

test('stevec testrun refuses what only the lab can do', async (t) => {
  const sandbox = await createSandbox()
  t.after(() => sandbox.remove())
  const url = 'https://wiki.example.com'
  const file = sandbox.experiment({ factors: { background_vus: [3] } })
  const { exitCode, stderr } = await sandbox.stevec(['testrun', file, '--url', url])
  assert.deepEqual([exitCode, /background_vus needs the lab/.test(stderr)], [2, true], stderr)

  const open = { model: 'open', rate_per_s: 10, bound: 'either' }
  for (const [setting, level, others] of /** @type {[string, unknown, object][]} */ ([
    ['background_vus', 3, {}],
    ['fault', { kind: 'origin-down', from_s: 4, for_s: 6 }, open],
    ['picture', true, {}],
    ['protocol', 'http2', {}],
    ['resource', 'short-link', {}]
  ])) {
    const settings = { pages: 10, page_size_chars: 500, requests: 50, duration_max_s: 60, ...others, [setting]: level }
    const definition = loadDefinition(sandbox.experiment({ settings, factors: { vus: [4] } }), 'quick')
    assert.throws(
      () => testRun({ definition, seed: 1, repetition: 1, url, image: 'grafana/k6' }),
      { message: `${setting} needs the lab beside k6: such a trial cannot run as a TestRun` }
    )
  }
})
