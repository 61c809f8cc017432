import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { machine as hardware, type as systemName } from 'node:os'
import path from 'node:path'
import { ROOT } from '@stevec/harness/config'
import { writesRows } from '@stevec/harness/k6'
import { requireTool } from '@stevec/harness/tools/locate'
import { BEGIN_MS } from '../../scenarios/arrivals.js'
import { filesOf, GARBAGE_COLLECTION, K6_OPTIONS, RAW_SUFFIX, round } from '../lab/generator.js'
import { k6Message } from '../lab/k6-message.js'
import { segmentOptions } from '../lab/segments.js'
import { clockFacts, compareClocks } from './clock.js'
import { doorPorts, hostsOf } from './doors.js'
import { openLink } from './link.js'
import { machineTime } from './machine-time.js'
import { collect, lostTo, oneLine, RemoteError } from './ssh.js'

const SCENARIOS = path.join(ROOT, 'loadgen/scenarios')
const LOG_MAX_BYTES = 60_000
/** Of no door: a forward to it only shows that the machine allows forwards. */
const DISCARD_PORT = 9
/** Go reads each file of SSL_CERT_DIR, so the certificate has a folder of its own. */
const CA_DIRECTORY = 'ca'
const CA_FILE = `${CA_DIRECTORY}/ca.pem`
/** Of ssh, when the connection was lost; k6 has no such code. */
const LOST = 255
/** Of a shell: the command was ended by signal number code − 128. */
const SIGNAL_CODES = 128

/** @typedef {import('../lab/generator.js').GeneratorFacts} GeneratorFacts */
/** @typedef {Awaited<ReturnType<typeof openRemoteGenerators>>} RemoteGenerators */

/**
 * @typedef {object} RemoteStart
 * @property {string} name  of the generator, as on this machine
 * @property {string} directory  of the trial
 * @property {import('../lab/generator.js').GeneratorSettings} settings
 * @property {{index: number, of: number}} segment  of the plan
 * @property {import('../lab/common-begin.js').CommonBegin} begin
 */

/**
 * A generator after its trial.
 * @typedef {object} Finished
 * @property {GeneratorFacts} facts
 * @property {import('./clock.js').ClockFacts | null} clock  null: the machine was lost
 * @property {number | null} busyRatio  of the cores of its machine
 */

/**
 * Opens a generator on each machine. A machine that is lost is opened again for the next trial.
 * @param {import('./targets.js').Target[]} targets
 * @param {object} options
 * @param {string} [options.configFile]  see sshArguments
 * @param {AbortSignal} options.signal
 * @param {(text: string) => void} options.onProgress
 * @throws {RemoteError} when one of them cannot be a generator
 */
export async function openRemoteGenerators (targets, { configFile, signal, onProgress }) {
  /** @type {(import('./link.js').Link | null)[]} */
  const links = targets.map(() => null)
  const closeAll = async () => {
    signal.removeEventListener('abort', closeAll)
    await Promise.all(links.splice(0).map((link) => link?.close()))
  }
  signal.addEventListener('abort', closeAll)

  /** @param {number} index */
  async function linkTo (index) {
    signal.throwIfAborted()
    const open = links[index]
    if (open?.isOpen()) return open
    onProgress(`bringing k6 to ${targets[index].host} …`)
    const link = await openLink(targets[index], configFile)
    links[index] = link
    try {
      signal.throwIfAborted()
      await tryOut(link)
      await bringK6(link)
    } catch (error) {
      await link.close()
      signal.throwIfAborted()
      throw error
    }
    return link
  }

  try {
    for (let index = 0; index < targets.length; index++) await linkTo(index)
  } catch (error) {
    await closeAll()
    throw error
  }
  return {
    hosts: targets.map(({ host }) => host),

    /** @returns {import('../machine/reading.js').WatchedProcess[]} the ssh that requests pass through, here */
    processes: () => links.flatMap((link, index) =>
      link?.isOpen() ? [{ name: `ssh ${index + 1}`, pid: link.pid, part: 'links' }] : []),

    /** @param {RemoteStart} options */
    async start (options) {
      const link = await linkTo(options.segment.index)
      return startOn(link, options, signal).catch(async (error) => {
        await link.close()
        throw error
      })
    },

    close: closeAll
  }
}

/**
 * Refuses a machine that lacks what a trial needs, before the first one.
 * @param {import('./link.js').Link} link
 * @throws {RemoteError}
 */
async function tryOut (link) {
  const { host, system, machine } = link
  if (system !== systemName() || machine !== hardware()) {
    throw new RemoteError(`${host} is ${system} on ${machine}, and the k6 of this machine is for ${systemName()} on ` +
      `${hardware()}: name a machine of that kind`)
  }
  await link.readClock()
  await link.forward(DISCARD_PORT)
  await link.endForward(DISCARD_PORT)
}

/**
 * Copies k6 and its scripts, and tries whether it runs there.
 * @param {import('./link.js').Link} link
 * @throws {RemoteError}
 */
async function bringK6 (link) {
  await link.run('making a folder there', `mkdir ${CA_DIRECTORY}`)
  for (const file of readdirSync(SCENARIOS)) await link.send(path.join(SCENARIOS, file), file)
  await link.send(requireTool('k6').path, 'k6')
  await link.run('starting k6 there (is its folder for temporary files mounted noexec? set TMPDIR)',
    'chmod 700 k6 && ./k6 version')
}

/**
 * @param {import('./link.js').Link} link
 * @param {RemoteStart} options
 * @param {AbortSignal} signal
 */
