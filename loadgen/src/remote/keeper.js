import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { collect, ended, inShell, lostTo, oneLine, onLines, RemoteError, startSsh } from './ssh.js'
import { sshArguments } from './targets.js'

const ANSWER_TIMEOUT_MS = 60_000
const CLOSE_TIMEOUT_MS = 10_000
const LINES_MAX = 1000

/**
 * Lives as long as the connection. When it ends, however it ends, it kills what runs in its folder and removes that.
 * Until then it answers each line with the time of day, nanoseconds since 1970.
 */
const KEEPER = `umask 077
directory=$(mktemp -d "\${TMPDIR:-/tmp}/stevec-XXXXXXXXXX") || exit 1
leave () {
  trap "" HUP INT TERM PIPE
  for file in "$directory"/*.pid; do [ -e "$file" ] && kill -KILL "$(cat "$file")"; done
  rm -rf "$directory"
}
trap leave EXIT
trap "exit 1" HUP INT TERM PIPE
echo "stevec-ready $directory $(uname -s) $(uname -m) $(nproc 2>/dev/null || echo 0)"
while IFS= read -r question; do date +%s%N; done`

/** @typedef {Awaited<ReturnType<typeof openKeeper>>} Keeper */

/**
 * Opens a connection to a machine and a private folder there, which is gone when the connection is.
 * @param {import('./targets.js').Target} target
 * @param {string | undefined} configFile  see sshArguments
 * @throws {RemoteError}
 */
export async function openKeeper (target, configFile) {
  const { host } = target
  const { options, destination } = sshArguments(target, configFile)
  const local = mkdtempSync(path.join(tmpdir(), 'stevec-ssh-'))
  const socket = path.join(local, 'socket')
  const ssh = startSsh([...options, '-M', '-S', socket, ...destination, inShell(KEEPER)])
  const errors = collect(ssh.stderr)
  const lines = createQueue()
  onLines(ssh.stdout, lines.add, () => ssh.kill())
  let isOpen = true
  const closed = ended(ssh).then(() => {
    isOpen = false
    lines.end()
    rmSync(local, { recursive: true, force: true })
    return true
  })

  const greeting = await readGreeting(lines.next)
  if (greeting === null) {
    ssh.kill()
    await closed
    throw new RemoteError(refusalOf(host, errors(), ssh))
  }
  return {
    ...greeting,
    host,
    socket,
    /** Of the ssh that carries all. */
    pid: /** @type {number} */ (ssh.pid),
    isOpen: () => isOpen,

    /** @returns {Promise<string>} the time of day there, as its `date +%s%N` says it */
    async askTime () {
      if (isOpen) ssh.stdin?.write('\n')
      const line = await lines.next()
      if (line === null) throw new RemoteError(lostTo(host))
      return line
    },

    async close () {
      ssh.stdin?.end()
      if (await withinTime(closed, CLOSE_TIMEOUT_MS) === null) ssh.kill('SIGKILL')
      await closed
    }
  }
}

/** Lines that come, and those who wait for one. */
function createQueue () {
  /** @type {((line: string | null) => void)[]} */
  const waiting = []
  /** @type {string[]} */
  const unread = []
  let isOver = false
  return {
    /** @param {string} line */
    add (line) {
      const tell = waiting.shift()
      if (tell !== undefined) tell(line)
      else if (unread.length < LINES_MAX) unread.push(line)
    },

    end () {
      isOver = true
      for (const tell of waiting.splice(0)) tell(null)
    },

    /** @returns {Promise<string | null>} null: there is none in time, or no more */
    async next () {
      const line = unread.shift()
      if (line !== undefined || isOver) return line ?? null
      /** @type {Promise<string | null>} */
      const answer = new Promise((resolve) => waiting.push(resolve))
      return withinTime(answer, ANSWER_TIMEOUT_MS)
    }
  }
}

/**
 * Skips what the settings of the user's shell there may say.
 * @param {() => Promise<string | null>} nextLine
 */
async function readGreeting (nextLine) {
  for (let lines = 0; lines < LINES_MAX; lines++) {
    const line = await nextLine()
    if (line === null) return null
    const found = /^stevec-ready (\/[\w./-]*\/stevec-\w+) (\S+) (\S+) (\d+)$/.exec(line)
    if (found === null) continue
    const [, directory, system, machine, cores] = found
    return { directory, system, machine, cores: Number(cores) }
  }
  return null
}

/**
 * @param {string} host
 * @param {string} said  by ssh
 * @param {import('node:child_process').ChildProcess} ssh
 */
const refusalOf = (host, said, { pid }) => pid === undefined
  ? 'ssh cannot be started: install openssh-client'
  // "user@host: Permission denied": the reason of a trial, and the names of users there are nobody's business.
  : `no generator can run on ${host}: ${oneLine(said).replace(/[\w.-]+@/g, '').replace(/\.$/, '') || 'no answer'}. ` +
    'Connect by hand: then `ssh -o BatchMode=yes -o StrictHostKeyChecking=yes` to it must work without a question'

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {number} timeoutMs
 * @returns {Promise<T | null>} null: the time is up
 */
async function withinTime (promise, timeoutMs) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((/** @type {(value: null) => void} */ resolve) => {
    timer = setTimeout(() => resolve(null), timeoutMs)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
