import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startFake, TOKEN } from './fake/cloudflare.js'

const LIVE = fileURLToPath(new URL('live/cloudflare.js', import.meta.url))

/** @param {Record<string, string>} environment */
async function run (environment) {
  // With this variable, a test run inside a test would report to the outer run.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const child = spawn(process.execPath, ['--test-reporter=tap', LIVE], {
    env: {
      ...inherited,
      CLOUDFLARE_API_TOKEN: '',
      CLOUDFLARE_API_TOKEN_FILE: '',
      CLOUDFLARE_TEST_ZONE: '',
      ...environment
    },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => { output += text })
  const [exitCode] = await once(child, 'close')
  return { exitCode, output }
}

test('the live test requires credentials, restores the zone, and refuses a zone with doors in use', async (t) => {
  const refused = await run({})
  assert.equal(refused.exitCode, 1)
  assert.match(refused.output, /it wants CLOUDFLARE_TEST_ZONE=example\.com, and CLOUDFLARE_API_TOKEN/)

  const fake = await startFake(t)
  fake.addRecord({ type: 'A', name: 'example.com', content: '198.51.100.1', proxied: true })
  fake.writeRules([{ action: 'set_cache_settings', expression: 'ssl', action_parameters: { cache: true } }])
  const before = fake.snapshot()
  const environment = { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_API_URL: fake.url, CLOUDFLARE_TEST_ZONE: 'example.com' }
  const done = await run(environment)
  assert.equal(done.exitCode, 0, done.output)
  assert.equal(fake.snapshot(), before)
  assert.ok(fake.writes().length > 10)

  fake.addRecord({ type: 'A', name: 'wiki.example.com', content: '198.51.100.2', comment: 'managed by stevec: cached' })
  const writes = fake.writes().length
  const inUse = await run(environment)
  assert.equal(inUse.exitCode, 1)
  assert.match(inUse.output, /Take them down first: stevec cloudflare destroy/)
  assert.equal(fake.writes().length, writes)
})
