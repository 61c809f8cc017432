import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { test } from 'node:test'
import { request } from '../src/stack/doors.js'
import { freePorts } from '../src/stack/ports.js'
import { waitUntil } from '../src/stack/processes.js'
import { createSandbox } from './helper.js'

test('stevec edge stands in front of any application until it is interrupted', async (t) => {
  const sandbox = await createSandbox()
  const [originPort, port] = await freePorts(2)
  const origin = createServer((_incoming, response) => response.setHeader('Cache-Control', 'max-age=60').end('page'))
  await new Promise((resolve) => origin.listen(originPort, '127.0.0.1', () => resolve(undefined)))
  const { child, output, done } = sandbox.start(['edge', '--origin', `http://localhost:${originPort}`, '--listen', `127.0.0.1:${port}`, '--cache', path.join(sandbox.directory, 'cache'), '--max-size', '10m', '--json'])
  t.after(async () => {
    child.kill('SIGTERM')
    await done
    origin.close()
    origin.closeAllConnections()
    sandbox.remove()
  })
  assert.ok(await waitUntil(() => output.stdout.includes('\n'), 60_000), output.stderr)
  const { url, control, directory } = JSON.parse(output.stdout)
  assert.equal(url, `http://127.0.0.1:${port}`)
  assert.deepEqual(JSON.parse(readFileSync(path.join(directory, 'control.json'), 'utf8')).control, control)
  const read = async () => (await request(`${url}/page`)).headers['cf-cache-status']
  assert.deepEqual([await read(), await read()], ['MISS', 'HIT'])
  const purged = await request(`${control.url}/client/v4/zones/any/purge_cache`, { method: 'POST', headers: { authorization: `Bearer ${control.token}` }, body: '{"purge_everything":true}' })
  assert.equal(purged.status, 200)
  assert.equal(await read(), 'MISS')
  child.kill('SIGINT')
  assert.equal((await done).exitCode, 0)
  assert.ok(await waitUntil(() => sandbox.processes().length === 0, 60_000), JSON.stringify(sandbox.processes()))
})

test('stevec edge says what is wrong with its options', async () => {
  const sandbox = await createSandbox()
  for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
    [[], /name the application/],
    [['--origin', 'ftp://x'], /--origin is an http or https URL/],
    [['--origin', 'http://127.0.0.1:1/path'], /without a path/],
    [['--origin', 'https://127.0.0.1:1'], /named by its host name/],
    [['--origin', 'http://127.0.0.1:1', '--origin-ca', 'ca.pem'], /for an https origin/],
    [['--origin', 'https://localhost:1', '--origin-ca', 'nowhere.pem'], /there is no file nowhere\.pem/],
    [['--origin', 'http://nowhere.invalid'], /nowhere\.invalid is not known/],
    [['--origin', 'http://127.0.0.1:1', '--profile', 'squid'], /--profile is cloudflare or rfc9111/],
    [['--origin', 'http://127.0.0.1:1', '--listen', 'nowhere'], /--listen is an IP address and a port/],
    [['--origin', 'http://127.0.0.1:1', '--max-size', 'big'], /--max-size is a number of bytes/],
    [['--origin', 'http://127.0.0.1:1', '--plan', 'gold'], /--plan is free/]
  ])) {
    const { exitCode, stderr } = await sandbox.stevec(['edge', ...args])
    assert.equal(exitCode, 2, args.join(' '))
    assert.match(stderr, message)
  }
  sandbox.remove()
})
