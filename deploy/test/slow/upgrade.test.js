import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { buildRelease } from '@stevec/deploy/release/build'
import { HERE } from '@stevec/deploy/release/units'
import { waitUntil } from '@stevec/harness/processes'
import { addWorktree, removeWorktrees } from '@stevec/harness/worktree'
import { certificateFor } from '@stevec/nginx/test/certificate'
import { png } from '@stevec/wiki-app/test/images'
import { bootMachine, noMachine } from './machine.js'

const ROOT = path.resolve(HERE, '../..')
/** Before the first release: a commit that stands for it, packed by the packaging of now. */
const BEFORE_RELEASES = '362bea659951f5742a590bc9c49b375d7b596308'
const READY_MS = 120_000
const HOST = 'wiki.test'
const WATCH = 'stevec-certificate@etc-ssl-wiki-fullchain.pem.path'
const OLD = 'written with the old release'
const NEW = 'written with the new release'

const git = (/** @type {string[]} */ ...args) => spawnSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' })

/** @returns {string | null} the commit of the last release; null in a checkout without it */
function lastRelease () {
  const tag = git('describe', '--tags', '--match', 'v[0-9]*', '--abbrev=0', 'HEAD').stdout.trim()
  const found = git('rev-parse', '--verify', '--quiet', `${tag || BEFORE_RELEASES}^{commit}`)
  return found.status === 0 ? found.stdout.trim() : null
}

/** @param {import('node:test').TestContext} t @returns {Promise<{last: string, present: string}>} two .deb */
async function buildBoth (t) {
  const home = mkdtempSync(path.join(tmpdir(), 'stevec-last-'))
  t.after(() => removeWorktrees(home))
  const source = path.join(home, 'source')
  await addWorktree(/** @type {string} */ (lastRelease()), source)
  // Their npm packages stay, for the next time.
  const directory = path.join(ROOT, 'deploy/build/test')
  const node = process.execPath
  const { deb: last } = await buildRelease({ source, directory, node })
  const { deb: present } = await buildRelease({ source: ROOT, directory, node })
  return { last, present }
}

const skip = noMachine() || (lastRelease() === null && 'the last release is not in this checkout')

