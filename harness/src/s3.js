import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { requireTool } from './tools/locate.js'
import { freePorts, releasePorts } from './ports.js'
import { isAlive, killGroup, logTail, startProcess, stopProcess, waitUntil } from './processes.js'

/** @typedef {import('./processes.js').ProcessIdentity} ProcessIdentity */

const READY_TIMEOUT_MS = 60_000
const ASK_TIMEOUT_MS = 2_000
const BUCKET = 'pictures'
const REGION = 'us-east-1'

/**
 * @typedef {object} S3Server  a running one
 * @property {string} endpoint
 * @property {string} bucket
 * @property {string} region
 * @property {string} keyId
 * @property {string} secret
 * @property {string} folder  of the bucket: an object is a file
 * @property {() => ProcessIdentity} identity  of the process that runs, or ran last
 * @property {() => Promise<void>} kill  as a crash would; the port stays reserved
 * @property {() => Promise<void>} start  after `kill`, with the same port and objects
 * @property {() => Promise<void>} stop
 */

/**
 * Starts a real S3 server on loopback, with an empty bucket, and waits until it answers.
 * https://github.com/versity/versitygw/wiki
 * @param {object} [options]
 * @param {number} [options.port]  default: a free one
 * @param {string} [options.directory]  holds the log and the objects; default: a temporary one that `stop` removes
 * @param {boolean} [options.outlive]  see startProcess
 * @param {string[]} [options.cgroups]  see startProcess
 * @param {NodeJS.ProcessEnv} [options.env]  see startProcess
 * @param {(identity: ProcessIdentity) => void} [options.onStart]  called before the server is ready
 * @returns {Promise<S3Server>}
 * @throws {Error} when it does not answer within a minute, with the end of its log
 */
export async function startS3 (options = {}) {
  const { outlive = false, cgroups, onStart = () => {} } = options
  const tool = requireTool('s3')
  const home = options.directory ?? mkdtempSync(path.join(tmpdir(), 'stevec-s3-'))
  const objects = path.join(home, 'objects')
  const folder = path.join(objects, BUCKET)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const port = options.port ?? (await freePorts(1))[0]
  const endpoint = `http://127.0.0.1:${port}`
  const [keyId, secret] = [randomBytes(8).toString('hex'), randomBytes(20).toString('hex')]
  const logFile = path.join(home, 's3.log')
  // Not among the arguments, which `ps` shows.
  const env = { ...options.env ?? process.env, ROOT_ACCESS_KEY: keyId, ROOT_SECRET_KEY: secret }
  const listen = ['--port', `127.0.0.1:${port}`, '--region', REGION, '--keep-alive', '--quiet']
  const args = [...listen, 'posix', '--nometa', objects]
  /** @type {ProcessIdentity} */
  let running

  async function start () {
    running = await startProcess({ name: 's3', command: tool.path, args, logFile, outlive, cgroups, env })
    onStart(running)
    const answers = () => fetch(endpoint, { signal: AbortSignal.timeout(ASK_TIMEOUT_MS) })
      .then(({ status }) => status === 403, () => false)
    const ready = await waitUntil(async () => !isAlive(running) || await answers(), READY_TIMEOUT_MS)
    if (ready && isAlive(running)) return
    throw new Error(`the S3 server did not become ready on port ${port}:\n${logTail(logFile)}`)
  }

  async function stop () {
    await stopProcess(running)
    if (options.port === undefined) await releasePorts([port])
    if (options.directory === undefined) rmSync(home, { recursive: true, force: true })
  }

  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    endpoint,
    bucket: BUCKET,
    region: REGION,
    keyId,
    secret,
    folder,
    identity: () => running,
    kill: () => killGroup(running),
    start,
    stop
  }
}
