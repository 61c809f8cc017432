import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** A day: no measurement takes longer, and a forgotten loop must end. */
const SAMPLES_MAX = 86_400
/** A frame passes the switch's port and the bridge over the ports; each byte must count once. */
const BRIDGE = 'switch'

/**
 * One second of the origin.
 * @typedef {object} OriginSample
 * @property {number} time_s  since 1970, by this machine's clock, at the end of the second; late by the delay of the
 *   sampler's first line
 * @property {number} cpu_ratio  busy share of all its CPUs, 0…1
 * @property {number} memory_used_bytes  MemTotal − MemAvailable
 * @property {number | null} temperature_c  of the CPU; null without a sensor
 * @property {number | null} received_bytes  over the network in this second; null where it mixes with other traffic
 * @property {number | null} sent_bytes
 */

/**
 * Prints one line a second. It needs no installation: a POSIX shell reads /proc itself and starts no process except
 * `sleep`, so that sampling costs the board little.
 * proc_stat(5), proc_meminfo(5), proc_pid_net(5); https://docs.kernel.org/driver-api/thermal/sysfs-api.html
 */
export const SAMPLE_SCRIPT = `
cat /proc/uptime
count=0
while [ $count -lt ${SAMPLES_MAX} ]; do
  read uptime idle </proc/uptime
  read cpu user nice system idle iowait irq softirq steal rest </proc/stat
  total=0; available=0
  while read name kibibytes unit; do
    case $name in MemTotal:) total=$kibibytes;; MemAvailable:) available=$kibibytes; break;; esac
  done </proc/meminfo
  temperature=-
  if [ -r /sys/class/thermal/thermal_zone0/temp ]; then read temperature </sys/class/thermal/thermal_zone0/temp || temperature=-; fi
  network=
  while read name received a b c d e f g sent rest; do
    case $name in Inter-*|face*|lo:) ;; *:) network="$network $name$received:$sent";; esac
  done </proc/net/dev
  echo "$uptime $user $nice $system $idle $iowait $irq $softirq $steal $total $available $temperature$network"
  count=$((count + 1))
  sleep 1
done
`

/**
 * `ended` rejects when sampling ends without `stop`: from then on samples are missing, and the reader must know.
 * @typedef {{stop: () => Promise<void>, ended: Promise<void>}} Sampler
 */

/**
 * Samples the origin once a second.
 * @param {object} options
 * @param {string} options.command  runs a script on the origin: `sh` or `ssh`
 * @param {string[]} options.args  before the script: ['-c'] or sshArguments
 * @param {(sample: OriginSample) => void} options.onSample
 * @returns {Sampler}
 */
export function sampleOrigin ({ command, args, onSample }) {
  const child = spawn(command, [...args, SAMPLE_SCRIPT], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stopped = false
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text) => { complaint = (complaint + text).slice(-2_000) })
  const parse = createParser()
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    try {
      const sample = parse(line)
      if (sample !== null) onSample(sample)
    } catch (error) {
      complaint = /** @type {Error} */ (error).message
      lines.close()
      child.kill()
    }
  })
  /** @type {Promise<void>} */
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) =>
      stopped ? resolve() : reject(new Error(`sampling the origin ended (exit code ${code}): ${complaint.trim()}`))
    )
  })
  // Without this, an unawaited rejection would end the process.
  ended.catch(() => {})
  return {
    ended,
    async stop () {
      stopped = true
      child.kill()
      await ended.catch(() => {})
    }
  }
}

/**
 * Creates a parser for the script's lines, in their order.
 * @param {() => number} [clock]  seconds since 1970; the origin's own clock may be wrong, as boards keep no time
 * @returns {(line: string) => OriginSample | null} null for a line without a sample
 * @throws {Error} for a line that the script does not print
 */
export function createParser (clock = () => Date.now() / 1000) {
  /** @type {number | null} */
  let bootedAt = null
  /** @type {ReturnType<typeof reading> | null} */
  let before = null
  return (line) => {
    if (bootedAt === null) {
      bootedAt = clock() - number(line.split(' ')[0], line)
      return null
    }
    const now = reading(line)
    const last = before
    before = now
    if (last === null) return null
    const all = now.all - last.all
    return {
      time_s: Math.round((bootedAt + now.uptime) * 1000) / 1000,
      cpu_ratio: all === 0 ? 0 : Math.min(1, Math.max(0, (now.busy - last.busy) / all)),
      memory_used_bytes: now.usedBytes,
      temperature_c: now.temperature,
      // A restarted counter (32 bits on this CPU, or the port went down and up) says nothing about this second.
      received_bytes: Math.max(0, now.received - last.received),
      sent_bytes: Math.max(0, now.sent - last.sent)
    }
  }
}

/** @param {string} line */
function reading (line) {
  const [uptime, user, nice, system, idle, iowait, irq, softirq, steal, total, available, temperature, ...network] =
    line.trim().split(' ')
  const [u, n, s, i, w, q, f, t] = [user, nice, system, idle, iowait, irq, softirq, steal].map((text) =>
    number(text, line)
  )
  const ports = network.map((text) => {
    const [name, received, sent] = text.split(':')
    return { name, received: number(received, line), sent: number(sent, line) }
  })
  const counted = ports.some(({ name }) => name === BRIDGE) ? ports.filter(({ name }) => name === BRIDGE) : ports
  return {
    uptime: number(uptime, line),
    busy: u + n + s + q + f,
    // Includes steal: time that the host took was not available to this machine.
    all: u + n + s + q + f + i + w + t,
    usedBytes: (number(total, line) - number(available, line)) * 1024,
    temperature: temperature === '-' ? null : number(temperature, line) / 1000,
    received: counted.reduce((sum, port) => sum + port.received, 0),
    sent: counted.reduce((sum, port) => sum + port.sent, 0)
  }
}

/**
 * @param {string | undefined} text
 * @param {string} line
 */
function number (text, line) {
  const value = Number(text)
  if (text === undefined || text === '' || !Number.isFinite(value)) {
    throw new Error(`the origin's sampler printed an unexpected line: ${line.slice(0, 200)}`)
  }
  return value
}
