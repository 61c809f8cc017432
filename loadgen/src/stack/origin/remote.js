import { execFile } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { sampleOrigin } from '@stevec/arm-image/origin-sample'
import { request } from '@stevec/harness/request'
import { isAlive, logTail, startProcess, waitUntil } from '@stevec/harness/processes'
import { OriginError } from './origin-error.js'

/** As set by arm-image/. */
const WIKI_PORT = 3000
const LOG = '/run/stevec-nginx/access.log'
/** Under /run, in memory: whatever happens here, the machine's next boot restores its own settings. systemd.unit(5) */
const SETTINGS = '/run/stevec-lab.env'
const WIKI_DROP_IN = '/run/systemd/system/stevec-wiki.service.d/lab.conf'
const NGINX_DROP_IN = '/run/systemd/system/stevec-nginx.service.d/lab.conf'
/**
 * Keeps systemd from restarting an nginx that a trial kills, or that crashes in a trial, and keeps its log.
 * systemd.service(5), systemd.exec(5)
 */
const NGINX_SETTINGS = '[Service]\\nRestart=no\\nRuntimeDirectoryPreserve=yes\\n'

/** An emulated CPU takes seconds for a key exchange or a start of Node.js, and longer if this machine is busy. */
const CONNECT_TIMEOUT_S = 60
const COMMAND_TIMEOUT_MS = 180_000
const READY_TIMEOUT_MS = 900_000
/** The machine rotates nginx's log at 16 MB and keeps one old file. */
const OUTPUT_MAX_BYTES = 64 * 1024 ** 2
/** Longest path of a Unix socket (unix(7), sun_path), less the suffix that ssh adds while it creates the socket. */
const SOCKET_PATH_MAX_BYTES = 107 - 18

/** @typedef {import('@stevec/harness/processes').ProcessIdentity} ProcessIdentity */
/** How far a log was read. @typedef {{inode: number, offset: number}} LogPosition */

/**
 * Runs a script on a remote machine.
 * @param {string[]} ssh  arguments that reach the machine
 * @param {string} script  for sh
 * @param {object} [options]
 * @param {string} [options.input]  for its standard input
 * @param {number} [options.timeoutMs]
 * @returns {Promise<Buffer>} its standard output
 * @throws {OriginError} with its errors, or ssh's
 */
