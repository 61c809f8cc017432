import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
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

test('what cannot be asked for is refused with what can', () => {
  const { status, stderr } = spawnSync(path.join(ROOT, 'stevec'), ['setup', '--with', 'netscape'], { encoding: 'utf8' })
  assert.equal(status, 2)
  assert.match(stderr, /--with must be one of chromium, not "netscape"/)
})
