import { rmSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { readConfig, ROOT } from '@stevec/harness/config'
import { readProcessorTimes } from '@stevec/harness/proc'
import { startProcess, stopProcess } from '@stevec/harness/processes'
import { BEGIN_MS } from '../../scenarios/arrivals.js'
import { writesRows } from '@stevec/harness/k6'
import { requireTool } from '@stevec/harness/tools/locate'
import { cpuSeconds, createChildCpu } from './child-cpu.js'
import { k6Message } from './k6-message.js'
import { segmentOptions } from './segments.js'

/** Suffix of k6's own sample files, which are too large to keep. */
export const RAW_SUFFIX = '-raw.csv.gz'
const SCRIPT = path.join(ROOT, 'loadgen/scenarios/requests.js')
const CRAWL_SCRIPT = path.join(ROOT, 'loadgen/scenarios/crawl.js')
/** Without a summary and thresholds k6 sums up no metrics (`node loadgen/bench/generator.js` says what that saves). */
export const K6_OPTIONS = [
  'run', '--quiet', '--no-color', '--no-usage-report', '--summary-mode=disabled', '--no-thresholds', '--address', ''
]
const STOP_TIMEOUT_MS = 5_000
/**
 * Go collects garbage when the heap has doubled. At five times the heap a request takes k6 a fifth less processor time;
 * above 1 GiB Go collects as often as it needs to. https://go.dev/doc/gc-guide
 */
export const GARBAGE_COLLECTION = Object.freeze({ GOGC: '400', GOMEMLIMIT: '1GiB' })
/** 10 000 clients take more than 1 GiB: Go would collect all the time, and k6 would take both cores from the wiki. */
const GARBAGE_COLLECTION_OF_CRAWLERS = Object.freeze({ GOGC: '100' })

/**
 * The input of loadgen/scenarios/requests.js.
 * @typedef {import('./definition.js').Settings & DoorSettings} GeneratorSettings
 */

/**
 * @typedef {object} DoorSettings
 * @property {string} url  of the door
 * @property {string[]} [urls]  of its edges, see Door; a client keeps to one of them
 * @property {string} [edit_url]  of the door of edits; default: as reads
 * @property {string} [ca_file]  see Door
 * @property {import('../../scenarios/plan.js').Plan} plan
 * @property {string} mark  prefix of each edit's text; unique to each trial of a run
 * @property {string} [paths_file]  JSON, the path of each page; default /wiki/page-000001 …
 * @property {string | null} [picture_markdown]  that shows a picture in the text of each edit
 * @property {string | null} until_url  replaces the plan's end: the readers run until this address responds
 * @property {number} [crawl_per_s]  of crawlers: requests
 * @property {string} [begin_url]  that responds when all generators of the trial are ready
 * @property {Record<string, string>} [headers]  of each request
 * @property {Record<string, string>} [hosts]  `host:port` of a door, and the address to connect to instead
 */

/**
 * Facts of a k6 process. Shares are of all cores. `stolen_cpu_share`: CPU time that this machine wanted and its host
 * gave to other machines meanwhile; null where the kernel does not report it.
 * @typedef {object} GeneratorFacts
 * @property {number | null} exit_code
 * @property {string | null} message  k6's own, if it did not end well
 * @property {number} wall_s
 * @property {number} generator_cpu_s
 * @property {number} generator_cpu_share
 * @property {number | null} stolen_cpu_share
 */

/**
 * @typedef {object} GeneratorOptions
 * @property {string} name  of the process, and with a hyphen for a space of its files <name>-raw.csv.gz and <name>.log
 * @property {string} directory
 * @property {GeneratorSettings} settings
 * @property {number} [watchPort]  of k6's dashboard
 * @property {number} [threads]  that run k6's code at once; default: the number of cores
 * @property {string} [crawlsFrom]  addresses of crawlers, as k6's --local-ips: runs crawl.js, which keeps no samples
 * @property {{index: number, of: number}} [segment]  of the plan; default: all of it
 */

/**
 * @typedef {object} Generator
 * @property {Promise<GeneratorFacts>} done
 * @property {() => number} cpuSeconds  used so far; 0 after its end
 * @property {string} csvFile  complete only once k6 has ended
 */

/**
 * Starts the k6 processes of one trial. The CPU time of a child that ends unannounced would be k6's (child-cpu.js), so
 * announce the end of any other child with `disregard`. Exceptions: ssh calls to a remote origin in a trial with a
 * fault, and to generators elsewhere beside a background, count as k6, for hundredths of a second.
 * @param {AbortSignal} signal  stops them
 */
export function createGenerators (signal) {
  const childCpu = createChildCpu()
  /** @type {Set<Awaited<ReturnType<typeof startK6>>>} */
  const running = new Set()
  return {
    /** Stops those that still run. */
    stop: () => Promise.all([...running].map((k6) => stopProcess(k6, STOP_TIMEOUT_MS))),

    /** @returns {import('../machine/reading.js').WatchedProcess[]} those that still run */
    processes: () => [...running].map(({ name, pid }) => ({ name, pid, part: 'generator' })),

    /**
     * @param {GeneratorOptions} options
     * @returns {Promise<Generator>}
     */
    async start (options) {
      const files = filesOf(options)
      const startedAt = performance.now()
      const stolenBeforeS = stolenCpuSeconds()
      const k6 = await startK6(options, files)
      running.add(k6)
      childCpu.watch(k6.pid)
      const onAbort = () => { stopProcess(k6, STOP_TIMEOUT_MS) }
      signal.addEventListener('abort', onAbort)
      if (signal.aborted) onAbort()
      let ended = false
      const done = k6.exited.then((exitCode) => {
        ended = true
        running.delete(k6)
        signal.removeEventListener('abort', onAbort)
        // Before the first planned request k6 only waits.
        const idleMs = options.settings.model === 'open' ? BEGIN_MS : 0
        const wallS = Math.max(0.001, (performance.now() - startedAt - idleMs) / 1000)
        const cpuS = childCpu.of(k6.pid)
        const message = exitCode === 0 ? null : k6Message(files.log)
        if (statSync(files.log).size === 0) rmSync(files.log)
        const stolenAfterS = stolenCpuSeconds()
        const stolenS = stolenAfterS === null || stolenBeforeS === null ? null : stolenAfterS - stolenBeforeS
        return {
          exit_code: exitCode,
          message,
          ...cpuFacts({ wallS, cpuS, stolenS })
        }
      })
      return { done, cpuSeconds: () => ended ? 0 : cpuSeconds(k6.pid), csvFile: files.csv }
    },
    disregard: childCpu.disregard
  }
}

/** @typedef {ReturnType<typeof createGenerators>} Generators */

/** @param {Pick<GeneratorOptions, 'name' | 'directory'>} options */
export const filesOf = ({ name, directory }) => {
  const base = path.join(directory, name.replace(' ', '-'))
  return { csv: `${base}${RAW_SUFFIX}`, log: `${base}.log` }
}

/**
 * @param {GeneratorOptions} options
 * @param {ReturnType<typeof filesOf>} files
 */
function startK6 ({ name, settings, watchPort, threads, crawlsFrom, segment = { index: 0, of: 1 } }, files) {
  const k6 = requireTool('k6')
  return startProcess({
    name: name.startsWith('k6') ? name : `k6 ${name}`,
    command: k6.path,
    args: [
      ...K6_OPTIONS,
      ...segmentOptions(segment.index, segment.of),
      ...crawlsFrom === undefined
        ? ['--out', `${writesRows(k6) ? 'stevec' : 'csv'}=${files.csv}`, SCRIPT]
        : ['--local-ips', crawlsFrom, CRAWL_SCRIPT]
    ],
    logFile: files.log,
    // Settings go into the environment: every user of the machine can read a process's arguments.
    env: {
      ...readConfig().systemEnvironment,
      // Without the user's own options for k6 (~/.config/k6/config.json).
      XDG_CONFIG_HOME: path.dirname(files.csv),
      ...threads === undefined ? {} : { GOMAXPROCS: String(threads) },
      ...crawlsFrom === undefined ? GARBAGE_COLLECTION : GARBAGE_COLLECTION_OF_CRAWLERS,
      ...trusted(settings.ca_file),
      K6_CSV_TIME_FORMAT: 'unix_micro',
      STEVEC_GENERATOR: JSON.stringify(settings),
      ...dashboard(watchPort)
    }
  })
}

/**
 * Go verifies servers by these certificates alone. https://pkg.go.dev/crypto/x509#SystemCertPool
 * @param {string | undefined} caFile
 * @returns {Record<string, string>}
 */
const trusted = (caFile) => caFile === undefined ? {} : { SSL_CERT_FILE: caFile, SSL_CERT_DIR: path.dirname(caFile) }

/** @param {{wallS: number, cpuS: number, stolenS: number | null}} times */
function cpuFacts ({ wallS, cpuS, stolenS }) {
  const ofCores = (/** @type {number} */ seconds) => round(seconds / (wallS * availableParallelism()))
  const share = ofCores(cpuS)
  return {
    wall_s: round(wallS),
    generator_cpu_s: round(cpuS),
    generator_cpu_share: share,
    stolen_cpu_share: stolenS === null ? null : ofCores(stolenS)
  }
}

/**
 * https://grafana.com/docs/k6/latest/results-output/web-dashboard/
 * @param {number | undefined} port
 * @returns {Record<string, string>}
 */
function dashboard (port) {
  return port === undefined
    ? {}
    : {
        K6_WEB_DASHBOARD: 'true',
        K6_WEB_DASHBOARD_HOST: '127.0.0.1',
        K6_WEB_DASHBOARD_PORT: String(port),
        K6_WEB_DASHBOARD_PERIOD: '1s',
        K6_WEB_DASHBOARD_OPEN: 'false'
      }
}

/** CPU time that this virtual machine wanted and its host did not give, seconds since boot; null: not reported. */
const stolenCpuSeconds = () => readProcessorTimes()?.stolen_s ?? null

/** @param {number} value */
export const round = (value) => Math.round(value * 1000) / 1000