export function runRemotely (ssh, script, { input = '', timeoutMs = COMMAND_TIMEOUT_MS } = {}) {
  return new Promise((resolve, reject) => {
    const child = execFile(
      'ssh',
      [...ssh, script],
      { encoding: 'buffer', maxBuffer: OUTPUT_MAX_BYTES, timeout: timeoutMs },
      (error, stdout, stderr) => {
        if (error) {
          reject(new OriginError(`${ssh.at(-1)}: ${error.killed ? `no answer within ${timeoutMs / 1000} s` : stderr.toString().trim() || error.message}`))
        } else {
          resolve(stdout)
        }
      }
    )
    // The script may end without reading its input: the error above then says why.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

/**
 * Checks that a machine is set up like a board of arm-image/, and returns its facts.
 * @param {string[]} ssh
 * @returns {Promise<
 *   Pick<import('./origin.js').OriginFacts, 'emulated' | 'machine' | 'kernel' | 'cores' | 'memory_bytes'> &
 *   {failedUnits: string[]}
 * >}
 * @throws {OriginError} when it cannot be an origin; the message says what to do
 */
export async function inspectHost (ssh) {
  const text = String(await runRemotely(ssh, `
[ "$(id -u)" = 0 ] || { echo 'log in as root: the lab changes the settings of the wiki for each trial' >&2; exit 1; }
for unit in stevec-wiki stevec-nginx; do
  systemctl is-active --quiet $unit || { echo "the service $unit does not run there; write an image of \\\`make image\\\` to its card, or look at systemctl status $unit" >&2; exit 1; }
done
[ -r ${LOG} ] || { echo 'there is no ${LOG}' >&2; exit 1; }
{ tr -d '\\0' </proc/device-tree/model || sed -n 's/^model name[^:]*: //p;' /proc/cpuinfo | head -1; } 2>/dev/null; echo
uname -srm; nproc
sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo
systemd-detect-virt || true
systemctl --failed --no-legend --plain | cut -d' ' -f1`))
  const [machine, kernel, cores, kibibytes, virtualised, ...failedUnits] = text
    .trimEnd()
    .split('\n')
    .filter((line, index) => line !== '' || index === 0)
  const facts = { machine, kernel, cores: Number(cores), memory_bytes: Number(kibibytes) * 1024 }
  if (!(facts.cores > 0) || !(facts.memory_bytes > 0)) {
    throw new OriginError(`${ssh.at(-1)} sent an unexpected answer: ${text.slice(0, 200)}`)
  }
  // systemd-detect-virt says `qemu` for QEMU without an accelerator.
  return { ...facts, emulated: virtualised === 'qemu', failedUnits }
}

/**
 * Restores the machine's own settings and database for the wiki, and its nginx's own settings.
 * @param {string[]} ssh
 */
export async function restoreOrigin (ssh) {
  await runRemotely(ssh, `[ -e ${WIKI_DROP_IN} ] || exit 0; rm -f ${WIKI_DROP_IN} ${NGINX_DROP_IN} ${SETTINGS} && systemctl daemon-reload && systemctl start stevec-nginx && systemctl restart stevec-wiki`)
}

/**
 * Runs the wiki and its nginx on another machine set up like a board of arm-image/, over ssh. HTTP requests do not go
 * over ssh, but straight to its nginx.
 * @param {object} options
 * @param {import('./origin.js').OriginFacts} options.facts
 * @param {string} options.address  of its nginx, host:port
 * @param {string[]} options.ssh  arguments that reach it
 * @param {(uri: string) => string} options.seenFromThere  translates a database's address for that machine
 * @param {Record<string, string>} options.inherited  the wiki's settings from this command's environment
 * @param {boolean} options.booted  whether it is switched off afterwards, so that nothing needs to be restored
 * @param {import('./origin.js').Origin['processes']} [options.processes]
 * @param {() => Promise<void>} options.close
 * @returns {import('./origin.js').Origin}
 */
export function createRemoteOrigin (
  { facts, address, ssh, seenFromThere, inherited, booted, processes, close }
) {
  /** Arguments that use the connection of a started stack, which needs no new key exchange. */
  let shared = ssh
  /** @type {LogPosition} */
  let position = { inode: 0, offset: 0 }
  /** Of the last start. @type {import('./origin.js').OriginStart} */
  let options
  /** @type {ProcessIdentity} */
  let link

  /** @param {import('./origin.js').WikiEnvironment} wikiEnvironment */
  async function restartWiki (wikiEnvironment) {
    await setWiki(shared, { ...inherited, ...wikiEnvironment, MONGODB_URI: seenFromThere(options.mongodbUri) })
    await waitUntilReady(ssh, link, options)
  }

  return {
    facts,
    record: () => ({ facts, ssh: booted ? null : ssh, booted }),
    async start (given) {
      options = given
      const { directory, wikiEnvironment, onPart } = given
      onPart(`the wiki on ${facts.kind === 'board' ? 'the board' : ssh.at(-1)}`)
      const connection = await connect(ssh, given)
      link = connection.link
      shared = connection.shared
      await restartWiki(wikiEnvironment)
      mkdirSync(path.join(directory, 'origin'), { recursive: true, mode: 0o700 })
      writeFileSync(path.join(directory, 'origin/access.log'), '', { mode: 0o600 })
      position = await logEnd(shared)
      return { address, configHash: null }
    },

    restartWiki,
    async killNginx () {
      await runRemotely(
        shared,
        'systemctl kill --signal=KILL stevec-nginx; ' +
          'while systemctl is-active --quiet stevec-nginx; do sleep 0.1; done'
      )
    },
    async startNginx () {
      await runRemotely(shared, 'systemctl start stevec-nginx')
    },
    nginxPid: () => null,

    async fetchLog (directory) {
      const { rows, end } = await readLog(shared, position)
      appendFileSync(path.join(directory, 'origin/access.log'), rows)
      position = end
    },

    sample: (onSample) => sampleOrigin({ command: 'ssh', args: shared, onSample }),
    processes,
    close
  }
}

/**
 * Opens the connection that all later commands and forwards share.
 * @param {string[]} ssh
 * @param {import('./origin.js').OriginStart} options
 * @returns {Promise<{link: ProcessIdentity, shared: string[]}>} `shared`: arguments that use the connection
 * @throws {OriginError} when there is no connection within a minute
 */
async function connect (ssh, { directory, wikiPorts: [wikiPort], purgePorts, outlive, signal, onStart }) {
  const socket = path.join(directory, 'ssh')
  if (Buffer.byteLength(socket) > SOCKET_PATH_MAX_BYTES) {
    throw new OriginError(`${socket} is too long a path for a socket; choose a shorter folder in STEVEC_STATE`)
  }
  const logFile = path.join(directory, 'ssh.log')
  // The wiki listens on its own machine's loopback only. The first forward is for writing pages and reading the
  // counter, past every cache and log. The others carry the wiki's purges to the edges here, which no other
  // machine can reach either.
  const forwards = [
    '-L',
    `127.0.0.1:${wikiPort}:127.0.0.1:${WIKI_PORT}`,
    ...purgePorts.flatMap((port) => ['-R', `127.0.0.1:${port}:127.0.0.1:${port}`])
  ]
  const settings = [`ConnectTimeout=${CONNECT_TIMEOUT_S}`, 'ExitOnForwardFailure=yes', 'ServerAliveInterval=30']
  const link = await startProcess({
    name: 'ssh',
    command: 'ssh',
    args: ['-M', '-S', socket, '-N', ...settings.flatMap((setting) => ['-o', setting]), ...forwards, ...ssh],
    logFile,
    outlive
  })
  onStart(link)
  const shared = ['-S', socket, '-o', 'ControlMaster=no', ...ssh]
  const isLinked = () => runRemotely(['-O', 'check', ...shared], '').then(() => true, () => false)
  await waitUntil(async () => !isAlive(link) || await isLinked(), CONNECT_TIMEOUT_S * 1000, 100)
  signal?.throwIfAborted()
  if (!isAlive(link) || !await isLinked()) {
    throw new OriginError(`there is no connection to ${ssh.at(-1)}:\n${logTail(logFile)}`)
  }
  return { link, shared }
}

/**
 * @param {string[]} ssh
 * @param {ProcessIdentity} link  the connection
 * @param {import('./origin.js').OriginStart} options
 * @throws {OriginError} when the wiki is not ready in time, or the connection ends
 */
async function waitUntilReady (ssh, link, { wikiPorts: [wikiPort], signal }) {
  const isReady = () => request(`http://127.0.0.1:${wikiPort}/readyz`)
    .then(({ status }) => status === 200, () => false)
  const ready = await waitUntil(
    async () => signal?.aborted || !isAlive(link) || await isReady(),
    READY_TIMEOUT_MS,
    250
  )
  signal?.throwIfAborted()
  if (ready && isAlive(link)) return
  const said = await runRemotely(ssh, 'journalctl --unit stevec-wiki --lines 12 --no-pager --output cat')
    .catch((error) => error.message)
  throw new OriginError(`the wiki on ${ssh.at(-1)} did not become ready with its database:\n${said}`)
}

/**
 * @param {string[]} ssh
 * @returns {Promise<LogPosition>}
 */
async function logEnd (ssh) {
  const [inode, offset] = String(await runRemotely(ssh, `stat -c '%i %s' ${LOG}`)).split(' ').map(Number)
  return { inode, offset }
}

/**
 * Reads nginx's log from a position on, also across one rotation.
 * @param {string[]} ssh
 * @param {LogPosition} position
 * @returns {Promise<{rows: Buffer, end: LogPosition}>}
 */
async function readLog (ssh, { inode, offset }) {
  const output = await runRemotely(ssh, `
now=$(stat -c %i ${LOG}) || exit 1
if [ "$now" = ${inode} ]; then echo "$now same"; tail -c +${offset + 1} ${LOG}
elif [ "$(stat -c %i ${LOG}.1 2>/dev/null)" = ${inode} ]; then echo "$now $(($(stat -c %s ${LOG}.1) - ${offset}))"; tail -c +${offset + 1} ${LOG}.1; cat ${LOG}
else echo "$now 0"; cat ${LOG}; fi`)
  const head = output.indexOf(10)
  const [inodeNow, oldBytes] = output.subarray(0, head).toString().split(' ')
  const rows = output.subarray(head + 1)
  const readBytes = oldBytes === 'same' ? offset + rows.length : rows.length - Number(oldBytes)
  return { rows, end: { inode: Number(inodeNow), offset: readBytes } }
}

/**
 * @param {string[]} ssh
 * @param {import('./origin.js').WikiEnvironment} environment
 * @throws {OriginError} for a value that a settings file cannot hold
 */
async function setWiki (ssh, environment) {
  const set = /** @type {[string, string][]} */ (Object.entries(environment).filter(([, value]) => value !== undefined))
  const unset = Object.keys(environment).filter((name) => environment[name] === undefined)
  const bad = set.find(([, value]) => /['\n\\]/.test(value))
  if (bad !== undefined) {
    throw new OriginError(`${bad[0]} contains a quote, a backslash or a line break, which the settings file on the origin cannot hold`)
  }
  const input = set.map(([name, value]) => `${name}='${value}'\n`).join('')
  // By standard input: a database's address may hold a password, and every user can read a process's arguments.
  await runRemotely(ssh, `set -e; umask 077; cat >${SETTINGS}; umask 022; mkdir -p ${path.posix.dirname(WIKI_DROP_IN)} ${path.posix.dirname(NGINX_DROP_IN)}
printf '[Service]\\nEnvironmentFile=${SETTINGS}\\nUnsetEnvironment=${unset.join(' ')}\\n' >${WIKI_DROP_IN}; printf '${NGINX_SETTINGS}' >${NGINX_DROP_IN}
systemctl daemon-reload; systemctl restart stevec-wiki`, { input })
}
