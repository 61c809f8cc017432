import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { HERE, UNITS } from '@stevec/deploy/release/units'
import { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } from '@stevec/wiki-app/start'

/**
 * The most that `systemd-analyze security` may find, from 0 (nothing is open) to 10. What is left: V8 and LuaJIT
 * compile to memory, all need the network, and nginx opens ports below 1024.
 */
const EXPOSURE_MAX = /** @type {Record<string, number>} */ ({
  'stevec-wiki.service': 1.3,
  'stevec-nginx.service': 1.7,
  'stevec-edge.service': 1.7,
  'stevec-mongod.service': 1.3,
  'stevec-backup.service': 1.3,
  'stevec-certificate@.service': 1.3
})

/** With continued lines as one. */
const unit = (/** @type {string} */ name) => readFileSync(path.join(UNITS, name), 'utf8').replace(/ *\\\n */g, ' ')
const services = readdirSync(UNITS).filter((name) => name.endsWith('.service'))
/** --offline came with systemd 250. */
const { stdout: version } = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' })
const systemd = Number(/systemd (\d+)/.exec(version)?.[1])
const skip = systemd >= 250 ? false : 'systemd-analyze of systemd 250 or newer is not installed'

test('systemd accepts every unit, and finds their programs', { skip }, (t) => {
  const root = mkdtempSync(path.join(tmpdir(), 'stevec-units-'))
  t.after(() => rmSync(root, { recursive: true }))
  // Where the package has them; what other packages have is empty here.
  const folder = path.join(root, 'lib/systemd/system')
  cpSync(UNITS, folder, { recursive: true })
  cpSync(path.join(HERE, 'programs'), path.join(root, 'opt/stevec/deploy/release/programs'), { recursive: true })
  for (const program of [
    'opt/stevec/bin/node', 'usr/bin/mongod', 'usr/sbin/nginx', 'bin/sleep', 'bin/systemctl'
  ]) {
    mkdirSync(path.dirname(path.join(root, program)), { recursive: true })
    writeFileSync(path.join(root, program), '#!/bin/sh\n')
    chmodSync(path.join(root, program), 0o755)
  }
  const units = readdirSync(UNITS).map((name) => name.replace('@.', '@etc-ssl-wiki.pem.'))
  const { status, stderr } = spawnSync(
    'systemd-analyze', ['verify', `--root=${root}`, '--man=no', '--recursive-errors=no', ...units], { encoding: 'utf8' }
  )
  assert.deepEqual([status, stderr], [0, ''])
})

for (const name of services) {
  test(`${name} is exposed by at most ${EXPOSURE_MAX[name]} of 10`, { skip }, () => {
    const output = execFileSync(
      'systemd-analyze', ['security', '--offline=true', '--no-pager', path.join(UNITS, name)], { encoding: 'utf8' }
    )
    const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(output)?.[1])
    assert.ok(exposure <= EXPOSURE_MAX[name], output)
  })
}

test('the unit starts the wiki with the same V8 arguments and memory settings as other machines', () => {
  const command = /^ExecStart=(.+)$/m.exec(unit('stevec-wiki.service'))?.[1].split(' ') ?? []
  const settings = WIKI_ARGUMENTS.slice(0, -1)
  assert.deepEqual(command.filter((argument) => settings.includes(argument)), settings)
  const environment = /^Environment=(.+)$/m.exec(unit('stevec-wiki.service'))?.[1].split(' ') ?? []
  const wanted = Object.entries(WIKI_ENVIRONMENT).map((setting) => setting.join('='))
  assert.deepEqual(environment.filter((setting) => wanted.includes(setting)), wanted)
})

test('a service that dies is started again, a few times, and has longer to stop than it needs', () => {
  for (const name of ['wiki', 'nginx', 'edge', 'mongod']) {
    const text = unit(`stevec-${name}.service`)
    assert.match(text, /^Restart=on-failure$/m, name)
    assert.match(text, /^StartLimitIntervalSec=600\nStartLimitBurst=\d+$/m, name)
  }
  const drainMs = Number(/const WORKERS_STOP_MAX_MS = ([\d_]+)/.exec(
    readFileSync(path.join(HERE, '../../wiki-app/src/process/primary.js'), 'utf8')
  )?.[1].replaceAll('_', ''))
  assert.ok(drainMs > 0)
  assert.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit('stevec-wiki.service'))?.[1]) * 1000 > drainMs)
})

test('the wiki runs on when Linux ends what makes thumbnails, which asks to be ended first', () => {
  assert.match(unit('stevec-wiki.service'), /^OOMPolicy=continue$/m)
})

test('every service but that of certificates runs as a user that the package makes', () => {
  const users = readFileSync(path.join(HERE, 'debian/sysusers.conf'), 'utf8')
  const made = [...users.matchAll(/^u (\S+)/gm)].map(([, user]) => user)
  const used = services.filter((name) => !name.startsWith('stevec-certificate'))
    .map((name) => /^User=(\S+)$/m.exec(unit(name))?.[1])
  assert.deepEqual([...new Set(used)].sort(), made.sort())
})
