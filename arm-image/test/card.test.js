import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { debugfs, prepareCard, readImageFile } from '../src/board.js'
import { makeCard, ROOT_OFFSET_BYTES, SPL_OFFSET_BYTES } from '../src/card.js'
import { readParameters } from '../src/parameters.js'
import { createRun } from '../src/run.js'
import { listTree, treeDigest } from '../src/tree.js'
import { bytes } from './bytes.js'

const TOOLS = ['genimage', 'mke2fs', 'debugfs', 'ssh-keygen']
const missing = TOOLS.filter((tool) => spawnSync('sh', ['-c', 'command -v "$0"', tool]).status !== 0)
const skip =
  missing.length > 0 && `${missing.join(', ')} missing; \`./stevec setup --with image\` installs what is needed`
const EPOCH = 1_700_000_000

test('a card has the layout that the boards boot, is reproducible, ' +
  'and takes the settings of one board without a mount', { skip }, async (t) => {
  const place = mkdtempSync(path.join(tmpdir(), 'stevec-card-'))
  t.after(() => rmSync(place, { recursive: true, force: true }))
  const tree = path.join(place, 'tree')
  const loader = Buffer.from('SPL and U-Boot of a board')
  const write = (/** @type {string} */ file, /** @type {string | Buffer} */ content) => {
    mkdirSync(path.dirname(path.join(tree, file)), { recursive: true })
    writeFileSync(path.join(tree, file), content)
  }
  write('usr/lib/u-boot/Lamobo_R1/u-boot-sunxi-with-spl.bin', loader)
  write('boot/extlinux/extlinux.conf', 'default l0\n')
  write('etc/stevec/wiki.env', 'MONGODB_URI=\'mongodb://built-in/x\'\n')
  mkdirSync(path.join(tree, 'root'))
  const make = async (/** @type {string} */ name) => {
    const work = path.join(place, name)
    mkdirSync(path.join(work, 'out'), { recursive: true })
    const output = path.join(work, 'out/stevec.img')
    await makeCard({
      tree,
      digest: treeDigest(listTree(tree)),
      parameters: readParameters({}),
      epoch: EPOCH,
      work,
      output,
      run: createRun(path.join(work, 'log'), () => {})
    })
    return output
  }
  const image = await make('first')

  const { size } = statSync(image)
  assert.equal(size, 1024 ** 3)
  assert.deepEqual(bytes(image, SPL_OFFSET_BYTES, loader.length), loader)
  const table = bytes(image, 0, 512)
  assert.equal(table.readUInt16BE(510), 0x55aa)
  assert.deepEqual([table[446], table[450], table.readUInt32LE(454) * 512], [0x80, 0x83, ROOT_OFFSET_BYTES])
  assert.equal((table.readUInt32LE(454) + table.readUInt32LE(458)) * 512, size)
  assert.equal(readImageFile(image, '/boot/extlinux/extlinux.conf'), 'default l0\n')
  assert.match(debugfs(image, ['show_super_stats -h']), /Filesystem volume name: +stevec\n/)
  // The second build sees other access times. They are in the future, so that reading the files does not change them.
  const readAt = new Date(Date.now() + 3_600_000)
  for (const file of readdirSync(tree, { recursive: true, encoding: 'utf8' })) {
    utimesSync(path.join(tree, file), readAt, statSync(path.join(tree, file)).mtime)
  }
  assert.equal(spawnSync('cmp', [image, await make('second')]).status, 0, 'equal inputs give equal bytes')

  const card = path.join(place, 'card')
  prepareCard({ image, card, mongodbUri: 'mongodb://h/x', publicKey: 'ssh-ed25519 AAAA me\n', work: place })
  assert.equal(statSync(card).size, 2 * size)
  assert.match(readImageFile(card, '/etc/stevec/wiki.env'), /^MONGODB_URI='mongodb:\/\/h\/x'$/m)
  assert.equal(readImageFile(card, '/root/.ssh/authorized_keys'), 'ssh-ed25519 AAAA me\n')
  assert.match(debugfs(card, ['stat /root/.ssh/authorized_keys']), /Mode: +0600 [^]*User: +0 +Group: +0 /)
  assert.match(readImageFile(image, '/etc/stevec/wiki.env'), /built-in/, 'the image itself is unchanged')
})
