import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { BOARDS, PACKAGES, PARAMETERS } from '../recipe.js'
import { baseName, mmdebstrapArguments, packageDifferences } from '../src/base.js'
import { readKeys } from '../src/build.js'
import { genimageConfiguration } from '../src/card.js'
import { layOver } from '@stevec/deploy/release/overlay'
import { UNITS as SHARED } from '@stevec/deploy/release/units'
import { HERE, readParameters } from '../src/parameters.js'
import { line, listTree, parseTree, treeDifferences, treeDigest } from '../src/tree.js'
import { refuseForeignCode, wikiSettings } from '../src/wiki.js'

const SYSTEM = path.join(HERE, 'overlays/system')
const UNITS = path.join(SYSTEM, 'etc/systemd/system')
const EPOCH = 1_700_000_000
const lock = JSON.parse(readFileSync(path.join(HERE, 'packages.lock.json'), 'utf8'))

/** @param {import('node:test').TestContext} t */
function temporary (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-image-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('every parameter has a valid default; the error for a bad value names the parameter and what is valid', () => {
  assert.deepEqual(Object.keys(readParameters({})), Object.keys(PARAMETERS))
  assert.equal(readParameters({ BOARD: 'bananapi' }).BOARD, 'bananapi')
  for (const [name, bad] of Object.entries({
    BOARD: 'raspberry-pi',
    SUITE: 'trixie main',
    MIRROR: 'file:///etc',
    SECURITY_MIRROR: 'yes',
    BOARD_HOSTNAME: '-a',
    IMAGE_SIZE: '3G',
    MONGODB_URI: "mongodb://h/x'\nA=b"
  })) assert.throws(() => readParameters({ [name]: bad }), new RegExp(`^Error: ${name}=.* is not allowed: it must be `), name)
})

test('the error for a bad MONGODB_URI does not show the value, which may hold a password', () => {
  assert.throws(
    () => readParameters({ MONGODB_URI: 'mongodb://me:hunter2 @host/' }),
    (error) => !(/** @type {Error} */ (error).message.includes('hunter2'))
  )
})

test('readKeys accepts only files of public keys', (t) => {
  const file = path.join(temporary(t), 'key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
  assert.equal(readKeys('none'), '')
  assert.match(readKeys(`${file}.pub`), /^ssh-ed25519 \S+ .*\n$/)
  assert.throws(() => readKeys(file), /is not a file of public ssh keys/)
  assert.throws(() => readKeys(`${file}.missing`), /cannot be read/)
})

test('the lock has every requested package, and packageDifferences lists each change', () => {
  assert.deepEqual(PACKAGES.filter((name) => !(name in lock.packages)), [])
  assert.deepEqual(packageDifferences({ a: '1', b: '1' }, { b: '2', c: '1' }), [
    'a 1 → (not installed)',
    'b 1 → 2',
    'c (not locked) → 1'
  ])
})

test('the base gets a new name for another release, mirror, package version or file, and for nothing else', (t) => {
  const overlay = path.join(temporary(t), 'overlay')
  cpSync(path.join(HERE, 'overlays/base'), overlay, { recursive: true, verbatimSymlinks: true })
  const name = (/** @type {Record<string, string>} */ env, locked = lock) =>
    baseName({ parameters: readParameters(env), lock: locked, overlay })
  const plain = name({})
  assert.equal(
    name({ BOARD: 'bananapi', BOARD_HOSTNAME: 'other', MONGODB_URI: 'mongodb://h/x', IMAGE_SIZE: '4G' }),
    plain
  )
  assert.notEqual(name({ SUITE: 'forky' }), plain)
  assert.notEqual(name({ MIRROR: 'http://mirror.example/debian' }), plain)
  assert.notEqual(name({}, { ...lock, packages: { ...lock.packages, nodejs: '0' } }), plain)
  writeFileSync(path.join(overlay, 'etc/fstab'), '# another\n')
  assert.notEqual(name({}), plain)
})

test('security updates are included if SECURITY_MIRROR is set', () => {
  const sources = (/** @type {Record<string, string>} */ env) =>
    mmdebstrapArguments(readParameters(env), '/o', '/t').filter((argument) => argument.startsWith('deb '))
  assert.deepEqual(sources({}), ['deb http://deb.debian.org/debian trixie main'])
  assert.deepEqual(sources({ SECURITY_MIRROR: 'http://m.example/s' }).slice(1), [
    'deb http://m.example/s trixie-security main'
  ])
})

test('layOver copies files with metadata that do not depend on the checkout\'s owner and umask', (t) => {
  const directory = temporary(t)
  const from = path.join(directory, 'from')
  mkdirSync(path.join(from, 'etc/left-out'), { recursive: true, mode: 0o700 })
  writeFileSync(path.join(from, 'etc/file'), 'new', { mode: 0o600 })
  writeFileSync(path.join(from, 'etc/program'), '#!/bin/sh')
  chmodSync(path.join(from, 'etc/program'), 0o700)
  symlinkSync('/dev/null', path.join(from, 'etc/link'))
  const to = path.join(directory, 'to')
  mkdirSync(path.join(to, 'etc'), { recursive: true })
  writeFileSync(path.join(to, 'etc/link'), 'was a file')
  writeFileSync(path.join(to, 'etc/stays'), '')
  layOver(from, to, { epoch: EPOCH, keep: (relative) => relative !== 'etc/left-out' })
  assert.deepEqual(listTree(to).map(({ path: file, mode, type }) => [file, type === 'link' ? '' : mode, type]), [
    ['etc', statMode(path.join(to, 'etc')), 'folder'],
    ['etc/file', '0644', 'file'],
    ['etc/link', '', 'link'],
    ['etc/program', '0755', 'file'],
    ['etc/stays', statMode(path.join(to, 'etc/stays')), 'file']
  ])
  assert.equal(readlinkSync(path.join(to, 'etc/link')), '/dev/null')
  assert.equal(statSync(path.join(to, 'etc/file')).mtimeMs, EPOCH * 1000)
})

/** @param {string} file */
const statMode = (file) => (statSync(file).mode & 0o7777).toString(8).padStart(4, '0')

test('equal root filesystems have equal digests; treeDifferences lists each difference of others', (t) => {
  const directory = temporary(t)
  const one = path.join(directory, 'one')
  mkdirSync(path.join(one, 'etc'), { recursive: true })
  for (const name of ['a', 'b', 'c']) writeFileSync(path.join(one, 'etc', name), name)
  const two = path.join(directory, 'two')
  execFileSync('cp', ['--archive', one, two])
  assert.equal(treeDigest(listTree(one)), treeDigest(listTree(two)))
  assert.deepEqual(parseTree(listTree(one).map((entry) => `${line(entry)}\n`).join('')), listTree(one))

  const { mtime } = statSync(path.join(two, 'etc/a'))
  writeFileSync(path.join(two, 'etc/a'), 'x')
  execFileSync('touch', ['--date', mtime.toISOString(), path.join(two, 'etc/a')])
  rmSync(path.join(two, 'etc/b'))
  chmodSync(path.join(two, 'etc/c'), 0o600)
  writeFileSync(path.join(two, 'etc/d'), '')
  execFileSync('touch', ['--reference', path.join(one, 'etc'), path.join(two, 'etc')])
  assert.notEqual(treeDigest(listTree(one)), treeDigest(listTree(two)))
  const differences = treeDifferences(listTree(one), listTree(two))
  assert.match(differences[0], /^etc\/a: (modified_s .*, )?sha256 [0-9a-f]{64} → [0-9a-f]{64}$/)
  assert.equal(differences[1], 'etc/b: only in the first')
  assert.match(differences[2], /^etc\/c: mode 0\d{3} → 0600$/)
  assert.equal(differences[3], 'etc/d: only in the second')
})

test('npm packages with machine code for another CPU are refused', (t) => {
  const directory = temporary(t)
  cpSync(process.execPath, path.join(directory, 'addon.node'))
  assert.throws(() => refuseForeignCode(directory), /addon\.node is not machine code for 32-bit ARM/)
  const header = Buffer.alloc(52)
  header.write('7f454c4601', 'hex')
  header.writeUInt16LE(40, 18)
  writeFileSync(path.join(directory, 'addon.node'), header)
  refuseForeignCode(directory)
  cpSync(process.execPath, path.join(directory, 'library.so.1.20'))
  assert.throws(() => refuseForeignCode(directory), /library\.so\.1\.20 is not/)
})

test('the boot loader is at 8 KiB, outside the partition table, and QEMU virt has none', () => {
  const card = { name: 'stevec.img', rootfs: '/w/rootfs.ext4', signature: '0a0b0c0d' }
  const text = genimageConfiguration({ ...card, loader: '/w/spl.bin' })
  assert.match(text, /partition boot-loader \{\n {4}in-partition-table = false\n {4}offset = 8192\n/)
  assert.match(text, /partition root \{[^}]*bootable = true\n {4}offset = 4194304\n/)
  assert.doesNotMatch(genimageConfiguration({ ...card, loader: null }), /boot-loader/)
  assert.deepEqual(Object.keys(BOARDS).filter((name) => BOARDS[name].uBoot === null), ['qemu-virt'])
})

/** @param {string} name  of a unit that the release and the board share */
const unitWithDropIn = (name) =>
  `${readFileSync(path.join(SHARED, name), 'utf8')}\n${readFileSync(path.join(UNITS, `${name}.d/board.conf`), 'utf8')}`

test('the services are sandboxed, and their memory limits add up to at most 70 % of the board\'s memory', () => {
  let mebibytes = 0
  for (const name of ['stevec-wiki.service', 'stevec-nginx.service']) {
    const unit = unitWithDropIn(name)
    for (const setting of [
      'DynamicUser=yes', 'ProtectSystem=strict', 'ProtectHome=yes', 'PrivateDevices=yes', 'RestrictNamespaces=yes',
      'SystemCallFilter=@system-service'
    ]) {
      assert.ok(unit.includes(`\n${setting}\n`), `${name}: ${setting}`)
    }
    assert.match(unit, /^CapabilityBoundingSet=(CAP_NET_BIND_SERVICE)?$/m)
    mebibytes += Number(/^MemoryMax=(\d+)M$/m.exec(unit)?.[1])
  }
  const tmpfs = [
    ...readFileSync(path.join(HERE, 'overlays/base/etc/fstab'), 'utf8').matchAll(/^tmpfs.*size=(\d+)m/gm)
  ].map((match) => Number(match[1]))
  assert.equal(tmpfs.length, 2)
  assert.ok(mebibytes + tmpfs[0] + tmpfs[1] <= 1024, `${mebibytes} MiB and ${tmpfs} MiB`)
  assert.ok(mebibytes <= 1024 * 0.7, `${mebibytes} MiB`)
})

test('exactly our units with WantedBy are enabled, and all their links lead to files', () => {
  const enabled = readdirSync(UNITS, { recursive: true, encoding: 'utf8' }).filter((file) => file.includes('.wants/'))
  const shared = readdirSync(UNITS).filter((entry) => /^stevec-.*\.d$/.test(entry)).map((entry) => entry.slice(0, -2))
  assert.deepEqual(shared, ['stevec-nginx.service', 'stevec-wiki.service'])
  const fileOf = (/** @type {string} */ name) => path.join(shared.includes(name) ? SHARED : UNITS, name)
  const own = readdirSync(UNITS).filter((entry) => /^stevec-.*\.(service|timer)$/.test(entry))
  for (const file of [...own, ...shared]) {
    const wantedBy = /^WantedBy=(\S+)$/m.exec(readFileSync(fileOf(file), 'utf8'))?.[1]
    assert.equal(enabled.includes(`${wantedBy}.wants/${file}`), wantedBy !== undefined, file)
  }
  for (const file of enabled.filter((entry) => entry.includes('/stevec-'))) {
    assert.ok(statSync(fileOf(path.basename(readlinkSync(path.join(UNITS, file))))).isFile(), file)
  }
})

test('login by password is off, and no overlay file holds a secret', () => {
  const sshd = readFileSync(path.join(SYSTEM, 'etc/ssh/sshd_config.d/stevec.conf'), 'utf8')
  for (const setting of [
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'PermitRootLogin prohibit-password'
  ]) {
    assert.ok(sshd.includes(`\n${setting}\n`), setting)
  }
  const files = readdirSync(path.join(HERE, 'overlays'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
  assert.ok(files.length > 15)
  for (const file of files) {
    assert.doesNotMatch(file, /shadow|passwd|authorized_keys|host_.*_key$|machine-id$/)
    assert.doesNotMatch(readFileSync(file, 'utf8'), /PRIVATE KEY|chpasswd|ssh-(ed25519|rsa) AAAA/, file)
  }
})

test('wikiSettings quotes the MongoDB URI so that systemd reads it unchanged', () => {
  assert.match(
    wikiSettings('mongodb://me:p%40ss$word@h:1/x?a=b&c=d'),
    /^MONGODB_URI='mongodb:\/\/me:p%40ss\$word@h:1\/x\?a=b&c=d'$/m
  )
})