async function startOn (link, { name, directory, settings, segment, begin }, signal) {
  const files = filesOf({ name, directory })
  const base = name.replace(' ', '-')
  const forwards = await forwardAll(link, [begin.port, ...doorPorts(settings)])
  if (settings.ca_file !== undefined) await link.send(settings.ca_file, CA_FILE)
  const before = await compareClocks(link.readClock)
  begin.setAhead(segment.index, before.aheadUs)

  const idleMs = settings.model === 'open' ? BEGIN_MS : 0
  const startedAt = performance.now()
  const child = link.start(scriptFor(base, segment, settings.ca_file !== undefined))
  // Not as arguments, which every user of that machine can read.
  child.stdin?.end(JSON.stringify({
    ...settings,
    ca_file: undefined,
    begin_url: `http://127.0.0.1:${forwards.get(begin.port)}/${segment.index}`,
    hosts: hostsOf(settings, forwards)
  }))
  const [said, complained] = [collect(child.stdout), collect(child.stderr)]
  const done = new Promise((/** @type {(code: number) => void} */ resolve) => {
    child.once('error', () => resolve(LOST))
    child.once('close', (code) => resolve(code ?? LOST))
  }).then((code) => ({ code, wallS: Math.max(0.001, (performance.now() - startedAt - idleMs) / 1000) }))

  return {
    host: link.host,
    csvFile: files.csv,
    done,

    /** Ends the generator, with all that it has on its machine. */
    stop: () => link.close(),

    /**
     * Compares the clocks again and copies what k6 wrote. Call it when no generator sends any more.
     * @returns {Promise<Finished>}
     */
    async finish () {
      const { code, wallS } = await done
      const used = machineTime(said())
      try {
        if (code === LOST) throw new RemoteError((link.isOpen() && oneLine(complained())) || lostTo(link.host))
        const clock = clockFacts(before, await compareClocks(link.readClock))
        await fetchFiles(link, base, files)
        for (const port of forwards.keys()) await link.endForward(port)
        const facts = factsOf(code, code === 0 ? null : oneLine(k6Message(files.log)), wallS, used, link.cores)
        return { facts, clock, busyRatio: used.busyRatio }
      } catch (error) {
        signal.throwIfAborted()
        rmSync(files.csv, { force: true })
        // Whatever is wrong with the connection, the next trial gets a new one.
        await link.close()
        const { message } = /** @type {Error} */ (error)
        return { facts: factsOf(LOST, message, wallS, used, link.cores), clock: null, busyRatio: null }
      }
    }
  }
}

/**
 * @param {import('./link.js').Link} link
 * @param {string} base  of the files' names there
 * @param {{csv: string, log: string}} files  here
 */
async function fetchFiles (link, base, { csv, log }) {
  const text = await link.run('reading k6\'s log', `tail -c ${LOG_MAX_BYTES} ${base}.log`)
  if (text !== '') writeFileSync(log, text, { mode: 0o600 })
  // A k6 that could not begin has written none.
  await link.fetch(`[ ! -e ${base}${RAW_SUFFIX} ] || cat ${base}${RAW_SUFFIX}`, csv)
  await link.run('tidying up', `rm -f ${base}.log ${base}${RAW_SUFFIX} ${CA_FILE}`)
}

/**
 * @param {number} code
 * @param {string | null} message
 * @param {number} wallS
 * @param {import('./machine-time.js').MachineTime} used
 * @param {number} cores  of the machine; 0: not known
 * @returns {GeneratorFacts}
 */
const factsOf = (code, message, wallS, { cpuS, stolenShare }, cores) => ({
  exit_code: code > SIGNAL_CODES && code !== LOST ? null : code,
  message,
  wall_s: round(wallS),
  generator_cpu_s: round(cpuS),
  generator_cpu_share: cores === 0 ? 0 : round(cpuS / (wallS * cores)),
  stolen_cpu_share: stolenShare === null ? null : round(stolenShare)
})

/**
 * @param {import('./link.js').Link} link
 * @param {number[]} ports  here
 * @returns {Promise<Map<number, number>>} ports there, by port here
 */
async function forwardAll (link, ports) {
  /** @type {Map<number, number>} */
  const forwards = new Map()
  for (const port of ports) forwards.set(port, await link.forward(port))
  return forwards
}

/**
 * Runs k6 without the user's own settings there. The file with its number tells the keeper (link.js) what to kill.
 * @param {string} base
 * @param {{index: number, of: number}} segment
 * @param {boolean} hasCa
 * @returns {string} for sh; it reads k6's settings from its standard input
 */
function scriptFor (base, { index, of }, hasCa) {
  const output = `${writesRows(requireTool('k6')) ? 'stevec' : 'csv'}=${base}${RAW_SUFFIX}`
  const args = [...K6_OPTIONS, ...segmentOptions(index, of), '--out', output, 'requests.js']
  const environment = {
    ...GARBAGE_COLLECTION,
    ...hasCa && { SSL_CERT_FILE: CA_FILE, SSL_CERT_DIR: CA_DIRECTORY },
    K6_CSV_TIME_FORMAT: 'unix_micro',
    XDG_CONFIG_HOME: '.'
  }
  const readTime = 'head -n 1 /proc/stat 2>/dev/null || echo none'
  return `{
unset $(env | sed -n 's/^\\(K6_[A-Za-z0-9_]*\\)=.*/\\1/p')
unset HTTP_PROXY HTTPS_PROXY http_proxy https_proxy
STEVEC_GENERATOR=$(cat)
export STEVEC_GENERATOR ${Object.entries(environment).map(([key, value]) => `${key}=${value}`).join(' ')}
${readTime}
./k6 ${args.map((arg) => arg === '' ? '""' : arg).join(' ')} >${base}.log 2>&1 </dev/null &
echo $! >${base}.pid
wait $!
code=$?
rm -f ${base}.pid
${readTime}
times
exit $code
}`
}
