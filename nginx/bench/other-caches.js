import { execFileSync } from 'node:child_process'
import { chownSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { freePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { processesOf } from './worker.js'

const UP_MAX_MS = 60_000
const NOBODY = 65534
/** As Debian's packages install them. */
const VARNISH = '/usr/sbin/varnishd'
const TRAFFIC_SERVER = '/usr/bin/traffic_server'
const TRAFFIC_SERVER_SETTINGS = '/etc/trafficserver'

/** @typedef {{name: string, port: number, pids: () => number[], folder: string}} Cache */

/**
 * Starts Varnish and Traffic Server, as far as they are installed, in front of an origin.
 * @param {object} options
 * @param {string} options.directory
 * @param {number} options.originPort
 * @param {number} options.maxSizeBytes  of each cache
 * @param {number} options.workers  thread pools of Varnish, event threads of Traffic Server
 * @returns {Promise<{caches: Cache[], stop: () => Promise<void>}>}
 */
export async function startOtherCaches ({ directory, originPort, maxSizeBytes, workers }) {
  /** @type {Cache[]} */
  const caches = []
  /** @type {Awaited<ReturnType<typeof startProcess>>[]} */
  const processes = []
  const stop = async () => {
    for (const each of processes) await stopProcess(each)
  }
  try {
    for (const [name, binary, prepare] of /** @type {const} */ ([
      ['varnish', VARNISH, prepareVarnish],
      ['trafficserver', TRAFFIC_SERVER, prepareTrafficServer]
    ])) {
      if (!existsSync(binary)) continue
      const [port] = await freePorts(1)
      const folder = path.join(directory, name)
      mkdirSync(folder)
      const how = prepare({ folder, port, originPort, maxSizeBytes, workers })
      const started = await startProcess({ name, ...how, logFile: path.join(directory, `${name}.log`) })
      processes.push(started)
      const up = () => fetch(`http://127.0.0.1:${port}/warm`).then(({ ok }) => ok, () => false)
      if (!await waitUntil(up, UP_MAX_MS)) throw new Error(`${name} does not answer; see ${directory}/${name}.log`)
      caches.push({ name, port, pids: () => processesOf(started.pid), folder })
    }
    return { caches, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** @typedef {{folder: string, port: number, originPort: number, maxSizeBytes: number, workers: number}} Options */

/** Responses in memory, and no log in a file: that is another program, varnishncsa. @param {Options} options */
const prepareVarnish = ({ folder, port, originPort, maxSizeBytes, workers }) => ({
  command: VARNISH,
  args: [
    '-F', '-n', folder, '-j', 'none', '-a', `127.0.0.1:${port}`, '-b', `127.0.0.1:${originPort}`,
    '-s', `malloc,${maxSizeBytes}`, '-p', `thread_pools=${workers}`
  ]
})

/** With a cache on disk and a log in its own form. It refuses to run as root. @param {Options} options */
function prepareTrafficServer ({ folder, port, originPort, maxSizeBytes, workers }) {
  const etc = path.join(folder, 'etc')
  cpSync(TRAFFIC_SERVER_SETTINGS, etc, { recursive: true, dereference: true })
  for (const name of ['cache', 'run', 'log']) mkdirSync(path.join(folder, name))
  writeFileSync(path.join(folder, 'runroot.yaml'), [
    'prefix: /usr', 'exec_prefix: /usr', 'bindir: /usr/bin', 'sbindir: /usr/sbin', 'includedir: /usr/include',
    'libdir: /usr/lib/trafficserver', 'libexecdir: /usr/lib/trafficserver/modules', `sysconfdir: ${etc}`,
    `localstatedir: ${folder}`, `datadir: ${folder}/cache`, `cachedir: ${folder}/cache`, `runtimedir: ${folder}/run`,
    `logdir: ${folder}/log`, ''
  ].join('\n'))
  writeFileSync(path.join(etc, 'records.config'), [
    `proxy.config.http.server_ports STRING ${port}:ip-in=127.0.0.1`,
    'proxy.config.exec_thread.autoconfig INT 0',
    `proxy.config.exec_thread.limit INT ${workers}`,
    'proxy.config.admin.user_id STRING #-1',
    'proxy.config.url_remap.pristine_host_hdr INT 1',
    'proxy.config.log.logging_enabled INT 3'
  ].map((line) => `CONFIG ${line}\n`).join(''))
  writeFileSync(path.join(etc, 'remap.config'), `map / http://127.0.0.1:${originPort}/\n`)
  writeFileSync(path.join(etc, 'storage.config'), `${folder}/cache ${maxSizeBytes}\n`)
  const args = [`--run-root=${folder}/runroot.yaml`]
  if (process.getuid?.() !== 0) return { command: TRAFFIC_SERVER, args }
  chownSync(path.dirname(folder), NOBODY, NOBODY)
  execFileSync('chown', ['--recursive', String(NOBODY), folder])
  const as = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']
  return { command: 'setpriv', args: [...as, TRAFFIC_SERVER, ...args] }
}
