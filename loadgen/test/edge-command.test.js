import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import https from 'node:https'
import path from 'node:path'
import { test } from 'node:test'
import { request } from '@stevec/harness/request'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { certificateFor, noOpenssl } from '@stevec/nginx/test/certificate'
import { createSandbox } from './helper.js'

test('stevec edge caches and purges pages of any application until SIGINT stops it', async (t) => {
  const sandbox = await createSandbox()
  const [originPort, port] = await freePorts(2)
  const origin = createServer((_incoming, response) => response.setHeader('Cache-Control', 'max-age=60').end('page'))
  await new Promise((resolve) => origin.listen(originPort, '127.0.0.1', () => resolve(undefined)))
  const { child, output, done } = sandbox.start([
    'edge',
    '--origin', `http://localhost:${originPort}`,
    '--listen', `127.0.0.1:${port}`,
    '--cache', path.join(sandbox.directory, 'cache'),
    '--max-size', '10m',
    '--json'
  ])
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
  const purged = await request(`${control.url}/client/v4/zones/any/purge_cache`, {
    method: 'POST',
    headers: { authorization: `Bearer ${control.token}` },
    body: '{"purge_everything":true}'
  })
  assert.equal(purged.status, 200)
  assert.equal(await read(), 'MISS')
  child.kill('SIGINT')
  assert.equal((await done).exitCode, 0)
  assert.ok(await waitUntil(() => sandbox.processes().length === 0, 60_000), JSON.stringify(sandbox.processes()))
})

test('stevec edge --follow says when there is no purge log to follow', async (t) => {
  const sandbox = await createSandbox()
  const [originPort, port] = await freePorts(2)
  const origin = createServer((_incoming, response) => response.writeHead(404).end())
  await new Promise((resolve) => origin.listen(originPort, '127.0.0.1', () => resolve(undefined)))
  const { child, output, done } = sandbox.start([
    'edge', '--origin', `http://127.0.0.1:${originPort}`, '--listen', String(port), '--follow', '/purge-log',
    '--cache', path.join(sandbox.directory, 'cache')
  ])
  t.after(async () => {
    child.kill('SIGTERM')
    await done
    origin.close()
    origin.closeAllConnections()
    sandbox.remove()
  })
  const said = /warning: http:\/\/127\.0\.0\.1:\d+\/purge-log answers 404, and a wiki with CACHE_POLICY=bounded/
  assert.ok(await waitUntil(() => said.test(output.stderr), 60_000), output.stderr)
  const logged = () => readFileSync(path.join(sandbox.directory, 'cache/error.log'), 'utf8')
  assert.ok(await waitUntil(() => /cannot be followed/.test(logged()), 60_000), logged())
})

test('stevec edge serves https with the user\'s certificate', { skip: noOpenssl }, async (t) => {
  const sandbox = await createSandbox()
  const [originPort, port] = await freePorts(2)
  const origin = createServer((incoming, response) =>
    response.end(`${incoming.headers['x-forwarded-proto']} ${incoming.headers.host}`))
  await new Promise((resolve) => origin.listen(originPort, '127.0.0.1', () => resolve(undefined)))
  const { certificate, key, options } = certificateFor(t, 'localhost')
  const { child, output, done } = sandbox.start([
    'edge', '--origin', `http://localhost:${originPort}`, '--listen', String(port), '--tls-cert', certificate,
    '--tls-key', key, '--cache', path.join(sandbox.directory, 'cache'), '--json'
  ])
  t.after(async () => {
    child.kill('SIGTERM')
    await done
    origin.close()
    origin.closeAllConnections()
    sandbox.remove()
  })
  assert.ok(await waitUntil(() => output.stdout.includes('\n'), 60_000), output.stderr)
  assert.equal(JSON.parse(output.stdout).url, `https://127.0.0.1:${port}`)
  const request = https.get({ host: '127.0.0.1', servername: 'localhost', port, ca: options.cert, agent: false })
  const [response] = await once(request, 'response')
  assert.equal((await response.setEncoding('utf8').toArray()).join(''), `https 127.0.0.1:${port}`)
})

