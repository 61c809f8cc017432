import path from 'node:path'
import { stopStack } from '../stack/stack.js'
import { configWith, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'stop what `up` started; what was written in the wiki is kept',
  help: `Usage: stevec down

Stops the processes that \`stevec up\` started, and no others. Does nothing when there are none.`,
  options: {},
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const stopped = await stopStack(path.join(configWith(values).stateDirectory, 'wiki'))
    process.stdout.write(stopped.length > 0 ? `stopped ${stopped.join(', ')}\n` : 'nothing was up\n')
    return 0
  }
}
