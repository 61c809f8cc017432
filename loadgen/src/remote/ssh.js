import { spawn } from 'node:child_process'

/** A machine that cannot be a generator, or is lost; the message says what to do. */
export class RemoteError extends Error {}

const TEXT_MAX_CHARS = 64 * 1024

/**
 * @param {string[]} args
 * @param {number | 'pipe'} [stdin]  a file's descriptor
 */
export function startSsh (args, stdin = 'pipe') {
  // In a session of its own: a Ctrl-C at the terminal reaches the lab alone, which ends its generators in order.
  const child = spawn('ssh', args, { stdio: [stdin, 'pipe', 'pipe'], detached: true })
  child.stdin?.on('error', () => {})
  return child
}

/** @param {string} script @returns {string} for a login shell that quotes as sh does */
export const inShell = (script) => `exec sh -c '${script.replaceAll('\'', '\'\\\'\'')}'`

/** @param {import('node:child_process').ChildProcess} child @returns {Promise<number | null>} its exit code */
export const ended = (child) => new Promise((resolve) => {
  child.once('error', () => resolve(null))
  child.once('close', resolve)
})

/**
 * @param {import('node:stream').Readable | null} stream
 * @returns {() => string} what it has said so far, or the first part of that
 */
export function collect (stream) {
  let text = ''
  stream?.setEncoding('utf8').on('data', (part) => { if (text.length < TEXT_MAX_CHARS) text += part })
  return () => text
}

/**
 * @param {import('node:stream').Readable | null} stream
 * @param {(line: string) => void} take
 * @param {() => void} onTooLong
 */
export function onLines (stream, take, onTooLong) {
  let rest = ''
  stream?.setEncoding('utf8').on('data', (part) => {
    const lines = `${rest}${part}`.split('\n')
    rest = /** @type {string} */ (lines.pop())
    for (const line of lines) take(line)
    if (rest.length <= TEXT_MAX_CHARS) return
    rest = ''
    onTooLong()
  })
}

/** Without what a terminal would obey. @param {string} text */
export const oneLine = (text) => text.replace(/[^!-~]+|@{3,}/g, ' ').replace(/ +/g, ' ').trim().slice(0, 500)

/** @param {string} host */
export const lostTo = (host) => `the ssh connection to ${host} was lost`
