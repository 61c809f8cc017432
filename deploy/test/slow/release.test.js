import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { buildRelease } from '@stevec/deploy/release/build'
import { HERE } from '@stevec/deploy/release/units'

const ROOT = path.resolve(HERE, '../..')
const skip = spawnSync('dpkg-deb', ['--version']).status !== 0 && 'needs dpkg-deb'

/** @param {string} file */
const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex')

test('two builds, each with npm packages of its own, have the same bytes', { skip, timeout: 900_000 }, async (t) => {
  const umask = process.umask()
  const builds = []
  for (const mask of [0o022, 0o077]) {
    const directory = mkdtempSync(path.join(tmpdir(), 'stevec-release-'))
    t.after(() => rmSync(directory, { recursive: true, force: true }))
    process.umask(mask)
    builds.push(await buildRelease({ source: ROOT, directory }).finally(() => process.umask(umask)))
  }
  const [one, other] = builds
  assert.equal(sha256(one.tarball), sha256(other.tarball))
  assert.equal(sha256(one.deb), sha256(other.deb))

  const files = execFileSync('tar', ['--list', '--file', one.tarball], { encoding: 'utf8', maxBuffer: 1024 ** 3 })
  const inside = files.split('\n').map((line) => line.slice(line.indexOf('/') + 1))
  assert.ok(path.basename(one.tarball).startsWith(`stevec-${one.version.name}`))
  for (const wanted of ['wiki-app/src/server.js', 'nginx/lua/edge.lua', 'node_modules/fastify/package.json']) {
    assert.ok(inside.includes(wanted), wanted)
  }
  const own = inside.filter((file) => !file.startsWith('node_modules/'))
  assert.deepEqual(own.filter((file) => /(^|\/)(test|bench|torture|loadgen|harness|fuzz)\//.test(file)), [])
  const ofTests = /node_modules\/(eslint|typescript|playwright-core|fast-check)\//
  assert.deepEqual(inside.filter((file) => ofTests.test(file)), [])
  const programs = inside.filter((file) => /\.(node|so)(\.\d+)*$/.test(file))
  assert.deepEqual(programs.map((file) => file.replace(/[-.]\d+(\.\d+)+/, '')).sort(), [
    ...['arm64', 'x64'].map((cpu) => `node_modules/@img/sharp-libvips-linux-${cpu}/lib/libvips-cpp.so`),
    ...['arm64', 'x64'].map((cpu) => `node_modules/@img/sharp-linux-${cpu}/lib/sharp-linux-${cpu}.node`),
    ...['arm64', 'x64'].map((cpu) => `node_modules/@libsql/linux-${cpu}-gnu/index.node`)
  ])
})
