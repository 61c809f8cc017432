import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir, userInfo } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { ANY_BOARD, skipReason } from './boards.js'

const { uid, homedir } = userInfo()
const skip = skipReason('virt', ANY_BOARD) || (uid !== 0 && 'only root may create a network namespace')

/** An address of this machine that the emulated board reaches, too; the board's own network is 10.0.2.0/24. */
const SHARED_ADDRESS = '10.99.0.1'

test('--origin ssh:// uses the user\'s ssh key and settings, and restores the machine', { skip }, async (t) => {
  // ssh reads the settings in the account's home folder, whatever HOME says. A bind mount replaces that folder; other
  // processes do not see the mount.
  const settings = mkdtempSync(path.join(tmpdir(), 'stevec-ssh-'))
  t.after(() => rmSync(settings, { recursive: true, force: true }))
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const script = `set -e; ip link set lo up; ip address add ${SHARED_ADDRESS}/32 dev lo; mkdir -p -m 700 "$2/.ssh"; mount --bind "$1" "$2/.ssh"; shift 2; exec "$@"`
  const inside = spawn('unshare', [
    '--net', '--mount',
    'sh', '-c', script, 'sh', settings, homedir,
    process.execPath, '--test-reporter=spec', fileURLToPath(new URL('ssh-origin.js', import.meta.url))
  ], {
    env: { ...env, SHARED_ADDRESS, SSH_SETTINGS: settings },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  inside.stdout.setEncoding('utf8').on('data', (text) => { t.diagnostic(text.trimEnd()) })
  const [exitCode] = await once(inside, 'close')
  assert.equal(exitCode, 0)
})
