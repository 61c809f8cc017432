// A machine with Debian 12 and a real systemd as its process 1, in namespaces of its own: no network but its own
// loopback, no user of the host's. Needs root.
import { execFile, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync,
  renameSync, rmdirSync, rmSync, writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { readConfig } from '@stevec/harness/config'
import { waitUntil } from '@stevec/harness/processes'
import { requireTool } from '@stevec/harness/tools/locate'

const run = promisify(execFile)
/** What the package depends on, and curl for the tests. */
const PACKAGES = [
  'systemd', 'systemd-sysv', 'nginx', 'libnginx-mod-http-lua', 'lua-cjson', 'libbrotli1', 'libzstd1',
  'zlib1g', 'logrotate', 'curl'
]
const SUITE = 'bookworm'
const MIRROR = 'http://deb.debian.org/debian'
const UNUSED = ['/usr/share/doc/*', '/usr/share/man/*', '/usr/share/locale/*', '/usr/share/info/*']
const BOOT_MS = 120_000
const COMMAND_MS = 240_000
const OUTPUT_MAX_BYTES = 16 * 1024 ** 2

/** Prepares the root folder as containers do, and becomes systemd. https://systemd.io/CONTAINER_INTERFACE/ */
const BOOT = `
set -eu
root=$1
ip link set lo up
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in null zero full random urandom tty; do
  touch "$root/dev/$node"
  mount --bind "/dev/$node" "$root/dev/$node"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
cd "$root"
mkdir -p .host
pivot_root . .host
umount -l /.host
# Credentials of services arrive by propagation.
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
`

/** @returns {string | false} why no machine can be made here */
export function noMachine () {
  if (process.getuid?.() !== 0) return 'needs root: it boots a systemd of its own'
  if (unifiedCgroups() === null) return 'needs control groups of version 2'
  const missing = ['mmdebstrap', 'unshare', 'nsenter', 'ip', 'dpkg-deb', 'openssl']
    .filter((name) => spawnSync('which', [name]).status !== 0)
  return missing.length > 0 && `needs ${missing.join(', ')}`
}

/** @returns {string | null} where control groups of version 2 are mounted */
function unifiedCgroups () {
  return /^\S+ (\S+) cgroup2 rw/m.exec(readFileSync('/proc/self/mounts', 'utf8'))?.[1] ?? null
}

/**
 * Debian with the packages that ours depends on; made once, as that takes minutes and the network.
 * @returns {Promise<string>} a tar file
 */
async function provideBase () {
  const hash = createHash('sha256').update(JSON.stringify([SUITE, PACKAGES, UNUSED])).digest('hex').slice(0, 8)
  const base = path.join(readConfig().toolsDirectory, `debian-${SUITE}-${hash}.tar`)
  if (existsSync(base)) return base
  const unfinished = `${base}.${process.pid}.tar`
  try {
    await run('mmdebstrap', [
      '--variant=minbase', `--include=${PACKAGES.join()}`, ...UNUSED.map((file) => `--dpkgopt=path-exclude=${file}`),
      '--quiet', SUITE, unfinished, MIRROR
    ], { maxBuffer: OUTPUT_MAX_BYTES })
    renameSync(unfinished, base)
  } finally {
    rmSync(unfinished, { force: true })
  }
  return base
}

/**
 * Boots a machine, which the end of the test switches off and deletes.
 * @param {import('node:test').TestContext} t
 */
export async function bootMachine (t) {
  const home = mkdtempSync(path.join(tmpdir(), 'stevec-machine-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const root = path.join(home, 'root')
  mkdirSync(root)
  await run('tar', ['--extract', '--file', await provideBase(), '--directory', root, '--exclude=./dev/*'])
  copyFileSync(requireTool('mongod').path, path.join(root, 'usr/bin/mongod'))
  chmodSync(path.join(root, 'usr/bin/mongod'), 0o755)
  // A test machine need not survive a power cut in the middle of an installation.
  writeFileSync(path.join(root, 'etc/dpkg/dpkg.cfg.d/test'), 'force-unsafe-io\n')
  // Debian's own site on port 80.
  rmSync(path.join(root, 'etc/systemd/system/multi-user.target.wants/nginx.service'), { force: true })
  const init = await startInit(t, root)

  const enter = (/** @type {string[]} */ command) =>
    ['--target', String(init), '--mount', '--pid', '--uts', '--ipc', '--net', '--cgroup', '--root', '--wd', ...command]
  /** @param {...string} command @returns {Promise<string>} its output */
  const exec = (...command) => run('nsenter', enter(command), {
    timeout: COMMAND_MS, maxBuffer: OUTPUT_MAX_BYTES, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' }
  }).then(({ stdout }) => stdout.trim())
  /** @param {...string} command @returns {Promise<boolean>} whether it succeeds */
  const succeeds = (...command) => exec(...command).then(() => true, () => false)
  const up = await waitUntil(() => succeeds('systemctl', 'is-system-running'), BOOT_MS, 200)
  if (!up) throw new Error(`the machine did not start: ${await exec('systemctl', '--failed').catch(String)}`)

  return {
    exec,
    succeeds,
    /** @param {string} file @returns {string} the file's path on the host */
    file: (file) => path.join(root, file),
    /** @param {string} unit @param {string} property */
    show: (unit, property) => exec('systemctl', 'show', '--value', '--property', property, unit),
    /** Of a process of the machine, in /proc. @param {number} pid  there */
    status: (/** @type {string} */ pid) => exec('cat', `/proc/${pid}/status`)
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} root
 * @returns {Promise<number>} the host's number of the machine's process 1
 */
async function startInit (t, root) {
  const group = path.join(/** @type {string} */ (unifiedCgroups()), `stevec-machine-${process.pid}`)
  mkdirSync(group)
  // The shell joins the group first, so that it is the root of what the machine sees.
  const enter = `echo $$ > ${group}/cgroup.procs && ` +
    'exec unshare --mount --pid --fork --kill-child --cgroup --uts --ipc ' +
    '--net --propagation private sh -c "$0" sh "$1"'
  const outer = spawn('sh', ['-c', enter, BOOT, root], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [outer.stdout, outer.stderr]) stream.on('data', (data) => { said = (said + data).slice(-2_000) })
  const ended = new Promise((resolve) => outer.once('exit', resolve))
  const children = () => readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').trim()
  t.after(async () => {
    outer.kill('SIGKILL')
    await ended
    await waitUntil(() => removeGroups(group), BOOT_MS, 100)
  })
  const booted = () => outer.exitCode !== null ||
    (children() !== '' && readFileSync(`/proc/${children()}/comm`, 'utf8').trim() === 'systemd')
  await waitUntil(booted, BOOT_MS, 50)
  if (outer.exitCode !== null) throw new Error(`the machine did not start: ${said}`)
  return Number(children())
}

/** @param {string} group @returns {boolean} whether nothing is left; a group with a process that ends is busy */
function removeGroups (group) {
  const { stdout } = spawnSync('find', [group, '-depth', '-type', 'd'], { encoding: 'utf8' })
  try {
    for (const folder of stdout.split('\n').filter((line) => line !== '')) rmdirSync(folder)
    return true
  } catch {
    return false
  }
}
