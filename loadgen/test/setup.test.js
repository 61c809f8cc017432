import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { readConfig, ROOT } from '../src/config.js'
import { steps } from '../src/tools/steps.js'

test('a browser is only seen to when it is asked for', () => {
  assert.ok(!steps().some(({ name }) => name === 'chromium'))
  assert.equal(steps(['chromium']).at(-1)?.name, 'chromium')
})

test('a browser that is there is taken, and one that is missing comes from apt-get or with the command to type', (t) => {
  const empty = mkdtempSync(path.join(tmpdir(), 'stevec-path-'))
  t.after(() => rmSync(empty, { recursive: true }))
  assert.match(String(steps(['chromium']).at(-1)?.present()), /^chromium \d+\.\d+\.\d+ \(/)
  assert.equal(steps(['chromium'], readConfig({ PATH: empty })).at(-1)?.present(), null)
  const blocked = steps(['chromium'], readConfig({ PATH: empty })).at(-1)?.blocked() ?? null
  if (process.getuid?.() === 0) assert.equal(blocked, null)
  else assert.match(String(blocked), /apt-get install -y --no-install-recommends chromium[^]*CHROMIUM_BIN/)
})

test('what builds images is taken when all of it is there, and otherwise comes from apt-get or with the command to type', (t) => {
  const programs = mkdtempSync(path.join(tmpdir(), 'stevec-path-'))
  t.after(() => rmSync(programs, { recursive: true }))
  for (const program of ['mmdebstrap', 'arch-test', 'qemu-arm-static', 'genimage', 'mke2fs', 'xz', 'ssh']) writeFileSync(path.join(programs, program), '', { mode: 0o755 })
  const step = () => /** @type {import('../src/tools/steps.js').Step} */ (steps(['image'], readConfig({ PATH: programs })).at(-1))
  if (!existsSync('/usr/sbin/qemu-system-arm')) assert.equal(step().present(), null)
  writeFileSync(path.join(programs, 'qemu-system-arm'), '#!/bin/sh\necho QEMU emulator version 10.0.2', { mode: 0o755 })
  assert.equal(step().present(), 'mmdebstrap, genimage, qemu 10.0.2 (PATH)')
  if (process.getuid?.() === 0) assert.equal(step().blocked(), null)
  else assert.match(String(step().blocked()), /sudo apt-get install -y --no-install-recommends mmdebstrap/)
})

test('what cannot be asked for is refused with what can', () => {
  const { status, stderr } = spawnSync(path.join(ROOT, 'stevec'), ['setup', '--with', 'netscape'], { encoding: 'utf8' })
  assert.equal(status, 2)
  assert.match(stderr, /--with must be one of chromium, faketime, wrk, image, not "netscape"/)
})
