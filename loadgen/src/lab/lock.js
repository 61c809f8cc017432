import { tryLock } from '@stevec/harness/lock'

/** Another run is in progress: two at once would distort each other's measurements. */
export class LockedError extends Error {}

/**
 * @param {string} file
 * @returns {() => void} releases the lock
 * @throws {LockedError} when a living process holds the lock; a dead process's lock is taken over
 */
export function acquireLock (file) {
  const { release, holder } = tryLock(file)
  if (release !== null) return release
  throw new LockedError(
    `a run is already under way (process ${holder}); wait for it, or stop it with Ctrl-C where it was started`)
}
