import { spawnSync } from 'node:child_process'

/** @typedef {import('./runner.js').Runner} Runner */

/**
 * Returns why apt-get cannot install something here and what to do, or null if it can.
 * @param {string} what  that the packages provide
 * @param {string[]} packages
 * @param {string} otherwise  another way out, as the end of a sentence
 * @returns {string | null}
 */
export function aptBlocked (what, packages, otherwise) {
  const command = `apt-get install -y --no-install-recommends ${packages.join(' ')}`
  if (spawnSync('apt-get', ['--version']).status !== 0) {
    return `${what} is missing, and there is no apt-get to install it; install the equivalents of ${packages.join(', ')}, or ${otherwise}`
  }
  if (process.getuid?.() !== 0) {
    return `${what} is missing, and only root can install it; run:\n    sudo ${command}\n  or ${otherwise}`
  }
  return null
}

/** Serialises installations: two steps may need packages at once, and `apt-get update` does not wait for another. */
let aptTurn = Promise.resolve()

/**
 * @param {Runner} run
 * @param {string[]} packages
 */
export function aptInstall (run, packages) {
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  const lock = ['-o', 'DPkg::Lock::Timeout=120']
  const mine = aptTurn.then(async () => {
    await run('apt-get', ['update', ...lock], env)
    await run('apt-get', ['install', '-y', '--no-install-recommends', ...lock, ...packages], env)
  })
  aptTurn = mine.catch(() => {})
  return mine
}
