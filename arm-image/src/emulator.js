import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import path from 'node:path'
import {
  BoardError, findImage, HOST_SEEN_FROM_GUEST, prepareCard, provideKey, qemuArguments, sshArguments
} from './board.js'
import { requireTool } from '@stevec/harness/tools/locate'
import { freePorts } from '@stevec/harness/ports'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'

/** An emulated board is ready after a minute or two on an idle machine, but may take this long on a busy one. */
const READY_TIMEOUT_MS = 1_800_000
const PROBE_TIMEOUT_MS = 10_000
const ORIGIN_LOG = '/run/stevec-nginx/access.log'

/**
 * The state file of a running board, by which later commands find it.
 * @typedef {object} BoardState
 * @property {1} schema_version
 * @property {string} started_at
 * @property {import('./board.js').Machine} machine
 * @property {true} emulated  its requests per second say nothing about the real board
 * @property {string} url
 * @property {number} ssh_port
 * @property {string} image_sha256
 * @property {string} rootfs_sha256
 * @property {import('@stevec/harness/processes').ProcessIdentity[]} processes
 */

/**
 * Boots an image in QEMU. Every start uses a fresh copy of the image.
 * @param {object} options
 * @param {string} options.directory  for the board's state
 * @param {string} options.imageDirectory  of built images
 * @param {import('./board.js').Machine} options.machine
 * @param {string} options.mongodbUri  as reachable from this machine
 * @param {boolean} [options.outlive]  see startProcess
 * @param {number} [options.httpPort]  default: a free one
 * @returns {Promise<BoardState>} as soon as the board is switched on; see boardReady
 * @throws {BoardError} when there is no image for the machine
 */
