import path from 'node:path'
import { boardDirectory } from '../stack/origin/board.js'
import { stopBoard } from '@stevec/arm-image/emulator'
import { labDirectory, withLabFolder } from '../lab/lab-folder.js'
import { readState } from '../stack/state.js'
import { stopStack } from '../stack/stack.js'
import { lockMachine, LockedError } from '@stevec/harness/machine-lock'
import { configWith, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'stop what `up` started; the pages are kept',
  help: `Usage: stevec down

Stops the processes that \`stevec up\` started, and no others. The pages of the wiki are kept. Also
removes processes and control groups that a killed run has left. Does nothing if nothing runs.

Example:
  stevec down`,
  options: {},
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const { stateDirectory } = configWith(values)
    const directory = path.join(stateDirectory, 'wiki')
    const booted = readState(directory)?.origin?.booted
    const stopped = await stopStack(directory)
    if (booted && await stopBoard(boardDirectory(stateDirectory))) stopped.push('the board')
    await clearDeadLab(stateDirectory)
    process.stdout.write(stopped.length > 0 ? `stopped ${stopped.join(', ')}\n` : 'nothing was running\n')
    return 0
  }
}

/**
 * Stops the stack of a killed run, unless a measurement is under way: the stack may be its own.
 * @param {string} stateDirectory
 */
async function clearDeadLab (stateDirectory) {
  const directory = labDirectory(stateDirectory)
  if (readState(directory) === null) return
  try {
    const release = await lockMachine()
    await withLabFolder(stateDirectory, () => stopStack(directory)).finally(release)
  } catch (error) {
    if (!(error instanceof LockedError)) throw error
  }
}
