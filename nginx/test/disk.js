import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/**
 * A small disk of its own, gone after the test; null where one cannot be mounted.
 * @param {import('node:test').TestContext} t
 * @param {number} bytes
 */
export function mountDisk (t, bytes) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', directory]).status === 0
  t.after(() => {
    // Lazily: the edge still has it open.
    if (mounted) execFileSync('umount', ['-l', directory])
    rmSync(directory, { recursive: true })
  })
  return mounted ? directory : null
}