export async function startBoard ({ directory, imageDirectory, machine, mongodbUri, outlive = false, httpPort }) {
  const image = findImage(imageDirectory, machine)
  const qemu = requireTool('qemu')
  const machines = spawnSync(qemu.path, ['-M', 'help'], { encoding: 'utf8' }).stdout
  if (!machines.split('\n').some((row) => row.startsWith(`${machine} `))) {
    throw new BoardError(`QEMU ${qemu.version} (${qemu.path}) has no machine ${machine}; install QEMU 8.1 or newer (in Debian 12 from bookworm-backports)`)
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const { publicKey } = provideKey(directory)
  const card = path.join(directory, 'card.img')
  prepareCard({
    image: path.join(image.directory, image.manifest.image),
    card,
    mongodbUri: seenFromGuest(mongodbUri),
    publicKey,
    work: directory
  })
  rmSync(path.join(directory, 'known_hosts'), { force: true })
  const [freeHttpPort, sshPort] = await freePorts(2)
  const listen = httpPort ?? freeHttpPort
  const consoleSocket = path.join(directory, 'console.sock')
  rmSync(consoleSocket, { force: true })
  const args = qemuArguments({
    machine,
    directory: image.directory,
    card,
    consoleSocket,
    consoleLog: path.join(directory, 'console.log'),
    httpPort: listen,
    sshPort
  })
  const { exited: _, ...process } = await startProcess({
    name: 'board',
    command: qemu.path,
    args,
    logFile: path.join(directory, 'qemu.log'),
    outlive
  })
  /** @type {BoardState} */
  const state = {
    schema_version: 1,
    started_at: new Date().toISOString(),
    machine,
    emulated: true,
    url: `http://127.0.0.1:${listen}`,
    ssh_port: sshPort,
    image_sha256: image.manifest.sha256,
    rootfs_sha256: image.manifest.rootfs_sha256,
    processes: [process]
  }
  writeBoardState(directory, state)
  return state
}

/**
 * Waits until the board serves requests.
 * @param {string} directory
 * @param {object} [options]
 * @param {AbortSignal} [options.signal]
 * @param {(text: string) => void} [options.onProgress]  the console's last line, when it has changed
 * @param {string} [options.path]  must respond with 200; default /readyz
 * @throws {Error} with the end of the console's output, when the board is not ready in time or has ended
 */
export async function boardReady (directory, { signal, onProgress = () => {}, path: probe = '/readyz' } = {}) {
  const state = requireBoard(directory)
  let said = ''
  const ready = await waitUntil(async () => {
    signal?.throwIfAborted()
    if (!state.processes.every(isAlive)) {
      throw new BoardError(`the board or its database ended unexpectedly:\n${consoleTail(directory)}\n${logTail(path.join(directory, 'qemu.log'))}`)
    }
    const last = consoleTail(directory, 1)
    if (last !== said) onProgress(said = last)
    return await answers(`${state.url}${probe}`)
  }, READY_TIMEOUT_MS, 500)
  if (!ready) {
    throw new BoardError(`the board did not answer 200 on ${probe} within ${READY_TIMEOUT_MS / 60_000} min; its console ends with:\n${consoleTail(directory)}`)
  }
}

/**
 * Probes a URL. QEMU accepts connections before the board has a network, and those never get a response. So each probe
 * has its own connection and a timeout.
 * @param {string} url
 * @returns {Promise<boolean>} whether the response is 200
 */
function answers (url) {
  return new Promise((resolve) => {
    const request = get(url, { agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    const giveUp = setTimeout(() => request.destroy(), PROBE_TIMEOUT_MS)
    request.once('close', () => {
      clearTimeout(giveUp)
      resolve(false)
    })
    request.once('error', () => resolve(false))
  })
}

/**
 * @param {string} directory
 * @param {string[]} [command]
 * @returns {string[]} arguments of ssh
 */
export function boardSsh (directory, command = []) {
  const state = requireBoard(directory)
  return [
    ...sshArguments({
      host: '127.0.0.1',
      port: state.ssh_port,
      privateKey: path.join(directory, 'id_ed25519'),
      knownHosts: path.join(directory, 'known_hosts')
    }),
    ...command
  ]
}

/**
 * @param {string} directory
 * @param {string[]} command
 * @returns {string} the command's output
 * @throws {BoardError} when the command fails
 */
export function onBoard (directory, command) {
  const { status, stdout, stderr, error } = spawnSync('ssh', boardSsh(directory, command), {
    encoding: 'utf8',
    maxBuffer: 256 * 1024 ** 2
  })
  if (status !== 0) throw new BoardError(`on the board, ${command.join(' ')} failed: ${error?.message ?? stderr}`)
  return stdout
}

/**
 * @param {string} directory
 * @returns {string} the newest 16 to 32 MB of the origin's access log, which is in memory
 */
export function boardLogs (directory) {
  return onBoard(directory, [`cat ${ORIGIN_LOG}.1 ${ORIGIN_LOG} 2>/dev/null || true`])
}

/**
 * Cuts the board's power; a later start does not use its card.
 * @param {string} directory
 * @returns {Promise<boolean>} whether the board was on
 */
export async function stopBoard (directory) {
  const state = readBoardState(directory)
  if (state === null) return false
  const running = state.processes.some(isAlive)
  for (const process of [...state.processes].reverse()) await stopProcess(process)
  rmSync(path.join(directory, 'board.json'), { force: true })
  rmSync(path.join(directory, 'card.img'), { force: true })
  return running
}

/** @param {string} directory @returns {BoardState | null} */
export function readBoardState (directory) {
  try {
    return JSON.parse(readFileSync(path.join(directory, 'board.json'), 'utf8'))
  } catch {
    return null
  }
}

/**
 * @param {string} directory
 * @param {BoardState} state
 */
export function writeBoardState (directory, state) {
  writeFileSync(path.join(directory, 'board.json.new'), JSON.stringify(state, null, 2), { mode: 0o600 })
  renameSync(path.join(directory, 'board.json.new'), path.join(directory, 'board.json'))
}

/** @param {string} directory @returns {BoardState} @throws {BoardError} */
export function requireBoard (directory) {
  const state = readBoardState(directory)
  if (state === null) throw new BoardError('no board is up; run `stevec board up`')
  return state
}

/**
 * @param {string} directory
 * @param {number} [lines]
 */
export function consoleTail (directory, lines = 15) {
  return logTail(path.join(directory, 'console.log'), lines).replace(
    // eslint-disable-next-line no-control-regex -- colours and carriage returns of the boot
    /\u001b(?:\[[\d;?!]*[A-Za-z]|\][^\u0007\u001b\n]*)|[\r\u0000\u0007\u001b]/g,
    ''
  )
}

/**
 * @param {string} uri
 * @returns {string} the URI of the same database for the guest. The guest has another address for this machine, so a
 *   member of a replica set is used directly: the members list themselves as 127.0.0.1.
 */
export function seenFromGuest (uri) {
  const url = new URL(uri)
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)) return uri
  url.hostname = HOST_SEEN_FROM_GUEST
  url.searchParams.delete('replicaSet')
  url.searchParams.set('directConnection', 'true')
  return url.href
}
