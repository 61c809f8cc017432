import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import path from 'node:path'

/** None of the codes that flock(1) itself ends with. */
const HELD_EXIT_CODE = 200

/**
 * Takes the lock of a folder: flock(2) on the file `<folder>.lock`. Other than the machine's lock, it holds between
 * containers that share the folder; other than a pid in a file, it needs no common process namespace. The kernel frees
 * it however this process ends. Node cannot call flock(2), so a small program holds the lock, until its input ends.
 * @param {string} folder  need not exist
 * @returns {Promise<(() => Promise<void>) | null>} releases the lock; null: another process, or this one, holds it
 * @throws {Error} when there is no flock(1), or the file cannot be written
 */
export async function lockFolder (folder) {
  const file = `${folder}.lock`
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  const command = ['--nonblock', '--no-fork', '--conflict-exit-code', String(HELD_EXIT_CODE), file]
  const holder = spawn('flock', [...command, 'sh', '-c', 'echo; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // A Ctrl-C at the terminal would release the lock.
    detached: true
  })
  const exited = once(holder, 'exit')
  const taken = await Promise.race([once(holder.stdout, 'data').then(() => true), exited.then(() => false)])
  if (taken) {
    return async () => {
      holder.stdin.end()
      await exited
    }
  }
  const [exitCode] = await exited
  if (exitCode === HELD_EXIT_CODE) return null
  throw new Error(`${file} cannot be locked (flock ended with ${exitCode})`)
}
