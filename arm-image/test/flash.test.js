import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { blockDeviceName, checkDisk, writeImage } from '../src/flash.js'
import { HERE } from '../src/parameters.js'

const GIB = 1024 ** 3

/** @param {import('node:test').TestContext} t */
function temporary (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-flash-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/**
 * Creates a machine as /sys and /proc show it: an encrypted system disk, a USB card reader, a built-in card reader.
 * @param {import('node:test').TestContext} t
 */
function machine (t) {
  const root = temporary(t)
  const sys = path.join(root, 'sys')
  mkdirSync(path.join(sys, 'class/block'), { recursive: true })
  /** @param {string} name @param {string} place @param {Record<string, string>} files @param {string[]} [holders] */
  const device = (name, place, files, holders = []) => {
    const folder = path.join(sys, 'devices', place)
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
      writeFileSync(path.join(folder, file), `${text}\n`)
    }
    mkdirSync(path.join(folder, 'holders'), { recursive: true })
    for (const holder of holders) writeFileSync(path.join(folder, 'holders', holder), '')
    symlinkSync(folder, path.join(sys, 'class/block', name))
  }
  device('sda', 'sda', { dev: '8:0', size: String(500 * GIB / 512), removable: '0', ro: '0' })
  device('sda1', 'sda/sda1', { dev: '8:1', partition: '1' }, ['dm-0'])
  device('sda2', 'sda/sda2', { dev: '8:2', partition: '2' })
  device('dm-0', 'dm-0', { dev: '254:0' })
  device('sdb', 'sdb', {
    dev: '8:16',
    size: String(32 * GIB / 512),
    removable: '1',
    ro: '0',
    'device/vendor': 'Generic',
    'device/model': 'SD/MMC'
  })
  device('sdb1', 'sdb/sdb1', { dev: '8:17', partition: '1' })
  device('mmcblk0', 'mmcblk0', {
    dev: '179:0',
    size: String(8 * GIB / 512),
    removable: '0',
    ro: '0',
    'device/type': 'SD',
    'device/name': 'SU08G'
  })
  const kernel = { sys, mountinfo: path.join(root, 'mountinfo'), swaps: path.join(root, 'swaps') }
  const mount = (/** @type {string} */ number, /** @type {string} */ where, source = '/dev/x') =>
    writeFileSync(kernel.mountinfo, `20 1 ${number} / ${where} rw,noatime shared:1 - ext4 ${source} rw\n`)
  mount('254:9', '/')
  writeFileSync(kernel.swaps, 'Filename Type Size Used Priority\n')
  return {
    kernel,
    mount,
    set: (/** @type {string} */ file, /** @type {string} */ text) =>
      writeFileSync(path.join(sys, 'class/block', file), `${text}\n`)
  }
}

test('checkDisk accepts a card in a USB or a built-in reader and returns its model and size', (t) => {
  const { kernel } = machine(t)
  assert.deepEqual(checkDisk('sdb', GIB, kernel), { model: 'Generic SD/MMC', sizeBytes: 32 * GIB })
  assert.deepEqual(checkDisk('mmcblk0', GIB, kernel), { model: 'SU08G', sizeBytes: 8 * GIB })
})

test('checkDisk refuses the system disk, also if encrypted, used as swap, or with btrfs device numbers', (t) => {
  const { kernel, mount } = machine(t)
  mount('254:0', '/')
  assert.throws(() => checkDisk('sda', GIB, kernel), /sda holds the running system \(dm-0 is \/\)/)
  mount('0:33', '/home', '/dev/sda2')
  assert.throws(() => checkDisk('sda', GIB, kernel), /sda holds the running system \(sda2 is \/home\)/)
  mount('8:17', '/')
  assert.throws(
    () => checkDisk('sdb', GIB, kernel),
    /sdb holds the running system/,
    'the system may be on a removable disk'
  )
  mount('254:9', '/')
  writeFileSync(kernel.swaps, 'Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n')
  assert.throws(() => checkDisk('sda', GIB, kernel), /sda holds the running system \(sda2 is swap\)/)
})

