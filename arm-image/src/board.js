import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { BOARDS } from '../recipe.js'
import { ROOT_OFFSET_BYTES } from './card.js'
import { wikiSettings } from './wiki.js'

/** The guest's address for the host. https://wiki.qemu.org/Documentation/Networking#User_Networking_(SLIRP) */
export const HOST_SEEN_FROM_GUEST = '10.0.2.2'

/** Machines of QEMU; `boots` tells from where each boots. */
export const MACHINES = Object.freeze({
  virt: { boots: 'the image\'s kernel, straight', boards: null },
  bpim2u: { boots: 'the card: SPL, U-Boot, extlinux.conf', boards: ['bpi-m2-ultra'] }
})
/** @typedef {keyof typeof MACHINES} Machine */

/** Maximum path length of a Unix socket (unix(7), sun_path). */
const SOCKET_PATH_MAX_BYTES = 107

/** An image or a tool is missing; the message gives the next step. */
export class BoardError extends Error {}

/**
 * @param {string} buildDirectory  of images
 * @param {Machine} machine
 * @returns {{directory: string, manifest: import('./image-files.js').ImageManifest}} the newest image that this
 *   machine boots
 * @throws {BoardError} when none is built
 */
export function findImage (buildDirectory, machine) {
  const boards = MACHINES[machine].boards
  const built = (boards ?? Object.keys(BOARDS)).flatMap((board) => {
    const directory = path.join(buildDirectory, board)
    const status = statSync(path.join(directory, 'manifest.json'), { throwIfNoEntry: false })
    return status === undefined ? [] : [{ directory, builtAt: status.mtimeMs }]
  }).sort((a, b) => b.builtAt - a.builtAt)
  if (built.length === 0) {
    throw new BoardError(`there is no image that machine ${machine} boots; run: sudo make image${boards === null ? '' : ` BOARD=${boards[0]}`}`)
  }
  const { directory } = built[0]
  return { directory, manifest: JSON.parse(readFileSync(path.join(directory, 'manifest.json'), 'utf8')) }
}

/**
 * Copies the image to a card for one emulated board. The card is twice as large as the image, as a real card would be
 * larger, too. The database's URI and the login key, build parameters of a real board's image, go into the copy.
 * @param {object} options
 * @param {string} options.image
 * @param {string} options.card  the copy
 * @param {string} options.mongodbUri  as reachable from the board
 * @param {string} options.publicKey
 * @param {string} options.work  a folder for temporary files
 */
export function prepareCard ({ image, card, mongodbUri, publicKey, work }) {
  rmSync(card, { force: true })
  execFileSync('cp', ['--sparse=always', '--reflink=auto', image, card])
  truncateSync(card, 2 * Number(execFileSync('stat', ['--format=%s', image], { encoding: 'utf8' })))
  writeFileSync(path.join(work, 'wiki.env'), wikiSettings(mongodbUri), { mode: 0o600 })
  writeFileSync(path.join(work, 'authorized_keys'), publicKey, { mode: 0o600 })
  try {
    writeFiles(card, [
      { from: path.join(work, 'wiki.env'), to: '/etc/stevec/wiki.env' },
      { from: path.join(work, 'authorized_keys'), to: '/root/.ssh/authorized_keys' }
    ])
  } finally {
    rmSync(path.join(work, 'wiki.env'))
  }
}

/**
 * Writes files into an image's filesystem without mounting it; they belong to root only. debugfs(8)
 * @param {string} card
 * @param {{from: string, to: string}[]} files
 * @throws {BoardError} when debugfs fails to write
 */
function writeFiles (card, files) {
  const commands = files.flatMap(({ from, to }) => [
    `mkdir ${path.dirname(to)}`,
    `rm ${to}`,
    `write "${from}" ${to}`,
    ...[`${to} mode 0100600`, `${to} uid 0`, `${to} gid 0`].map((field) => `set_inode_field ${field}`)
  ])
  commands.push('set_inode_field /root/.ssh mode 040700')
  debugfs(card, commands, true)
  for (const { from, to } of files) {
    if (readImageFile(card, to) !== readFileSync(from, 'utf8')) {
      throw new BoardError(`debugfs could not write ${to} into ${card}`)
    }
  }
}

/**
 * @param {string} card  an image of this project
 * @param {string[]} commands
 * @param {boolean} [writes]
 * @returns {string} debugfs's output
 * @throws {BoardError} when debugfs is missing
 */
