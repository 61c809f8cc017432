import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { BOARDS } from '../recipe.js'
import { debugfs, readImageFile } from '../src/board.js'
import { ROOT_OFFSET_BYTES, SPL_OFFSET_BYTES } from '../src/card.js'
import { buildDirectory, ROOT } from '../src/parameters.js'
import { parseTree, sha256File, treeDigest } from '../src/tree.js'
import { bytes } from './bytes.js'

const SECTOR_BYTES = 512
/** Leaves room on a card of 1 GB for an `apt upgrade`. */
const ROOTFS_MAX_BYTES = 600 * 1024 ** 2

const directory = buildDirectory()
const built = Object.keys(BOARDS).filter((board) => existsSync(path.join(directory, board, 'manifest.json')))
if (built.length === 0) {
  test('the structure of an image', { skip: 'no image exists; `sudo make image` builds one' }, () => {})
}

for (const board of built) {
  const here = path.join(directory, board)
  const image = path.join(here, 'stevec.img')
  const manifest = JSON.parse(readFileSync(path.join(here, 'manifest.json'), 'utf8'))
  const entries = parseTree(readFileSync(path.join(here, 'files.jsonl'), 'utf8'))
  const files = new Map(entries.map((entry) => [entry.path, entry]))
  /** @param {string} file */
  const has = (file) => files.has(file.replace(/^\//, ''))

  test(`${board}: the image matches its manifest and SHA256SUMS`, () => {
    const sums = readFileSync(path.join(here, 'SHA256SUMS'), 'utf8').trimEnd().split('\n').map((row) => row.split('  '))
    assert.ok(sums.length >= 6)
    for (const [sum, file] of sums) assert.equal(sha256File(path.join(here, file)), sum, file)
    assert.equal(sums.find(([, file]) => file === 'stevec.img')?.[0], manifest.sha256)
    assert.equal(treeDigest(entries), manifest.rootfs_sha256)
  })

  test(`${board}: the size is a power of two, with one bootable Linux partition from 4 MiB to the end`, () => {
    const { size } = statSync(image)
    assert.equal(size, manifest.size_bytes)
    assert.equal(Math.log2(size) % 1, 0)
    const table = bytes(image, 0, SECTOR_BYTES)
    assert.equal(table.readUInt16BE(510), 0x55aa)
    assert.equal(table[446], 0x80, 'bootable')
    assert.equal(table[446 + 4], 0x83, 'Linux')
    assert.equal(table.readUInt32LE(446 + 8) * SECTOR_BYTES, ROOT_OFFSET_BYTES)
    assert.equal((table.readUInt32LE(446 + 8) + table.readUInt32LE(446 + 12)) * SECTOR_BYTES, size)
    assert.ok(table.subarray(462, 510).every((byte) => byte === 0), 'no other partition')
    assert.equal(bytes(image, ROOT_OFFSET_BYTES + 1024 + 56, 2).readUInt16LE(), 0xef53, 'ext4')
  })

  test(`${board}: the first stage of the boot loader is where the CPU's ROM expects it`, {
    skip: BOARDS[board].uBoot === null && 'QEMU virt has no boot loader'
  }, () => {
    assert.equal(bytes(image, SPL_OFFSET_BYTES + 4, 8).toString('latin1'), 'eGON.BT0')
    const loader = /** @type {import('../src/tree.js').TreeEntry} */ (
      files.get(`usr/lib/u-boot/${BOARDS[board].uBoot}/u-boot-sunxi-with-spl.bin`)
    )
    assert.ok(SPL_OFFSET_BYTES + loader.size_bytes <= ROOT_OFFSET_BYTES)
  })

  test(`${board}: U-Boot's menu names a kernel, an initramfs and the device trees of all boards`, () => {
    const menu = readImageFile(image, '/boot/extlinux/extlinux.conf')
    const named = (/** @type {string} */ word) => new RegExp(`^\\s*${word}\\s+(\\S+)`, 'm').exec(menu)?.[1] ?? ''
    assert.ok(has(named('linux')), menu)
    assert.ok(has(named('initrd')), menu)
    for (const { deviceTree } of Object.values(BOARDS)) {
      assert.ok(deviceTree === null || has(path.posix.join(named('fdtdir'), deviceTree)), String(deviceTree))
    }
    assert.match(menu, /append root=LABEL=stevec /)
    assert.match(debugfs(image, ['show_super_stats -h']), /Filesystem volume name: +stevec\n/)
    assert.match(readImageFile(image, '/etc/fstab'), /^LABEL=stevec +\/ +ext4 .*x-systemd\.growfs/m)
  })

  test(`${board}: the units of wiki, nginx, ssh, network and time are enabled, nginx.service is masked`, () => {
    const wants = 'etc/systemd/system'
    for (const unit of [
      'multi-user.target.wants/stevec-wiki.service', 'multi-user.target.wants/stevec-nginx.service',
      'multi-user.target.wants/ssh.service', 'multi-user.target.wants/systemd-networkd.service',
      'local-fs.target.wants/stevec-grow.service', 'ssh.service.wants/sshd-keygen.service',
      'timers.target.wants/stevec-rotate.timer', 'sysinit.target.wants/systemd-timesyncd.service',
      'sysinit.target.wants/systemd-resolved.service'
    ]) {
      const entry = files.get(`${wants}/${unit}`)
      assert.equal(entry?.type, 'link', unit)
      const target = path.posix.resolve(
        `/${wants}/${path.dirname(unit)}`,
        /** @type {NonNullable<typeof entry>} */ (entry).target
      )
      assert.ok(has(target) || has(`/usr${target}`), `${unit} → ${target}`)
    }
    assert.equal(files.get(`${wants}/nginx.service`)?.target, '/dev/null')
    assert.ok(
      has('/usr/bin/node') &&
        has('/usr/sbin/nginx') &&
        has('/opt/stevec/wiki-app/src/server.js') &&
        has('/opt/stevec/node_modules/fastify/package.json')
    )
    const configuration = readImageFile(image, '/etc/stevec/nginx.conf')
    assert.match(configuration, /listen 0\.0\.0\.0:80 default_server;/)
    for (const [, include] of configuration.matchAll(/include "([^"]+)"/g)) assert.ok(has(include), include)
  })

  test(`${board}: the image has all packages that the wiki imports`, (t) => {
    const opt = '/opt/stevec'
    if (
      files.get('opt/stevec/wiki-app/package.json')?.sha256 !== sha256File(path.join(ROOT, 'wiki-app/package.json'))
    ) {
      return t.skip('the image was built from another version of the wiki; `sudo make image` builds a new one')
    }
    assert.equal(files.get('opt/stevec/node_modules/@stevec/cdn')?.target, '../../cdn')
    const sources = [...files.keys()].filter(
      (file) => /^opt\/stevec\/(wiki-app|cdn)\/.*\.js$/.test(file) && !file.includes('/assets/')
    )
    assert.ok(sources.length > 50)
    for (const file of sources) {
      const text = readFileSync(path.join(ROOT, path.posix.relative('opt/stevec', file)), 'utf8')
      for (const [, early, late] of text.matchAll(
        /^import .*? from '([^'.][^']*)'|[^{]import\('([^'.][^']*)'\)(?!\.[A-Z])/gm
      )) {
        const name = early ?? late
        if (name.startsWith('node:')) continue
        const packageName = name.split('/').slice(0, name.startsWith('@') ? 2 : 1).join('/')
        assert.ok(
          has(`${opt}/node_modules/${packageName}`) || has(`${opt}/${file.split('/')[2]}/node_modules/${packageName}`),
          `${file} imports ${name}`
        )
      }
    }
  })

  test(`${board}: the image has no secret, no password and no identity that boards would share`, () => {
    const shadow = readImageFile(image, '/etc/shadow').trimEnd().split('\n').map((row) => row.split(':'))
    assert.ok(shadow.length > 10)
    for (const [name, password] of shadow) assert.match(password, /^[!*]/, name)
    assert.deepEqual(
      entries
        .filter(({ path: file }) =>
          /^etc\/ssh\/ssh_host_|^var\/lib\/systemd\/random-seed$|^root\/\.(npmrc|bash_history)$|\.npmrc$/.test(file)
        )
        .map(({ path: file }) => file),
      []
    )
    assert.equal(files.get('etc/machine-id')?.size_bytes, 0)
    assert.equal(has('/root/.ssh/authorized_keys'), manifest.parameters.SSH_KEY !== 'none')
    assert.equal(files.get('etc/stevec/wiki.env')?.mode, '0600')
    assert.ok(!('MONGODB_URI' in manifest.parameters))
    assert.deepEqual(
      entries.filter(({ uid, path: file }) => uid !== 0 && /^(opt|usr|etc\/stevec|root)\b/.test(file)),
      []
    )
  })

  test(`${board}: the image has no compiler, npm or build files, and stays below its maximum size`, () => {
    const packages = readFileSync(path.join(here, 'packages.txt'), 'utf8')
    assert.equal(readImageFile(image, '/usr/share/stevec/packages.txt'), packages)
    assert.equal(packages.trimEnd().split('\n').length, manifest.packages.count)
    assert.doesNotMatch(packages, /^(gcc|g\+\+|make|npm|python3|build-essential)(-\d+)?=/m)
    assert.deepEqual(
      entries.filter(({ path: file }) => /^opt\/.*\.(c|cc|gyp|o)$/.test(file)).map(({ path: file }) => file),
      []
    )
    const size = entries.reduce((sum, entry) => sum + entry.size_bytes, 0)
    assert.ok(size < ROOTFS_MAX_BYTES, `${size} bytes`)
    assert.deepEqual(readdirSync(here).filter((file) => file.startsWith('work-')), [])
  })
}
