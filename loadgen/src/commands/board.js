import { spawn } from 'node:child_process'
import { createConnection } from 'node:net'
import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { MACHINES } from '@stevec/arm-image/board'
import { parsePort, readConfig } from '../config.js'
import { startMongod } from '@stevec/harness/mongod'
import {
  boardReady, boardSsh, readBoardState, requireBoard, startBoard, stopBoard, writeBoardState
} from '@stevec/arm-image/emulator'
import { isAlive } from '@stevec/harness/processes'
import { EXIT } from '../exit-codes.js'
import { UsageError } from '../usage-error.js'
import { interruptSignal, refuseMore } from './options.js'

/** Ctrl-], as in telnet: consoles do not use it. */
const LEAVE_CONSOLE = 0x1d

/** @type {Record<string, (values: Record<string, any>, rest: string[]) => Promise<number>>} */
const VERBS = { up, down, status, ssh, console: attach }

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'boot the Banana Pi\'s root filesystem in QEMU',
  help: `Usage: stevec board up [--machine NAME] [--port N]
       stevec board down | status | console
       stevec board ssh [-- COMMAND …]

Boots an image that \`make image\` built, in QEMU: nginx and the wiki on an emulated ARM board with
two Cortex-A7 and 1 GB of memory. Its database runs on this machine. Request rates of an emulated
CPU are not those of a real board.

  up               switches it on and waits until the wiki has its database (some minutes)
  down             switches it off; everything written to its card is lost
  status           shows whether it is up, and its address; exit code 1 if it is not up
  ssh              opens a shell on it as root, or runs COMMAND there; exit code: COMMAND's
  console          shows its serial line; Ctrl-] leaves

  --machine NAME   virt (default): boots the image's kernel directly, which is quicker
                   bpim2u: Banana Pi M2 Ultra, boots from the card through SPL and U-Boot; needs
                   QEMU 8.1 or newer, and an image with BOARD=bpi-m2-ultra
  --port N         of the board's nginx on 127.0.0.1 (default a free one)

Environment: MONGODB_URI (your own database), QEMU_BIN, STEVEC_IMAGE (folder of images).

Examples:
  stevec board up
  stevec board ssh -- systemctl --failed
  stevec board up --machine bpim2u --port 8090`,
  options: { machine: { type: 'string' }, port: { type: 'string' } },
  async run ({ values, positionals }) {
    const [verb, ...rest] = positionals
    if (verb === undefined || !Object.hasOwn(VERBS, verb)) {
      throw new UsageError(`the action is missing or unknown; use one of ${Object.keys(VERBS).join(', ')}`)
    }
    if (verb !== 'ssh') refuseMore(rest, 0)
    return VERBS[verb](values, rest)
  }
}

const directoryOf = () => path.join(readConfig().stateDirectory, 'board')

/** @param {Record<string, any>} values */
async function up (values) {
  const machine = values.machine ?? 'virt'
  if (!Object.hasOwn(MACHINES, machine)) {
    throw new UsageError(`--machine is ${Object.keys(MACHINES).join(' or ')}, not "${machine}"`)
  }
  const httpPort = values.port === undefined ? undefined : parsePort(values.port, '--port')
  const config = readConfig()
  const directory = directoryOf()
  const present = readBoardState(directory)
  if (present?.processes.some(isAlive)) {
    await boardReady(directory, { signal: interruptSignal() })
    process.stdout.write(`already up since ${present.started_at}: ${present.url}/ (machine ${present.machine})\n`)
    return 0
  }
  await stopBoard(directory)
  const signal = interruptSignal()
  const startedAt = performance.now()
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  /** @type {import('@stevec/harness/processes').ProcessIdentity[]} */
  const before = []
  try {
    let mongodbUri = config.mongodbUri
    if (mongodbUri === undefined) {
      process.stderr.write('starting mongod …\n')
      const database = path.join(directory, 'database')
      mkdirSync(database, { recursive: true, mode: 0o700 })
      const mongod = await startMongod({
        directory: database,
        outlive: true,
        onStart: ({ name, pid, start_ticks: ticks }) => before.push({ name, pid, start_ticks: ticks })
      })
      mongodbUri = mongod.uri
    }
    process.stderr.write(`switching the board on (machine ${machine}; a minute or two, more on a busy machine) …\n`)
    const state = await startBoard({
      directory,
      imageDirectory: config.imageDirectory,
      machine,
      mongodbUri,
      outlive: true,
      httpPort
    })
    writeBoardState(directory, { ...state, processes: [...before, ...state.processes] })
    await boardReady(directory, { signal, onProgress: progress(startedAt) })
    process.stdout.write(`up after ${Math.round((performance.now() - startedAt) / 1000)} s, emulated: ${state.url}/\na shell: stevec board ssh   off: stevec board down\n`)
    return 0
  } catch (error) {
    const state = readBoardState(directory)
    if (state === null) writeBoardState(directory, /** @type {any} */ ({ processes: before }))
    await stopBoard(directory)
    throw error
  }
}

/** @param {number} startedAt */
function progress (startedAt) {
  return (/** @type {string} */ text) => {
    process.stderr.write(
      `  ${String(Math.round((performance.now() - startedAt) / 1000)).padStart(4)} s  ${text.slice(0, 110)}\n`
    )
  }
}

async function down () {
  process.stdout.write(await stopBoard(directoryOf()) ? 'the board is off\n' : 'no board was running\n')
  return 0
}

async function status () {
  const state = readBoardState(directoryOf())
  const running = state?.processes.every(isAlive)
  process.stdout.write(state === null
    ? 'no board is up\n'
    : running
      ? `up since ${state.started_at}: ${state.url}/ (machine ${state.machine}, emulated)\n`
      : 'the board or its database ended unexpectedly; `stevec board up` starts it again\n')
  return running ? EXIT.good : EXIT.violated
}

/**
 * @param {Record<string, any>} _values
 * @param {string[]} rest
 * @returns {Promise<number>} the exit code of the remote command
 */
function ssh (_values, rest) {
  const child = spawn('ssh', boardSsh(directoryOf(), rest), { stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? EXIT.broken))
  })
}

/** @returns {Promise<number>} */
function attach () {
  const directory = directoryOf()
  requireBoard(directory)
  process.stdout.write(readFileSync(path.join(directory, 'console.log')))
  const socket = createConnection(path.join(directory, 'console.sock'))
  return new Promise((resolve, reject) => {
    const leave = () => {
      socket.destroy()
      if (process.stdin.isTTY) process.stdin.setRawMode(false)
      process.stdin.pause()
      resolve(0)
    }
    socket.once('error', reject)
    socket.once('close', leave)
    socket.pipe(process.stdout)
    if (process.stdin.isTTY) process.stdin.setRawMode(true)
    process.stdin.on('data', (keys) => {
      if (keys.includes(LEAVE_CONSOLE)) leave()
      else socket.write(keys)
    })
    process.stdin.once('end', leave)
  })
}