test('checkDisk refuses a disk that is not whole, removable, writable, unmounted and of a usable size', (t) => {
  const { kernel, mount, set } = machine(t)
  assert.throws(() => checkDisk('sda', GIB, kernel), /sda is not removable/)
  assert.throws(() => checkDisk('sdb1', GIB, kernel), /sdb1 is a partition; use the whole disk, sdb/)
  assert.throws(() => checkDisk('sdc', GIB, kernel), /there is no disk sdc/)
  assert.throws(() => checkDisk('sdb', 64 * GIB, kernel), /sdb has 34\.4 GB, and the image needs 68\.7 GB/)
  mount('8:17', '/media/card')
  assert.throws(() => checkDisk('sdb', GIB, kernel), /sdb is in use \(sdb1 is \/media\/card\); unmount it first/)
  mount('254:9', '/')
  set('sdb/ro', '1')
  assert.throws(() => checkDisk('sdb', GIB, kernel), /write-protected/)
  set('mmcblk0/size', '0')
  assert.throws(() => checkDisk('mmcblk0', GIB, kernel), /there is no card in mmcblk0/)
  set('mmcblk0/size', String(4096 * GIB / 512))
  assert.throws(() => checkDisk('mmcblk0', GIB, kernel), /too much for a card/)
})

test('checkDisk refuses the system disk of this machine', (t) => {
  const { stdout } = spawnSync('findmnt', ['--noheadings', '--output', 'MAJ:MIN', '/'], { encoding: 'utf8' })
  const root = spawnSync('sh', ['-c', 'basename "$(readlink -f "/sys/dev/block/$1")"', 'sh', stdout.trim()], {
    encoding: 'utf8'
  }).stdout.trim()
  if (!root || stdout.trim().startsWith('0:')) return t.skip('the root of this machine is not on a disk')
  assert.throws(() => checkDisk(root, 1), /holds the running system|is a partition/)
})

test('writeImage writes and verifies the image, and reports the progress of both phases', (t) => {
  const directory = temporary(t)
  const image = path.join(directory, 'image')
  const target = path.join(directory, 'card')
  const content = randomBytes(9 * 1024 ** 2 + 12_345)
  writeFileSync(image, content)
  writeFileSync(target, Buffer.alloc(content.length + 5000, 7))
  /** @type {[string, number, number][]} */
  const seen = []
  writeImage({
    image,
    sha256: createHash('sha256').update(content).digest('hex'),
    target,
    onProgress: (...progress) => seen.push(progress)
  })
  const card = readFileSync(target)
  assert.ok(card.subarray(0, content.length).equals(content))
  assert.ok(card.subarray(content.length).every((byte) => byte === 7), 'the bytes after the image are unchanged')
  for (const phase of ['write', 'verify']) {
    assert.deepEqual(seen.filter(([name]) => name === phase).at(-1), [phase, content.length, content.length])
  }
})

test('writeImage refuses a damaged image, and detects a card that loses data', (t) => {
  const directory = temporary(t)
  const image = path.join(directory, 'image')
  const target = path.join(directory, 'card')
  const content = randomBytes(5 * 1024 ** 2)
  const sha256 = createHash('sha256').update(content).digest('hex')
  writeFileSync(image, Buffer.concat([content, Buffer.from('x')]))
  writeFileSync(target, 'what was there')
  assert.throws(() => writeImage({ image, sha256, target }), /is damaged: its SHA-256/)
  assert.equal(readFileSync(target, 'utf8'), 'what was there')

  writeFileSync(image, content)
  const spoil = (/** @type {string} */ phase, /** @type {number} */ done) => {
    if (phase === 'write' && done === content.length) writeFileSync(target, Buffer.alloc(content.length))
  }
  assert.throws(() => writeImage({ image, sha256, target, onProgress: spoil }), /returned other data than was written/)
})

test('a regular file is not a disk; the command reports it and exits with 1', (t) => {
  const file = path.join(temporary(t), 'file')
  writeFileSync(file, '')
  assert.throws(() => blockDeviceName(file), /is not a disk/)
  assert.throws(() => blockDeviceName(`${file}.missing`), /there is no/)
  const build = temporary(t)
  mkdirSync(path.join(build, 'bananapi'))
  writeFileSync(
    path.join(build, 'bananapi/manifest.json'),
    JSON.stringify({ size_bytes: 1, image: 'stevec.img', sha256: '' })
  )
  const flash = (/** @type {string[]} */ ...args) =>
    spawnSync(path.join(HERE, 'flash'), args, { encoding: 'utf8', env: { ...process.env, STEVEC_IMAGE: build } })
  const refused = flash(file, '--board', 'bananapi', '--yes')
  assert.equal(refused.status, 1)
  assert.match(refused.stderr, /is not a disk/)
  assert.match(flash(file).stderr, /there is no image for lamobo-r1; run: sudo make image BOARD=lamobo-r1/)
  assert.equal(flash().status, 2)
})
