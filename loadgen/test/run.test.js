import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { MongoClient } from 'mongodb'
import { startMongod } from '../src/stack/mongod.js'
import { waitUntil } from '../src/stack/processes.js'
import { createSandbox } from './helper.js'

const json = (/** @type {string} */ file) => JSON.parse(readFileSync(file, 'utf8'))

/** @param {string} runDirectory */
const trialsOf = (runDirectory) => readdirSync(path.join(runDirectory, 'trials')).sort().map((name) => ({ name, ...json(path.join(runDirectory, 'trials', name, 'trial.json')) }))

describe('a run of read-hot', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {Awaited<ReturnType<(typeof sandbox)['stevec']>>} */
  let run
  /** @type {string} */
  let directory
  before(async () => {
    sandbox = await createSandbox()
    run = await sandbox.stevec(['run', 'read-hot', '--repetitions', '1', '--seed', '7', '--report'])
    assert.equal(run.exitCode, 0, run.stderr + run.stdout)
    directory = path.join(sandbox.results, readdirSync(sandbox.results)[0])
  })
  after(() => sandbox.remove())

  test('succeeds, says what it does and how far it is, and stops its stack', () => {
    for (const expected of [/starting mongod, wiki, nginx, links, doors/, new RegExp(`http://wiki\\.localhost:${sandbox.ports.edge}/`), /trial 1 of 4 .*s left/, /trial 4 of 4/, /all 4 trials valid/, /stack stopped/, /report: .*index\.html/]) assert.match(run.stdout, expected)
    assert.deepEqual(sandbox.processes(), [])
    assert.equal(existsSync(path.join(sandbox.directory, 'state/lab')), false)
  })

  test('finds the counter at the number of requests without a cache, and of different pages with one', () => {
    const { plans } = json(path.join(directory, 'manifest.json'))
    const counters = Object.fromEntries(trialsOf(directory).map((trial) => [trial.door, trial.counter]))
    const all = { requests: 1000, reads: 1000, writes: 0 }
    const distinct = { requests: plans[0].distinct_pages, reads: plans[0].distinct_pages, writes: 0 }
    assert.deepEqual(counters, { source: all, nocache: all, local: distinct, cached: distinct })
  })

  test('accounts for every request three times over: samples, counter, logs', () => {
    for (const trial of trialsOf(directory)) {
      assert.equal(trial.requests_sent, trial.served_by_cache + trial.counter.requests)
      assert.equal(trial.requests_failed, 0)
      const folder = path.join(directory, 'trials', trial.name)
      const samples = gunzipSync(readFileSync(path.join(folder, 'samples.csv.gz'))).toString().trim().split('\n').slice(1)
      assert.equal(samples.length, 1000)
      assert.equal(new Set(samples.map((row) => row.split(',')[1])).size, 1000)
      const lines = (/** @type {string} */ role) => gunzipSync(readFileSync(path.join(folder, `${role}.log.gz`))).toString().split('\n').filter(Boolean).map((line) => JSON.parse(line))
      assert.equal(lines('origin').length, trial.counter.requests)
      assert.equal(lines('edge').length, ['cached', 'nocache'].includes(trial.door) ? 1000 : 0)
      if (trial.door === 'cached') assert.equal(lines('edge').filter((line) => line.cache_status === 'HIT').length, trial.served_by_cache)
    }
  })

  test('starts each trial from caches that were proved cold', () => {
    for (const { door, cold_proof: proof } of trialsOf(directory)) {
      assert.equal(proof.cold, true)
      assert.deepEqual(proof.observed, { cached: ['MISS', 'HIT', 'MISS'], local: ['MISS', 'HIT', 'MISS'], nocache: ['BYPASS', 'BYPASS', 'BYPASS'], source: ['', '', ''] }[String(door)])
    }
  })

  test('writes down what it was: plan, seed, versions, host, configuration, and no token', () => {
    const text = readFileSync(path.join(directory, 'manifest.json'), 'utf8')
    const manifest = JSON.parse(text)
    assert.equal(manifest.status, 'complete')
    assert.equal(manifest.seed, 7)
    assert.match(manifest.plan_hash, /^sha256:[0-9a-f]{64}$/)
    assert.deepEqual(Object.keys(manifest.config_hashes), ['nginx/origin', 'nginx/edge', 'nginx/local'])
    for (const name of ['node', 'k6', 'nginx', 'mongod', 'toxiproxy', 'fastify', 'mongoose']) assert.match(manifest.versions[name], /^\d+\.\d+\.\d+/)
    assert.match(path.basename(directory), /^\d{8}T\d{6}Z-read-hot-([0-9a-f]{7}|nogit)$/)
    assert.doesNotMatch(text, /token|Bearer/i)
  })

  test('has a report in one file', () => {
    assert.match(readFileSync(path.join(directory, 'report/index.html'), 'utf8'), /^<!doctype html>/i)
  })

  test('has the same plan with more VUs, and the same counts', async () => {
    const other = await createSandbox()
    const { exitCode, stdout, stderr } = await other.stevec(['run', 'read-hot', '--repetitions', '1', '--seed', '7', '--vus', '8'])
    assert.equal(exitCode, 0, stdout + stderr)
    const otherDirectory = path.join(other.results, readdirSync(other.results)[0])
    assert.equal(json(path.join(otherDirectory, 'manifest.json')).plan_hash, json(path.join(directory, 'manifest.json')).plan_hash)
    const requests = (/** @type {string} */ run, /** @type {{name: string}} */ trial) => gunzipSync(readFileSync(path.join(run, 'trials', trial.name, 'samples.csv.gz'))).toString().trim().split('\n').slice(1).map((row) => row.split(',').slice(1, 4).join()).sort()
    const [mine, others] = [trialsOf(directory), trialsOf(otherDirectory)]
    for (const trial of mine) assert.deepEqual(requests(otherDirectory, others[trial.trial - 1]), requests(directory, trial))
    other.remove()
  })
})

