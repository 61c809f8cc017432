// An OCI bundle of a service, from its image and from compose.yaml: what an engine would hand to its runtime.
// https://github.com/opencontainers/runtime-spec/blob/main/config.md
import { chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** @import {Service} from './composition.js' */
/** @import {Image} from './images.js' */

const CPU_PERIOD_US = 100_000
const UNITS = { M: 1024 ** 2, G: 1024 ** 3 }
const FLAGS = ['nosuid', 'nodev', 'noexec']
/** As Docker and podman hide them. */
const MASKED = ['/proc/acpi', '/proc/kcore', '/proc/keys', '/proc/timer_list', '/proc/scsi', '/sys/firmware']
const READ_ONLY = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']

/**
 * @param {object} parts
 * @param {string} parts.id  of the container
 * @param {Service} parts.service
 * @param {Image} parts.image
 * @param {string} parts.folder  of the bundle
 * @param {string} parts.volumes  the folder of all volumes
 * @param {string | undefined} parts.namespace  network, undefined: one of its own without interfaces
 * @param {string} parts.hosts
 */
export function writeBundle ({ id, service, image, folder, volumes, namespace, hosts }) {
  mkdirSync(folder, { recursive: true })
  const hostsFile = path.join(folder, 'hosts')
  writeFileSync(hostsFile, hosts)
  const mounts = [
    { destination: '/proc', type: 'proc', source: 'proc', options: FLAGS },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'strictatime', 'mode=755', 'size=64k'] },
    { destination: '/dev/shm', type: 'tmpfs', source: 'shm', options: [...FLAGS, 'mode=1777', 'size=64m'] },
    { destination: '/etc/hosts', type: 'bind', source: hostsFile, options: ['bind', 'ro'] },
    ...(service.tmpfs ?? []).map(tmpfsMount),
    ...(service.volumes ?? []).map((text) => volumeMount(text, { volumes, root: image.root }))
  ]
  const { args, env, user, directory } = processOf(service, image)
  const [uid, gid] = user.split(':').map(Number)
  const dropped = service.cap_drop?.includes('ALL') ?? false
  if (!dropped) throw new Error('this runner gives no capabilities; add cap_drop: [ALL]')
  writeFileSync(path.join(folder, 'config.json'), JSON.stringify({
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: { uid, gid },
      args,
      env,
      cwd: directory,
      capabilities: { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] },
      noNewPrivileges: service.security_opt?.includes('no-new-privileges:true') ?? false,
      rlimits: Object.entries(service.ulimits ?? {}).map(limitOf)
    },
    root: { path: image.root, readonly: service.read_only ?? false },
    hostname: id,
    mounts,
    linux: {
      namespaces: [
        { type: 'pid' }, { type: 'mount' }, { type: 'ipc' }, { type: 'uts' },
        { type: 'network', ...namespace && { path: namespace } }
      ],
      cgroupsPath: `/${id}`,
      resources: resourcesOf(service),
      maskedPaths: MASKED,
      readonlyPaths: READ_ONLY
    }
  }, null, 2))
}

/**
 * @param {Service} service
 * @param {Image} image
 */
export function processOf (service, { config }) {
  const entrypoint = service.entrypoint ?? config.Entrypoint ?? []
  // An own entrypoint makes an engine forget the image's command.
  const command = service.command ?? (service.entrypoint ? [] : config.Cmd ?? [])
  const own = Object.entries(service.environment ?? {}).map(([name, value]) => `${name}=${value}`)
  return {
    args: [...entrypoint, ...command],
    env: [...config.Env ?? [], ...own],
    user: service.user ?? config.User ?? '0:0',
    directory: config.WorkingDir || '/'
  }
}

/**
 * Some machines allow no limit above their own; there the test has less than compose.yaml asks for.
 * @param {[string, number]} ulimit
 */
function limitOf ([name, most]) {
  if (name !== 'nofile') throw new Error(`this runner knows no ulimit ${name}`)
  const own = Number(/^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
  const given = Math.min(most, own)
  return { type: 'RLIMIT_NOFILE', hard: given, soft: given }
}

/** @param {string} text  `path:size=64m,mode=1777` */
function tmpfsMount (text) {
  const [destination, options = ''] = text.split(':')
  return { destination, type: 'tmpfs', source: 'tmpfs', options: [...FLAGS, ...options.split(',').filter(Boolean)] }
}

/**
 * An engine gives a new volume the owner and the mode of the image's folder that it covers.
 * @param {string} text  `volume:path[:ro]`
 * @param {{volumes: string, root: string}} where
 */
function volumeMount (text, { volumes, root }) {
  const [name, destination, mode = 'rw'] = text.split(':')
  const source = path.join(volumes, name)
  const covered = statSync(path.join(root, destination), { throwIfNoEntry: false })
  if (statSync(source, { throwIfNoEntry: false }) === undefined) {
    mkdirSync(source, { recursive: true, mode: covered ? covered.mode & 0o7777 : 0o755 })
    if (covered) chownSync(source, covered.uid, covered.gid)
  }
  return { destination, type: 'bind', source, options: ['bind', mode] }
}

/** @param {Service} service */
function resourcesOf (service) {
  const limits = service.deploy?.resources.limits
  if (limits === undefined) return {}
  const [, amount, unit] = /^(\d+)([MG])$/.exec(limits.memory) ?? []
  return {
    memory: { limit: Number(amount) * UNITS[/** @type {'M' | 'G'} */ (unit)] },
    cpu: { period: CPU_PERIOD_US, quota: Math.round(Number(limits.cpus) * CPU_PERIOD_US) },
    pids: { limit: limits.pids }
  }
}
