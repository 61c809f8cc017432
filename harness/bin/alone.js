// Runs a program that measures, while no other measurement runs: `node harness/bin/alone.js COMMAND [ARGUMENT…]`
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { claimMachine } from '../src/machine-lock.js'

/** As of `stevec` (docs/operations.md); also if a signal ended the program. */
const BROKEN = 3

const [command, ...args] = process.argv.slice(2)
if (command === undefined) {
  process.stderr.write('usage: node harness/bin/alone.js COMMAND [ARGUMENT…]\n')
  process.exit(2)
}
await claimMachine()
// In a session of its own, so that a Ctrl-C at the terminal reaches the program once: from here.
const child = spawn(command, args, { stdio: 'inherit', detached: true })
for (const signal of /** @type {const} */ (['SIGHUP', 'SIGINT', 'SIGTERM'])) {
  process.on(signal, () => { child.kill(signal) })
}
try {
  const [exitCode] = await once(child, 'exit')
  process.exitCode = exitCode ?? BROKEN
} catch (error) {
  process.stderr.write(`${command} could not be started: ${/** @type {Error} */ (error).message}\n`)
  process.exitCode = BROKEN
}
