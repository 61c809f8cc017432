import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { requireTool } from '@stevec/harness/tools/locate'

const stevec = (/** @type {string[]} */ ...args) => spawnSync(path.join(ROOT, 'stevec'), args, { encoding: 'utf8' })

test('stevec predict prints JSON with --json, and exits with 2 and the reason for an invalid scenario', () => {
  const { status, stdout } = stevec(
    'predict', '--pages', '100', '--rate', '1000', '--edits', '0.05', '--requests', '10000', '--json'
  )
  assert.equal(status, 0)
  assert.ok(Math.abs(JSON.parse(stdout).stale_ratio - 0.79) < 0.01)
  assert.match(stevec('predict', '--help').stdout, /examples:[^]*--tiered/)
  const refused = stevec('predict', '--pages', '0', '--rate', '1', '--tiered')
  assert.deepEqual([refused.status, refused.stdout], [2, ''])
  assert.match(refused.stderr, /pages is 0/)
})

test('stevec compare exits with 2 without two existing runs, and with 1 only for a violated gate', () => {
  assert.match(stevec('compare', '--help').stdout, /Exit status: 0 [^]*1 a gate is violated, 2/)
  for (const args of [[], ['latest'], ['nowhere', 'elsewhere']]) {
    const { status, stderr } = stevec('compare', ...args)
    assert.equal(status, 2, stderr)
  }
})

/** @param {import('node:test').TestContext} t @returns {string} a folder with access.log, of pages and files */
function folderWithLog (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-advise-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const line = (/** @type {string} */ method, /** @type {string} */ url, /** @type {number} */ second) =>
    `h - - [25/Nov/2026:10:00:${String(second).padStart(2, '0')} +0000] "${method} ${url} HTTP/1.1" 200 9`
  const lines = Array.from({ length: 60 }, (_, second) =>
    [line(second % 20 === 9 ? 'POST' : 'GET', '/wiki/A', second), line('GET', '/wiki/logo.png', second)])
  writeFileSync(path.join(directory, 'access.log'), lines.flat().join('\n'))
  return directory
}

test('stevec advise reads a log, and says what is missing', (t) => {
  const log = path.join(folderWithLog(t), 'access.log')
  const { status, stdout } = stevec('advise', log, '--max-age', '1s', '--class', 'a=/A', '--class', 'b=/B', '--json')
  assert.equal(status, 0)
  const [found] = JSON.parse(stdout).classes
  assert.deepEqual([found.name, found.reads, found.edits], ['a', 57, 3])
  assert.match(stevec('advise', '--help').stdout, /examples:[^]*--edits/)
  const refused = stevec('advise', log)
  assert.equal(refused.status, 2)
  assert.match(refused.stderr, /without a limit/)
})

test('a stock nginx takes the locations of stevec advise, and stores as they say', async (t) => {
  const directory = folderWithLog(t)
  const { stdout } = stevec('advise', path.join(directory, 'access.log'), '--max-age', '1min', '--cache', 'nginx')
  const [port, originPort] = await freePorts(2)
  let fetches = 0
  const origin = createServer((_incoming, response) => response.end(String(++fetches)))
  await new Promise((resolve) => origin.listen(originPort, '127.0.0.1', () => resolve(undefined)))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
  writeFileSync(path.join(directory, 'nginx.conf'), `daemon off; master_process off; pid ${directory}/pid;
    error_log stderr; events {}
    http { access_log off; ${temporary.join(' ')} proxy_cache_path ${directory}/cache keys_zone=pages:1m;
    upstream origin { server 127.0.0.1:${originPort}; } server { listen 127.0.0.1:${port};
    ${stdout}
    } }`)
  const nginx = spawn(requireTool('nginx').path, ['-p', directory, '-c', path.join(directory, 'nginx.conf')])
  let errors = ''
  nginx.stderr.on('data', (data) => { errors += data })
  t.after(async () => {
    nginx.kill()
    if (nginx.exitCode === null) await once(nginx, 'exit')
    origin.close()
    origin.closeAllConnections()
  })
  const read = (/** @type {string} */ url) => fetch(`http://127.0.0.1:${port}${url}`).then((answer) => answer.text())
  assert.ok(await waitUntil(() => read('/wiki/A').then(() => true, () => nginx.exitCode !== null), 60_000))
  assert.equal(nginx.exitCode, null, errors)
  const first = await read('/wiki/logo.png')
  assert.equal(await read('/wiki/logo.png'), first)
  assert.equal(fetches, 2, 'one of each class')
})
