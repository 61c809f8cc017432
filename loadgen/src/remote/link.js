import { closeSync, createWriteStream, openSync } from 'node:fs'
import path from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { openKeeper } from './keeper.js'
import { collect, ended, inShell, lostTo, oneLine, RemoteError, startSsh } from './ssh.js'

const COMMAND_TIMEOUT_MS = 60_000
const COPY_TIMEOUT_MS = 600_000
const COPY_MAX_BYTES = 4 * 1024 ** 3

/** @typedef {Awaited<ReturnType<typeof openLink>>} Link */

/**
 * Opens a connection to a machine, over which programs run there and files are copied. See openKeeper.
 * @param {import('./targets.js').Target} target
 * @param {string | undefined} configFile  see sshArguments
 * @throws {RemoteError}
 */
export async function openLink (target, configFile) {
  const keeper = await openKeeper(target, configFile)
  const { host, pid, system, machine, cores, isOpen, close } = keeper
  const commands = createCommands(keeper)
  return {
    ...{ host, pid, system, machine, cores, isOpen, close },
    ...createCopies(commands),
    ...createForwards(commands, host),

    /** Starts a script for sh in the folder. @param {string} script */
    start: (script) => commands.start(script),

    /** @param {string} what @param {string} script @returns {Promise<string>} its output */
    run: (what, script) => commands.finish(what, commands.start(script, 'none'), COMMAND_TIMEOUT_MS),

    /** @returns {Promise<number>} the time of day there, microseconds since 1970 */
    async readClock () {
      const line = await keeper.askTime()
      if (!/^\d{19}$/.test(line)) {
        throw new RemoteError(`the clock of ${host} cannot be read in nanoseconds: its \`date +%s%N\` says ` +
          `"${oneLine(line)}". Install GNU coreutils there`)
      }
      return Number(line.slice(0, -3)) + Number(line.slice(-3)) / 1000
    }
  }
}

/** @param {import('./keeper.js').Keeper} keeper */
function createCommands ({ host, socket, directory, isOpen }) {
  /**
   * Without the connection, ssh would open one of its own: the command of a proxy that fails keeps it from that.
   * @param {string[]} args
   */
  const overLink = (...args) => [
    '-F', 'none', '-S', socket, '-o', 'ControlMaster=no', '-o', 'ProxyCommand=false', '-o', 'LogLevel=ERROR', ...args,
    '--', host
  ]
  const withoutInput = (/** @type {ReturnType<typeof startSsh>} */ child) => {
    child.stdin?.end()
    return child
  }
  return {
    /** Tells the connection itself something. @param {string[]} args */
    tell: (...args) => withoutInput(startSsh(overLink(...args))),

    /**
     * Starts a script for sh in the folder.
     * @param {string} script
     * @param {number | 'pipe' | 'none'} [stdin]  a file's descriptor
     */
    start (script, stdin = 'pipe') {
      const args = [...overLink(), inShell(`cd ${directory} && ${script}`)]
      return stdin === 'none' ? withoutInput(startSsh(args)) : startSsh(args, stdin)
    },

    /**
     * @param {string} what  for the error
     * @param {import('node:child_process').ChildProcess} child
     * @param {number} timeoutMs
     * @param {(stdout: import('node:stream').Readable) => Promise<void>} [take]
     * @returns {Promise<string>} its output, unless `take` takes it
     */
    async finish (what, child, timeoutMs, take) {
      const said = collect(child.stderr)
      const stdout = /** @type {import('node:stream').Readable} */ (child.stdout)
      const output = take === undefined ? collect(stdout) : () => ''
      const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
      const [exit, taken] = await Promise.allSettled([ended(child), take?.(stdout)])
      clearTimeout(timer)
      const failed = exit.status === 'rejected' || exit.value !== 0 || taken.status === 'rejected'
      if (failed && !isOpen()) throw new RemoteError(lostTo(host))
      if (taken.status === 'rejected') throw new RemoteError(`${host}: ${what}: ${taken.reason.message}`)
      if (failed) throw new RemoteError(`${host}: ${what} failed: ${oneLine(said())}`)
      return output()
    }
  }
}

/** @param {ReturnType<typeof createCommands>} commands */
const createCopies = ({ start, finish }) => ({
  /** @param {string} file  here @param {string} name  there, in the folder; nothing for a shell to read */
  async send (file, name) {
    const descriptor = openSync(file, 'r')
    try {
      await finish(`copying ${path.basename(file)} there`, start(`cat > ${name}`, descriptor), COPY_TIMEOUT_MS)
    } finally {
      closeSync(descriptor)
    }
  },

  /** @param {string} script  whose output is fetched @param {string} file  here */
  async fetch (script, file) {
    await finish(`copying ${path.basename(file)} from there`, start(script, 'none'), COPY_TIMEOUT_MS, (stdout) =>
      pipeline(stdout, limited(COPY_MAX_BYTES), createWriteStream(file, { mode: 0o600 })))
  }
})

/**
 * @param {ReturnType<typeof createCommands>} commands
 * @param {string} host
 */
const createForwards = ({ tell, finish }, host) => ({
  /**
   * @param {number} port  on this machine's loopback
   * @returns {Promise<number>} a free port on loopback there that leads to it
   */
  async forward (port) {
    const child = tell('-O', 'forward', '-R', `127.0.0.1:0:127.0.0.1:${port}`)
    const said = await finish('a forward to the door', child, COMMAND_TIMEOUT_MS).catch((error) => {
      throw new RemoteError(`${error.message}. Does its sshd_config say AllowTcpForwarding no?`)
    })
    const there = Number(said.trim())
    if (!Number.isInteger(there) || there < 1 || there > 65_535) {
      throw new RemoteError(`${host} opened no port for a forward: "${oneLine(said)}"`)
    }
    return there
  },

  /** @param {number} port  of `forward` */
  async endForward (port) {
    const child = tell('-O', 'cancel', '-R', `127.0.0.1:0:127.0.0.1:${port}`)
    await finish('the end of a forward', child, COMMAND_TIMEOUT_MS)
  }
})

/** @param {number} bytes  after which it fails */
function limited (bytes) {
  let left = bytes
  return new Transform({
    transform (chunk, _, done) {
      left -= chunk.length
      done(left < 0 ? new Error(`more than ${bytes} bytes came`) : null, chunk)
    }
  })
}
