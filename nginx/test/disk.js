import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/**
 * Mounts a small disk and removes it after the test; returns null without the right to mount.
 * @param {import('node:test').TestContext} t
 * @param {number} bytes
 */
export function mountDisk (t, bytes) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', directory]).status === 0
  t.after(() => {
    // Lazy unmount: the edge still has the disk open.
    if (mounted) execFileSync('umount', ['-l', directory])
    rmSync(directory, { recursive: true })
  })
  return mounted ? directory : null
}