test('a machine with the package', { skip, timeout: 1_200_000 }, async (t) => {
  const { last, present } = await buildBoth(t)
  const machine = await bootMachine(t)
  const { exec, succeeds, show, file } = machine
  for (const deb of [last, present]) copyFileSync(deb, file(`root/${path.basename(deb)}`))
  const install = (/** @type {string} */ deb) => exec('dpkg', '--install', `/root/${path.basename(deb)}`)
  const curl = (/** @type {string[]} */ ...args) => exec(
    'curl', '--silent', '--show-error', '--max-time', '30', '--resolve', `${HOST}:443:127.0.0.1`, '--cacert',
    '/etc/ssl/wiki/fullchain.pem', ...args
  )
  const ready = async () => assert.ok(
    await waitUntil(() => succeeds('curl', '--silent', '--fail', 'http://127.0.0.1:8081/readyz'), READY_MS, 200),
    await exec('journalctl', '--no-pager', '--lines=30', '--unit=stevec-*')
  )
  const pid = (/** @type {string} */ unit) => show(`${unit}.service`, 'MainPID')
  const write = (/** @type {string} */ name, /** @type {string} */ text) => curl(
    '--fail', '--request', 'POST', '--header', 'content-type: text/markdown', '--data', text,
    `https://${HOST}/wiki/${name}`
  )
  const read = (/** @type {string} */ name) => curl('--include', `https://${HOST}/wiki/${name}`)
  let failed = false
  /** Each step begins where the one before has ended. @param {string} name @param {test.TestFn} act */
  const step = (name, act) => t.test(name, { skip: failed && 'an earlier step failed' }, async (context) => {
    failed = true
    await act(context, () => {})
    failed = false
  })
  let picture = ''
  const image = png(3, 3)

  await step('installed, its wiki and nginx run, and edge and mongod wait to be chosen', async () => {
    await install(last)
    assert.deepEqual(
      await Promise.all(
        ['wiki', 'nginx', 'edge', 'mongod'].map((name) => show(`stevec-${name}.service`, 'ActiveState'))),
      ['active', 'active', 'inactive', 'inactive']
    )
    await exec('systemctl', 'enable', '--now', 'stevec-mongod')
    await ready()
  })

  await step('with a certificate that only root may read, the edge serves the wiki by HTTP/2', async (t) => {
    const folder = file('etc/ssl/wiki')
    mkdirSync(folder, { recursive: true })
    takeCertificate(t, folder)
    const tls = '\nTLS_CERTIFICATE=/etc/ssl/wiki/fullchain.pem\nTLS_KEY=/etc/ssl/wiki/privkey.pem\n'
    change(file('etc/stevec/edge.env'), (text) => text.replace('127.0.0.1:8080', '0.0.0.0:443') + tls)
    change(file('etc/stevec/wiki.env'), (text) => `${text}\nPUBLIC_URL=https://${HOST}\nCACHE_POLICY=purge-tag\n` +
      'PURGE_ZONE=edge\nPURGE_URL=http://127.0.0.1:8079/client/v4\nWRITES_PER_MINUTE=0\n')
    await exec('systemctl', 'enable', '--now', 'stevec-edge')
    await exec('systemctl', 'restart', 'stevec-wiki')
    await ready()
    await write('Old', OLD)
    assert.match(await read('Old'), /^HTTP\/2 200/)
    writeFileSync(file('root/image.png'), image)
    const answer = await curl(
      '--fail', '--request', 'POST', '--header', 'content-type: image/png', '--data-binary', '@/root/image.png',
      `https://${HOST}/api/v1/files`
    )
    picture = JSON.parse(answer).url
  })

  await step('each service runs as its user, without rights that it does not need', async () => {
    for (const [name, user, capabilities] of [
      ['wiki', 'stevec', '0'], ['nginx', 'stevec-nginx', '400'], ['edge', 'stevec-nginx', '400'],
      ['mongod', 'stevec-mongod', '0']
    ]) {
      const status = await machine.status(await pid(`stevec-${name}`))
      const uid = await exec('id', '--user', user)
      assert.match(status, new RegExp(`^Uid:\\t${uid}\\t${uid}\\t`, 'm'), name)
      assert.match(status, new RegExp(`^CapEff:\\t0+${capabilities === '0' ? '' : capabilities}$`, 'm'), name)
      assert.match(status, /^NoNewPrivs:\t1$/m, name)
      assert.match(status, /^Seccomp:\t2$/m, name)
    }
    for (const secret of ['/etc/stevec/wiki.env', '/etc/stevec/purge-token', '/etc/ssl/wiki/privkey.pem']) {
      assert.equal(statSync(file(secret)).mode & 0o007, 0, secret)
    }
  })

  await step('an edit purges the edge', async () => {
    await read('Old')
    assert.match(await read('Old'), /^cf-cache-status: HIT/mi)
    await write('Old', `${OLD}, and changed`)
    const changed = async () => (await read('Old')).includes('and changed')
    assert.ok(await waitUntil(changed, READY_MS, 200))
  })

  await step('what is killed is started again', async () => {
    for (const name of ['stevec-wiki', 'stevec-nginx', 'stevec-edge', 'stevec-mongod']) {
      const before = await pid(name)
      await exec('systemctl', 'kill', '--kill-whom=main', '--signal=KILL', name)
      const again = async () => !['0', before].includes(await pid(name)) &&
        await show(`${name}.service`, 'ActiveState') === 'active'
      assert.ok(await waitUntil(again, READY_MS, 200), name)
    }
    await ready()
    const isChanged = () => read('Old').then((text) => text.includes('and changed'), () => false)
    assert.ok(await waitUntil(isChanged, READY_MS, 200))
  })

  await step('a renewed certificate is used by the same edge, which keeps its cache', async (t) => {
    await read('Old')
    const before = await pid('stevec-edge')
    await exec('systemctl', 'enable', '--now', WATCH)
    takeCertificate(t, file('etc/ssl/wiki'))
    assert.ok(await waitUntil(() => succeeds(
      'curl', '--silent', '--fail', '--resolve', `${HOST}:443:127.0.0.1`, '--cacert', '/etc/ssl/wiki/fullchain.pem',
      `https://${HOST}/wiki/Old`
    ), READY_MS, 200))
    assert.match(await read('Old'), /^cf-cache-status: HIT/mi)
    assert.equal(await pid('stevec-edge'), before)
  })

  await step('the nightly backup is tried; one that fails is seen, and costs no older one', async () => {
    await exec('systemctl', 'start', 'stevec-backup')
    const folder = file('var/lib/stevec/backups')
    const [backup, ...others] = readdirSync(folder)
    assert.match(backup, /^wiki-\d{8}T\d{6}Z\.stevec\.gz$/)
    assert.deepEqual(others, [])
    assert.match(await exec('stevec-backup', 'verify', `/var/lib/stevec/backups/${backup}`), /^verified .*pages 1/)
    await exec('systemctl', 'stop', 'stevec-mongod')
    assert.equal(await succeeds('systemctl', 'start', 'stevec-backup'), false)
    assert.equal(await show('stevec-backup.service', 'ActiveState'), 'failed')
    assert.deepEqual(readdirSync(folder), [backup])
    await exec('systemctl', 'start', 'stevec-mongod')
    await ready()
    await exec('systemctl', 'start', 'stevec-backup')
    assert.equal(readdirSync(folder).length, 2)
  })

  const everythingIsThere = async (/** @type {string[]} */ names) => {
    await ready()
    for (const name of names) {
      assert.match(await read(name), new RegExp(name === 'Old' ? `${OLD}, and changed` : NEW), name)
    }
    assert.equal(await exec('sh', '-c', `curl --silent --fail --insecure --resolve ${HOST}:443:127.0.0.1 ` +
      `https://${HOST}${picture} | cmp - /root/image.png && echo same`), 'same')
  }

  await step('an upgrade keeps settings, pages and pictures, and mongod running', async () => {
    const [mongod, settings] = [await pid('stevec-mongod'), readFileSync(file('etc/stevec/wiki.env'), 'utf8')]
    await install(present)
    await everythingIsThere(['Old'])
    await write('New', NEW)
    assert.equal(await pid('stevec-mongod'), mongod)
    assert.equal(readFileSync(file('etc/stevec/wiki.env'), 'utf8'), settings)
    assert.equal(await show('stevec-edge.service', 'ActiveState'), 'active')
  })

  await step('the way back keeps also what the new release wrote', async () => {
    await install(last)
    await everythingIsThere(['Old', 'New'])
    await write('Old2', NEW)
  })

  await step('systemd finds nothing wrong with the installed units', async () => {
    const units = readdirSync(path.join(HERE, 'units')).map((name) => name.replace('@.', '@etc-ssl-wiki.pem.'))
    await exec('systemd-analyze', 'verify', '--man=no', ...units)
    assert.equal(await exec('systemctl', '--failed', '--plain', '--no-legend'), '')
  })

  await step('removed and purged, it leaves the data, which the next installation has again', async () => {
    await exec('dpkg', '--remove', 'stevec')
    const running = 'grep --files-with-matches --extended-regexp "^(node|nginx|mongod)$" /proc/*/comm || true'
    assert.equal(await exec('sh', '-c', running), '')
    assert.equal(await show(WATCH, 'ActiveState'), 'inactive')
    await exec('dpkg', '--purge', 'stevec')
    assert.equal(existsSync(file(`etc/systemd/system/multi-user.target.wants/${WATCH}`)), false)
    assert.equal(await succeeds('test', '-e', '/run/stevec-tls'), false)
    assert.equal(existsSync(file('etc/stevec/wiki.env')), false)
    assert.equal(existsSync(file('opt/stevec/wiki-app')), false)
    assert.equal(readdirSync(file('var/lib/stevec/backups')).length, 2)
    // As an installation that was interrupted, or met a full disk.
    mkdirSync(file('etc/stevec'), { recursive: true })
    writeFileSync(file('etc/stevec/purge-token'), '')
    await install(present)
    assert.match(readFileSync(file('etc/stevec/purge-token'), 'utf8'), /^[\w-]{32}\n$/)
    await exec('systemctl', 'enable', '--now', 'stevec-mongod')
    await ready()
    assert.match(await exec('curl', '--silent', 'http://127.0.0.1:8081/wiki/New'), new RegExp(NEW))
  })
})

/**
 * Puts a new certificate where an ACME client would: the key first, and only for root.
 * @param {import('node:test').TestContext} t
 * @param {string} folder
 */
function takeCertificate (t, folder) {
  const { certificate, key } = certificateFor(t, HOST)
  copyFileSync(key, path.join(folder, 'privkey.pem'))
  chmodSync(path.join(folder, 'privkey.pem'), 0o600)
  copyFileSync(certificate, path.join(folder, 'fullchain.pem'))
}

/** @param {string} file @param {(text: string) => string} changed */
const change = (file, changed) => writeFileSync(file, changed(readFileSync(file, 'utf8')))