describe('a run that is interrupted', () => {
  for (const [signal, wholeGroup] of /** @type {const} */ ([['SIGINT', true], ['SIGTERM', false], ['SIGKILL', false]])) {
    test(`by ${signal} leaves no process, and nothing that \`report\` takes for whole`, async () => {
      const sandbox = await createSandbox()
      const { child, output, done } = sandbox.start(['run', 'read-hot'])
      assert.ok(await waitUntil(() => output.stdout.includes('trial  2 of 20'), 60_000), output.stderr)
      process.kill(wholeGroup ? -Number(child.pid) : Number(child.pid), signal)
      const { exitCode } = await done
      assert.equal(exitCode, signal === 'SIGKILL' ? null : 130)
      assert.ok(await waitUntil(() => sandbox.processes().length === 0, 20_000), JSON.stringify(sandbox.processes()))

      const [name] = readdirSync(sandbox.results)
      assert.equal(json(path.join(sandbox.results, name, 'manifest.json')).status, signal === 'SIGKILL' ? 'running' : 'interrupted')
      const latest = await sandbox.stevec(['report', 'latest'])
      assert.equal(latest.exitCode, 1)
      assert.match(latest.stderr, /there is no complete run/)
      const named = await sandbox.stevec(['report', name])
      assert.equal(named.exitCode, 1)
      assert.match(named.stderr, /of 20/)
      assert.equal(existsSync(path.join(sandbox.results, name, 'report')), false)

      sandbox.remove()
    })
  }
})

test('a run after one that was killed clears up after it and succeeds', async () => {
  const sandbox = await createSandbox()
  const { child, output, done } = sandbox.start(['run', 'read-hot'])
  assert.ok(await waitUntil(() => output.stdout.includes('wrote 100 pages'), 60_000), output.stderr)
  child.kill('SIGKILL')
  await done
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', 'read-hot', '--repetitions', '1'])
  assert.equal(exitCode, 0, stdout + stderr)
  sandbox.remove()
})

test('a run on a database server of the user\'s keeps to a database of its own there, and removes it', async () => {
  const sandbox = await createSandbox()
  const mongod = await startMongod()
  const client = new MongoClient(mongod.uri)
  await client.db('stevec').collection('pages').insertOne({ mine: true })
  const { exitCode, stdout, stderr } = await sandbox.stevec(['run', 'read-hot', '--repetitions', '1'], { MONGODB_URI: mongod.uri })
  assert.equal(exitCode, 0, stdout + stderr)
  assert.doesNotMatch(stdout, /starting mongod/)
  const { databases } = await client.db().admin().listDatabases()
  assert.deepEqual(databases.map(({ name }) => name).sort(), ['admin', 'config', 'local', 'stevec'])
  assert.equal(await client.db('stevec').collection('pages').countDocuments(), 1)
  const manifest = readFileSync(path.join(sandbox.results, readdirSync(sandbox.results)[0], 'manifest.json'), 'utf8')
  assert.doesNotMatch(manifest, /mongodb:\/\//)
  await client.close()
  await mongod.stop()
  sandbox.remove()
})

describe('a run that cannot begin', () => {
  test('says which experiments, presets and seeds there are', async () => {
    const sandbox = await createSandbox()
    for (const [args, message, code] of /** @type {[string[], RegExp, number][]} */ ([
      [['run'], /name an experiment: .*read-hot/, 2],
      [['run', 'nothing'], /there is no experiment "nothing"; there is: .*read-hot/, 1],
      [['run', 'read-hot', '--preset', 'huge'], /--preset is quick or full, not "huge"/, 2],
      [['run', 'read-hot', '--seed', 'x'], /--seed must be a whole number from 0 to 4294967295, not "x"/, 2],
      [['run', 'read-hot', '--colour'], /--colour/, 2],
      [['walk'], /there is no command "walk"/, 2],
      [['report', 'nothing'], /there is no run "nothing"/, 1]
    ])) {
      const { exitCode, stderr } = await sandbox.stevec(args)
      assert.match(stderr, message)
      assert.equal(exitCode, code, args.join(' '))
    }
    assert.equal(existsSync(sandbox.results), false)
    sandbox.remove()
  })

  test('because another is under way is refused and disturbs nothing', async () => {
    const sandbox = await createSandbox()
    mkdirSync(sandbox.env.STEVEC_STATE, { recursive: true })
    const { startTicks } = await import('../src/stack/processes.js')
    writeFileSync(path.join(sandbox.env.STEVEC_STATE, 'lab.lock'), JSON.stringify({ name: 'run', pid: process.pid, start_ticks: startTicks(process.pid) }))
    const { exitCode, stderr } = await sandbox.stevec(['run', 'read-hot'])
    assert.equal(exitCode, 1)
    assert.match(stderr, new RegExp(`already under way \\(process ${process.pid}\\)`))
    sandbox.remove()
  })
})

test('every command helps', async () => {
  const sandbox = await createSandbox()
  const { stdout } = await sandbox.stevec(['--help'])
  for (const name of ['setup', 'up', 'down', 'status', 'run', 'report']) {
    assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
    const help = await sandbox.stevec([name, '--help'])
    assert.equal(help.exitCode, 0)
    assert.match(help.stdout, new RegExp(`^Usage: stevec ${name}`))
  }
  sandbox.remove()
})
