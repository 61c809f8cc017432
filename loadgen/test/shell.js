import { fork } from 'node:child_process'
import { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createSandbox } from './helper.js'

const CHILD = fileURLToPath(new URL('shell-child.js', import.meta.url))

/**
 * Starts one process that runs `stevec` command lines, one after the other: Node starts, and the SDK's 2000 files load,
 * only once. Tests of the process itself (signals, environment) need `sandbox.stevec` or `sandbox.start`.
 * @param {Record<string, string | undefined>} env
 */
function openShell (env) {
  const child = fork(CHILD, { env, stdio: ['pipe', 'inherit', 'inherit', 'ipc'] })
  return {
    /**
     * @param {string[]} args
     * @param {Record<string, string>} [extra]  environment
     * @returns {Promise<{exitCode: number, stdout: string, stderr: string}>}
     */
    run: (args, extra = {}) => new Promise((resolve, reject) => {
      const gone = (/** @type {number | null} */ exitCode) =>
        reject(new Error(`the shell ended with ${exitCode} during stevec ${args.join(' ')}`))
      child.once('exit', gone)
      child.once('message', (/** @type {any} */ done) => {
        child.off('exit', gone)
        resolve(done)
      })
      child.send({ args, env: { ...env, ...extra } })
    }),
    close: () => { child.disconnect() }
  }
}

/**
 * Creates a sandbox and a shell in it, for the tests of one file or suite.
 */
export function useShell () {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {ReturnType<typeof openShell>} */
  let shell
  before(async () => {
    sandbox = await createSandbox()
    shell = openShell(sandbox.env)
  })
  after(() => {
    shell?.close()
    sandbox?.remove()
  })
  return {
    sandbox: () => sandbox,
    /** @type {ReturnType<typeof openShell>['run']} */
    run: (args, extra) => shell.run(args, extra)
  }
}
