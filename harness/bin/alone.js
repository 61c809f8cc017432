// Runs a program that measures, while no other measurement runs: `node harness/bin/alone.js COMMAND [ARGUMENT…]`
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { claimMachine } from '../src/machine-lock.js'

const [command, ...args] = process.argv.slice(2)
if (command === undefined) {
  process.stderr.write('usage: node harness/bin/alone.js COMMAND [ARGUMENT…]\n')
  process.exit(2)
}
await claimMachine()
// A Ctrl-C at the terminal reaches the program, too; this process ends after it.
process.on('SIGINT', () => {})
const [exitCode] = await once(spawn(command, args, { stdio: 'inherit' }), 'exit')
process.exitCode = exitCode ?? 1