test('stevec edge refuses the folder of a running edge, and takes over the folder of a killed one', async (t) => {
  const sandbox = await createSandbox()
  const [originPort, ...ports] = await freePorts(3)
  const origin = createServer((_incoming, response) => {
    response.setHeader('Cache-Control', 'max-age=60').end('x'.repeat(100_000))
  })
  await new Promise((resolve) => origin.listen(originPort, '127.0.0.1', () => resolve(undefined)))
  const cache = path.join(sandbox.directory, 'cache')
  const args = (/** @type {number} */ port) => (
    ['edge', '--origin', `http://127.0.0.1:${originPort}`, '--listen', String(port), '--cache', cache, '--json'])
  /** @type {ReturnType<typeof sandbox.start>[]} */
  const started = []
  t.after(async () => {
    for (const { child } of started) child.kill('SIGTERM')
    await Promise.all(started.map(({ done }) => done))
    origin.close()
    origin.closeAllConnections()
    sandbox.remove()
  })
  // Waits until the edge runs or has ended.
  const start = async (/** @type {number} */ port, /** @type {readonly string[]} */ more = []) => {
    const edge = sandbox.start([...args(port), ...more])
    started.push(edge)
    assert.ok(await waitUntil(() => edge.output.stdout.includes('\n') || edge.child.exitCode !== null, 60_000))
    return edge
  }
  const read = async (/** @type {number} */ port) => (
    (await request(`http://127.0.0.1:${port}/page`)).headers['cf-cache-status'])

  const first = await start(ports[0])
  assert.deepEqual([await read(ports[0]), await read(ports[0])], ['MISS', 'HIT'])
  const control = readFileSync(path.join(cache, 'control.json'), 'utf8')
  const pidFile = readFileSync(path.join(cache, 'nginx.pid'), 'utf8')
  const second = await start(ports[1])
  assert.equal(second.child.exitCode, 3)
  const pid = first.child.pid
  const refused = new RegExp(`process ${pid}\\) already uses the folder ${cache}: stop it \\(kill ${pid}\\)`)
  assert.match((await second.done).stderr, refused)
  assert.equal(await read(ports[0]), 'HIT')
  assert.equal(readFileSync(path.join(cache, 'control.json'), 'utf8'), control)
  assert.equal(readFileSync(path.join(cache, 'nginx.pid'), 'utf8'), pidFile)

  first.child.kill('SIGKILL')
  await first.done
  for (const [option, status] of /** @type {const} */ ([[[], 'HIT'], [['--cold'], 'MISS']])) {
    const again = await start(ports[0], option)
    assert.equal(await read(ports[0]), status, option.join())
    again.child.kill('SIGINT')
    assert.equal((await again.done).exitCode, 0)
  }
  assert.equal(existsSync(path.join(cache, 'edge.lock')), false)
})

test('stevec edge refuses a cache folder that holds other files, and deletes none of them', async () => {
  const sandbox = await createSandbox()
  const answers = path.join(sandbox.directory, 'answers')
  mkdirSync(answers)
  writeFileSync(path.join(answers, 'notes.txt'), 'mine')
  const options = ['--origin', 'http://127.0.0.1:1', '--cache', sandbox.directory]
  const { exitCode, stderr } = await sandbox.stevec(['edge', ...options])
  assert.equal(exitCode, 3)
  assert.match(stderr, /there is "notes\.txt" in it; nothing was deleted\. Move it away, or choose another folder/)
  assert.equal(readFileSync(path.join(answers, 'notes.txt'), 'utf8'), 'mine')
  sandbox.remove()
})

test('stevec edge refuses wrong options with the reason', async () => {
  const sandbox = await createSandbox()
  for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
    [[], /--origin is missing/],
    [['--origin', 'ftp://x'], /--origin is an http or https URL/],
    [['--origin', 'http://127.0.0.1:1/path'], /without a path/],
    [['--origin', 'https://127.0.0.1:1'], /needs the host name of its certificate/],
    [['--origin', 'http://127.0.0.1:1', '--origin-ca', 'ca.pem'], /for an https origin/],
    [['--origin', 'https://localhost:1', '--origin-ca', 'nowhere.pem'], /there is no file nowhere\.pem/],
    [['--origin', 'http://127.0.0.1:1', '--tls-cert', 'package.json'], /--tls-cert and --tls-key belong together/],
    [['--origin', 'http://127.0.0.1:1', '--tls-cert', 'a.pem', '--tls-key', 'b.pem'], /there is no file a\.pem/],
    [['--origin', 'http://127.0.0.1:1', '--no-http2'], /add --tls-cert and --tls-key/],
    [['--origin', 'http://nowhere.invalid'], /nowhere\.invalid cannot be resolved/],
    [['--origin', 'http://127.0.0.1:1', '--profile', 'squid'], /--profile is cloudflare or rfc9111/],
    [['--origin', 'http://127.0.0.1:1', '--listen', 'nowhere'], /--listen is an IP address and a port/],
    [['--origin', 'http://127.0.0.1:1', '--max-size', 'big'], /--max-size is a number of bytes/],
    [['--origin', 'http://127.0.0.1:1', '--plan', 'gold'], /--plan can only be free, not "gold"/],
    [['--origin', 'http://127.0.0.1:1', '--follow', 'purge-log'], /--follow is a path such as \/purge-log, not "purge-log"/]
  ])) {
    const { exitCode, stderr } = await sandbox.stevec(['edge', ...args])
    assert.equal(exitCode, 2, args.join(' '))
    assert.match(stderr, message)
  }
  sandbox.remove()
})
