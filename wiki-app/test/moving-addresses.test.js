// A real nginx leads old addresses to new ones.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { freePorts, releasePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { requireTool } from '@stevec/harness/tools/locate'
import { createOldAddresses } from '../src/moving/old-addresses.js'

const WAIT_MAX_MS = 60_000

/** @param {import('node:test').TestContext} t @param {string[][]} pages  titles there and names here */
async function startNginx (t, pages, oldPath = '/wiki/') {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-addresses-'))
  const [port] = await freePorts(1)
  const map = path.join(directory, 'old.conf')
  const addresses = createOldAddresses({ oldPath })
  for (const [source, name] of pages) addresses.add({ source, name, result: 'created' })
  addresses.add({ source: 'Lost', result: 'untaken' })
  await addresses.write(map)
  const file = path.join(directory, 'nginx.conf')
  writeFileSync(file, `
daemon off; pid nginx.pid; error_log error.log;
events {}
http {
  access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4;
  scgi_temp_path t5;
  include ${map};
  server {
    listen 127.0.0.1:${port};
    absolute_redirect off;
    if ($stevec_old_title) { return 301 $stevec_old_title; }
    if ($stevec_old_path) { return 301 $stevec_old_path; }
    location / { return 200 here; }
  }
}`)
  const nginx = await startProcess({
    name: 'nginx',
    command: requireTool('nginx').path,
    args: ['-p', directory, '-c', file, '-e', path.join(directory, 'error.log')],
    logFile: path.join(directory, 'nginx.log')
  })
  t.after(async () => {
    await stopProcess(nginx)
    await releasePorts([port])
    rmSync(directory, { recursive: true })
  })
  const url = `http://127.0.0.1:${port}`
  assert.ok(await waitUntil(() => fetch(url).then(({ ok }) => ok, () => false), WAIT_MAX_MS), 'nginx takes the file')
  return async (/** @type {string} */ address) => {
    const { status, headers } = await fetch(url + address, { redirect: 'manual' })
    return status === 301 ? headers.get('location') : status
  }
}

test('old addresses lead to the pages here, whatever is in their titles', async (t) => {
  const odd = ['$uri', 'a"b\\c;{}', '~^.*$', 'default', 'C++ & C#', 'Čebela/Žuželka', '%41', "O'Neill", 'é'.repeat(200)]
  const leadsTo = await startNginx(t, [
    ['Main Page', 'Main Page'], ['Bees', 'Bees'], ['BEES', 'BEES'], ['a//b', 'a/b'], ...odd.map((name) => [name, name])
  ])
  assert.equal(await leadsTo('/index.php?title=Main_Page'), '/wiki/Main%20Page')
  assert.equal(await leadsTo('/index.php?title=Main%20Page&action=history'), '/wiki/Main%20Page')
  assert.equal(await leadsTo('/w/index.php?title=Main+Page'), '/wiki/Main%20Page')
  assert.equal(await leadsTo('/wiki/Main_Page'), '/wiki/Main%20Page')
  assert.equal(await leadsTo('/wiki/Main%20Page'), 200, 'no circle')
  assert.equal(await leadsTo('/index.php?title=Bees'), '/wiki/Bees')
  assert.equal(await leadsTo('/index.php?title=BEES'), '/wiki/BEES', 'case counts')
  assert.equal(await leadsTo('/wiki/bees'), 200)
  assert.equal(await leadsTo('/index.php?title=Lost'), 200)
  assert.equal(await leadsTo('/index.php'), 200)
  for (const name of odd) {
    const location = await leadsTo(`/index.php?title=${encodeURIComponent(name)}`)
    assert.equal(decodeURIComponent(String(location)), `/wiki/${name}`, name)
  }
})

test('pages that were at the root, or below another path', async (t) => {
  const leadsTo = await startNginx(t, [['Main Page', 'Main Page'], ['Bees', 'Bees']], '/')
  assert.equal(await leadsTo('/Main_Page'), '/wiki/Main%20Page')
  assert.equal(await leadsTo('/Bees'), '/wiki/Bees')
  assert.equal(await leadsTo('/wiki/Bees'), 200)
})
