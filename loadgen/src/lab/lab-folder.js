import path from 'node:path'
import { lockFolder } from '@stevec/harness/folder-lock'
import { LockedError } from '@stevec/harness/machine-lock'

/**
 * Returns the folder of the lab's stack; each measurement empties it.
 * @param {string} stateDirectory
 */
export const labDirectory = (stateDirectory) => path.join(stateDirectory, 'lab')

/**
 * Does something with the lab's folder while no other process does. The machine's lock does not suffice: containers
 * have one each, and may share the folder.
 * @template T
 * @param {string} stateDirectory
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 * @throws {LockedError} when another process uses the folder
 */
export async function withLabFolder (stateDirectory, act) {
  const directory = labDirectory(stateDirectory)
  const release = await lockFolder(directory)
  if (release === null) {
    throw new LockedError(`another measurement uses the folder ${directory}, perhaps in a container of its own. Wait ` +
      'for its end, or name another folder in STEVEC_STATE')
  }
  try {
    return await act()
  } finally {
    await release()
  }
}
