// The child process of shell.js.
import { main } from '../src/cli.js'

const output = { stdout: '', stderr: '' }
for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
  process[name].write = (/** @type {any} */ text) => {
    output[name] += text
    return true
  }
}

process.on('message', async (/** @type {{args: string[], env: Record<string, string>}} */ { args, env }) => {
  Object.assign(output, { stdout: '', stderr: '' })
  process.env = env
  const exitCode = await main(args)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal)
  process.send?.({ exitCode, ...output })
})