export function debugfs (card, commands, writes = false) {
  const { error, stdout } = spawnSync(
    'debugfs',
    [...(writes ? ['-w'] : []), '-f', '-', `${card}?offset=${ROOT_OFFSET_BYTES}`],
    {
      input: `${commands.join('\n')}\n`,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 ** 2,
      env: { ...process.env, DEBUGFS_PAGER: 'cat' }
    }
  )
  // EPIPE: debugfs ended before it read the commands, as the card has no file system; its output says nothing then.
  const isMissing = error && /** @type {NodeJS.ErrnoException} */ (error).code !== 'EPIPE'
  if (isMissing) throw new BoardError(`debugfs could not be run (${error.message}); it comes with e2fsprogs`)
  // debugfs echoes each command after its prompt.
  return stdout.replace(/^debugfs: .*\n/gm, '')
}

/**
 * @param {string} card
 * @param {string} file  absolute, in the image
 */
export function readImageFile (card, file) {
  return debugfs(card, [`cat ${file}`])
}

/**
 * @param {object} options
 * @param {Machine} options.machine
 * @param {string} options.directory  of the image
 * @param {string} options.card  see prepareCard
 * @param {string} options.consoleSocket
 * @param {string} options.consoleLog
 * @param {number} options.httpPort  of 127.0.0.1
 * @param {number} options.sshPort  of 127.0.0.1
 * @returns {string[]} arguments of qemu-system-arm
 *   https://www.qemu.org/docs/master/system/arm/virt.html and …/bananapi_m2u.html
 * @throws {BoardError} when the socket's path is too long for the kernel
 */
export function qemuArguments ({ machine, directory, card, consoleSocket, consoleLog, httpPort, sshPort }) {
  if (Buffer.byteLength(consoleSocket) > SOCKET_PATH_MAX_BYTES) {
    throw new BoardError(`${consoleSocket} is too long a path for a socket; choose a shorter folder in STEVEC_STATE`)
  }
  const forward = `hostfwd=tcp:127.0.0.1:${httpPort}-:80,hostfwd=tcp:127.0.0.1:${sshPort}-:22,ipv6=off`
  const quoted = (/** @type {string} */ file) => file.replaceAll(',', ',,')
  const common = [
    '-nodefaults', '-no-user-config', '-display', 'none',
    '-accel', 'tcg,thread=multi,tb-size=512',
    '-chardev',
    `socket,id=serial,path=${quoted(consoleSocket)},server=on,wait=off,logfile=${quoted(consoleLog)},logappend=off`,
    '-serial', 'chardev:serial',
    '-m', '1024'
  ]
  if (machine === 'bpim2u') {
    // U-Boot sets the CPU counter's rate to the board's 24 MHz. QEMU's counter runs at 62.5 MHz by default:
    // every second would count as 2.6.
    return [
      '-M', 'bpim2u', '-global', 'cortex-a7-arm-cpu.cntfrq=24000000', ...common,
      '-drive', `if=sd,format=raw,file=${quoted(card)}`, '-nic', `user,${forward}`
    ]
  }
  return [
    '-M', 'virt,highmem=off', '-cpu', 'cortex-a7', '-smp', '2', ...common,
    '-kernel', path.join(directory, 'vmlinuz'),
    '-initrd', path.join(directory, 'initrd.img'),
    '-append', 'root=LABEL=stevec ro rootwait console=ttyAMA0',
    '-drive', `if=none,id=card,format=raw,file=${quoted(card)}`, '-device', 'virtio-blk-device,drive=card',
    '-netdev', `user,id=net,${forward}`, '-device', 'virtio-net-device,netdev=net',
    '-device', 'virtio-rng-device'
  ]
}

/**
 * @param {string} directory  of the board's state
 * @returns {{privateKey: string, publicKey: string}} a key for this machine only, created if missing; path of the
 *   private key, text of the public key
 */
export function provideKey (directory) {
  const privateKey = path.join(directory, 'id_ed25519')
  if (!existsSync(privateKey)) {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'stevec board', '-f', privateKey])
    chmodSync(privateKey, 0o600)
  }
  return { privateKey, publicKey: readFileSync(`${privateKey}.pub`, 'utf8') }
}

/**
 * @param {object} where
 * @param {string} where.host
 * @param {number} where.port
 * @param {string} [where.privateKey]  default: ssh's own choice
 * @param {string} [where.knownHosts]  default: the user's file
 * @param {string} [where.user]
 * @returns {string[]} arguments of ssh, without the remote command
 */
export function sshArguments ({ host, port, privateKey, knownHosts, user = 'root' }) {
  return [
    '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=15', '-o', 'LogLevel=ERROR',
    ...(privateKey === undefined ? [] : ['-i', privateKey, '-o', 'IdentitiesOnly=yes', '-F', 'none']),
    // An emulated board has new host keys at each start, and is reachable only from this machine.
    ...(knownHosts === undefined
      ? []
      : ['-o', `UserKnownHostsFile=${knownHosts}`, '-o', 'StrictHostKeyChecking=accept-new']),
    '-p', String(port), `${user}@${host}`
  ]
}
