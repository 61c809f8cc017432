import path from 'node:path'
import { boardReady, boardSsh, readBoardState, seenFromGuest, startBoard, stopBoard } from '@stevec/arm-image/emulator'
import { isAlive } from '@stevec/harness/processes'
import { isRunning, readState } from '../state.js'
import { OriginError } from './origin-error.js'
import { createRemoteOrigin, inspectHost } from './remote.js'

/** Placeholder until a stack names its database; the board's wiki waits for a database in any case. */
const NO_DATABASE = 'mongodb://127.0.0.1:9/none?directConnection=true'

/**
 * Opens the emulated board: the one that `stevec board up` runs, or a new one that is switched off on `close`.
 * @param {import('./origin.js').OpenOptions} options
 * @returns {Promise<import('./origin.js').Origin>}
 * @throws {OriginError | import('@stevec/arm-image/board').BoardError} when it serves another stack, or does not boot
 */
export async function openBoard ({ config, stack, outlive = false, signal, onProgress }) {
  const other = readState(path.join(config.stateDirectory, stack === 'lab' ? 'wiki' : 'lab'))
  if (other !== null && isRunning(other) && other.origin?.facts.kind === 'board') {
    throw new OriginError(stack === 'lab'
      ? 'the board serves the wiki of `stevec up`; run `stevec down` first'
      : 'the board serves a run in progress; wait for its end')
  }
  const directory = boardDirectory(config.stateDirectory)
  const booted = !readBoardState(directory)?.processes.every(isAlive)
  if (booted) {
    await stopBoard(directory)
    onProgress('switching the board on, emulated (a minute or two, more on a busy machine) …')
    await startBoard({
      directory,
      imageDirectory: config.imageDirectory,
      machine: 'virt',
      mongodbUri: NO_DATABASE,
      outlive
    })
  }
  const close = async () => { if (booted) await stopBoard(directory) }
  try {
    await boardReady(directory, { path: '/healthz', signal, onProgress })
    const state = /** @type {import('@stevec/arm-image/emulator').BoardState} */ (readBoardState(directory))
    const ssh = boardSsh(directory)
    const { failedUnits, ...found } = await inspectHost(ssh)
    if (failedUnits.length > 0) onProgress(`on the board these have failed: ${failedUnits.join(', ')}`)
    return createRemoteOrigin({
      facts: {
        kind: 'board',
        ...found,
        emulated: true,
        machine: `QEMU ${state.machine}`,
        image_sha256: state.image_sha256
      },
      address: new URL(state.url).host,
      ssh,
      seenFromThere: seenFromGuest,
      inherited: config.wikiEnvironment,
      booted,
      processes: () => state.processes.map(({ name, pid }) => ({ name, pid, part: 'origin' })),
      close
    })
  } catch (error) {
    await close()
    throw error
  }
}

/** @param {string} stateDirectory */
export const boardDirectory = (stateDirectory) => path.join(stateDirectory, 'board')
