// compose.yaml, built and run without an engine: see docs/decisions/0048.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { waitUntil } from '@stevec/harness/processes'
import { readComposition } from './composition.js'
import { Engine } from './engine.js'
import { buildImages } from './images.js'

const WAIT_MAX_MS = 60_000
/** Reads a request as JSON from its arguments, sends it and prints status, headers and body. */
const CLIENT = `
const [url, options] = process.argv.slice(1)
const answer = await fetch(url, JSON.parse(options))
console.log(JSON.stringify({
  status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text()
}))`

describe('the composition', () => {
  const composition = readComposition()
  const lasting = Object.keys(composition.services).filter((name) => composition.services[name].restart !== 'no')
  /** @type {Engine} */
  let engine
  /** @type {Awaited<ReturnType<typeof buildImages>>} */
  let built
  before(async () => {
    built = await buildImages(composition)
    engine = new Engine(composition, built.images)
    await engine.up()
  })
  after(async () => {
    await engine?.remove()
    await built?.remove()
  })

  /** @param {string} path @param {RequestInit} [options] */
  async function visit (path, options = {}) {
    const url = `http://${engine.address('edge', 'front')}:8080${path}`
    const { stdout } = await promisify(execFile)('ip', ['netns', 'exec', engine.outside, process.execPath,
      '--input-type=module', '--eval', CLIENT, url, JSON.stringify(options)])
    return /** @type {{status: number, headers: Record<string, string>, body: string}} */ (JSON.parse(stdout))
  }
  /** @param {string} name @param {string} content */
  const create = (name, content) => visit(`/api/v1/pages/${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'if-none-match': '*' },
    body: JSON.stringify({ content })
  })

  test('a page that is created through the edge is read from its cache', async () => {
    const created = await create('First', 'Written through three containers.')
    assert.equal(created.status, 201, created.body)
    const statuses = []
    for (let read = 0; read < 2; read++) {
      const { status, headers, body } = await visit('/wiki/First')
      assert.equal(status, 200)
      assert.match(body, /Written through three containers/)
      statuses.push(headers['cf-cache-status'])
    }
    assert.deepEqual(statuses, ['MISS', 'HIT'])
  })

  test('no service is root, has a right of root, or can write outside its volumes', async () => {
    for (const name of lasting) {
      const { output: status } = await engine.exec(name, ['cat', '/proc/1/status'])
      assert.match(status, /^Uid:\t(?!0\b)\d+\t/m, name)
      for (const set of ['CapPrm', 'CapEff', 'CapBnd']) assert.match(status, new RegExp(`^${set}:\\t0+$`, 'm'), name)
      assert.match(status, /^NoNewPrivs:\t1$/m, name)
      for (const file of ['/x', '/etc/passwd', '/usr/bin/x', '/app/x']) {
        assert.notEqual((await engine.exec(name, ['sh', '-c', `: >> ${file}`])).code, 0, `${name} writes ${file}`)
      }
    }
  })

  test('the database and Redis refuse clients without a password, and the edge cannot reach them', async () => {
    const { output: redis } = await engine.exec('redis', ['redis-cli', 'info'])
    assert.match(redis, /NOAUTH/)
    const look = 'import {MongoClient} from "mongodb"; ' +
      'const c = new MongoClient("mongodb://mongodb-1,mongodb-2,mongodb-3/?replicaSet=stevec"); ' +
      'console.log(await c.db("stevec").collection("pages").findOne().catch(e => e.codeName)); ' +
      'await c.close()'
    const { output } = await engine.exec('wiki-1', ['node', '--input-type=module', '--eval', look])
    assert.equal(output.trim(), 'Unauthorized')
    const address = engine.address('redis', 'data')
    assert.notEqual((await engine.exec('edge', ['bash', '-c', `: < /dev/tcp/${address}/6379`])).code, 0)
  })

  test('a secret stands in no environment and no log', async () => {
    const { output } = await engine.exec('wiki-1', ['cat', '/run/secrets/stevec/mongodb-uri'])
    const [, password] = /^mongodb:\/\/wiki:([^@]{20,})@/.exec(output) ?? []
    assert.ok(password)
    for (const name of Object.keys(composition.services)) {
      assert.ok(!engine.log(name).includes(password), `the log of ${name}`)
      assert.ok(!engine.process(name).env.join('\n').includes(password), `the environment of ${name}`)
    }
  })

  test('readers and authors go on after a wiki is killed, and after the primary of the database is', async () => {
    await engine.kill('wiki-1', 'SIGKILL')
    assert.equal((await create('Without-a-wiki', 'still')).status, 201)
    const primary = 'import {readFileSync} from "fs"; import {MongoClient} from "mongodb"; const c = new MongoClient(' +
      'readFileSync("/run/secrets/stevec/mongodb-uri","utf8").trim()); ' +
      'console.log((await c.db().command({hello:1})).primary); await c.close()'
    const { output } = await engine.exec('wiki-2', ['node', '--input-type=module', '--eval', primary])
    const [, name] = /^(mongodb-\d):27017$/.exec(output.trim()) ?? []
    assert.ok(name, output)
    await engine.kill(name, 'SIGKILL')
    let page = 0
    const accepted = async () => (await create(`After-a-primary-${page++}`, 'still')).status === 201
    assert.ok(await waitUntil(accepted, WAIT_MAX_MS, 200), 'no edit is accepted')
  })

  test('each service ends at its signal within its time, and the data is there at the next start', async () => {
    for (const [name, { code, inTime }] of Object.entries(await engine.down())) {
      assert.ok(inTime, `${name} had to be killed`)
      if (lasting.includes(name)) assert.ok([0, 137].includes(code ?? -1), `${name} ended with ${code}`)
    }
    await engine.up()
    const { status, body } = await visit('/wiki/First')
    assert.equal(status, 200)
    assert.match(body, /Written through three containers/)
  })
})
