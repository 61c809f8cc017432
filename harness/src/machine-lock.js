import { connect, createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { readConfig } from './config.js'

/** Longer than the pauses of a holder that is busy. */
const ANSWER_MAX_MS = 1_000
const ANSWER_MAX_CHARS = 4_096
const COMMAND_MAX_CHARS = 200
const QUESTIONS_AT_ONCE_MAX = 16
/** Between two attempts of a process that waits; an attempt does not wake the holder. */
const WAIT_MS = 1_000
/** A holder may end between the attempt to take the lock and the question who holds it. */
const ATTEMPTS_MAX = 3
const REFUSED_EXIT_CODE = 3

/** Another process measures on this machine: two at once would distort each other's times. */
export class LockedError extends Error {}

/**
 * Takes the lock of all that measures times on this machine. It is an abstract Unix socket (unix(7)): the kernel gives
 * the name to one process, whoever its user, and frees it when that process dies. Network namespaces, such as
 * containers, have a lock each.
 * @param {object} [options]
 * @param {string} [options.command]  shown to those who are refused
 * @param {boolean} [options.wait]  true: waits until the lock is free
 * @param {(holder: string) => void} [options.onWait]  called once, before waiting
 * @param {AbortSignal} [options.signal]  ends the wait
 * @returns {Promise<() => Promise<void>>} releases the lock
 * @throws {LockedError} naming the holder
 */
export async function lockMachine ({ command = ownCommand(), wait = false, onWait = () => {}, signal } = {}) {
  let isWaiting = false
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    const release = await tryLock(command)
    if (release !== null) return release
    if (!isWaiting) {
      const holder = await lockHolder()
      if (!wait) {
        if (holder === null && attempt < ATTEMPTS_MAX) continue
        throw new LockedError(refusal(holder ?? UNKNOWN))
      }
      onWait(holder ?? UNKNOWN)
      isWaiting = true
    }
    await delay(WAIT_MS, undefined, { signal })
  }
}

/**
 * Takes the lock until this process ends: for programs that only measure. If another process has it, says so and ends
 * this one with exit code 3.
 */
export async function claimMachine () {
  try {
    await lockMachine()
  } catch (error) {
    if (!(error instanceof LockedError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(REFUSED_EXIT_CODE)
  }
}

const UNKNOWN = 'a process that does not say which it is'

/** @param {string} holder */
const refusal = (holder) => `another measurement is under way on this machine: ${holder}. Two at once distort each ` +
  'other\'s times: wait for it (`stevec run` does with --wait), or stop it with Ctrl-C where it was started'

const socketPath = () => `\0stevec-lock-${readConfig().lockName}`

const ownCommand = () => [path.relative('.', process.argv[1] ?? 'node'), ...process.argv.slice(2)].join(' ')

/**
 * @param {string} command
 * @returns {Promise<(() => Promise<void>) | null>} null: another process, or this one, has the lock
 */
function tryLock (command) {
  const holder = JSON.stringify({
    pid: process.pid,
    command: command.slice(0, COMMAND_MAX_CHARS),
    since: new Date().toISOString()
  })
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(holder, () => socket.destroy())
  })
  server.maxConnections = QUESTIONS_AT_ONCE_MAX
  return new Promise((resolve, reject) => {
    server.once('error', (/** @type {NodeJS.ErrnoException} */ error) =>
      error.code === 'EADDRINUSE' ? resolve(null) : reject(error))
    server.listen({ path: socketPath(), exclusive: true }, () => {
      server.unref()
      resolve(async () => { await promisify(server.close.bind(server))() })
    })
  })
}

/**
 * Asks the holder of the lock who it is.
 * @returns {Promise<string | null>} in words; null: no process holds the lock
 */
export function lockHolder () {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect({ path: socketPath() })
    const end = (/** @type {string | null} */ holder) => {
      socket.destroy()
      resolve(holder)
    }
    socket.setEncoding('utf8').setTimeout(ANSWER_MAX_MS, () => end(UNKNOWN))
    socket.on('data', (part) => { if (text.length < ANSWER_MAX_CHARS) text += part })
    socket.on('end', () => end(inWords(text)))
    socket.on('error', (/** @type {NodeJS.ErrnoException} */ error) =>
      end(error.code === 'ECONNREFUSED' ? null : UNKNOWN))
  })
}

/** @param {string} answer  of a process that may be any user's */
function inWords (answer) {
  try {
    const { pid, command, since } = JSON.parse(answer)
    const shown = String(command).slice(0, COMMAND_MAX_CHARS).replace(/\p{C}/gu, '?')
    return `process ${Number(pid)}, ${shown}, since ${new Date(since).toISOString()}`
  } catch {
    return UNKNOWN
  }
}
