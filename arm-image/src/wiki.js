import {
  chmodSync, existsSync, lutimesSync, mkdirSync, readdirSync,
  readFileSync, rmSync, symlinkSync, writeFileSync
} from 'node:fs'
import path from 'node:path'
import { INSTALLED_AT, layApplication } from '@stevec/deploy/release/application'
import { provideNodeModules } from '@stevec/deploy/release/npm-packages'
import { layOver } from '@stevec/deploy/release/overlay'
import { UNITS } from '@stevec/deploy/release/units'
import { render } from '@stevec/nginx'
import { BuildError } from './run.js'
import { HERE, ROOT } from './parameters.js'

/** The board adds drop-ins to these: its memory, its users, and files in memory. */
const SHARED_UNITS = ['stevec-wiki.service', 'stevec-nginx.service']
const HTTP_PORT = 80
const WIKI_PORT = 3000

/** Without them, no words are found in texts, and pictures have no thumbnails. */
const MACHINE_CODE = ['@libsql/linux-arm-gnueabihf', '@img/sharp-linux-arm', '@img/sharp-libvips-linux-arm']

/** e_machine of 32-bit ARM, class of 32-bit files. https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html */
const ELF = { magic: '7f454c46', class32: 1, arm: 40 }

/**
 * @param {object} options
 * @param {string} options.directory  of the cache
 * @param {import('./run.js').Run} options.run
 * @returns {Promise<string>} the path of the wiki's npm packages for the board's CPU
 * @throws {BuildError} when a package contains machine code for another CPU
 */
export function provideBoardModules ({ directory, run }) {
  return provideNodeModules({
    source: ROOT,
    directory,
    run,
    target: ['--os=linux', '--cpu=arm', '--libc=glibc'],
    check (folder) {
      refuseForeignCode(folder)
      const missing = MACHINE_CODE.filter((name) => !existsSync(path.join(folder, name)))
      if (missing.length > 0) throw new BuildError(`npm has not installed ${missing.join(', ')}`)
    }
  })
}

/**
 * @param {string} folder
 * @throws {BuildError} naming the first file with machine code for another CPU than the board's
 */
export function refuseForeignCode (folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(?:node|so(?:\.\d+)*)$/.test(entry.name)) continue
    const file = path.join(entry.parentPath, entry.name)
    const header = readFileSync(file).subarray(0, 20)
    const fits =
      header.subarray(0, 4).toString('hex') === ELF.magic &&
      header[4] === ELF.class32 &&
      header.readUInt16LE(18) === ELF.arm
    if (!fits) throw new BuildError(`${path.relative(folder, file)} is not machine code for 32-bit ARM`)
  }
}

/**
 * Turns the base into this project's origin: installs overlays, settings, the wiki and nginx's configuration.
 * @param {object} options
 * @param {string} options.tree  the unpacked base
 * @param {Record<string, string>} options.parameters
 * @param {string} options.keys  public ssh keys, one a line
 * @param {string} options.nodeModules
 * @param {number} options.epoch  seconds since 1970: the time of every installed file
 */
export function layWiki ({ tree, parameters, keys, nodeModules, epoch }) {
  const { BOARD_HOSTNAME, MONGODB_URI, MIRROR, SUITE } = parameters
  const opt = path.join(tree, INSTALLED_AT)
  layOver(path.join(HERE, 'overlays/system'), tree, { epoch })
  layOver(UNITS, path.join(tree, 'etc/systemd/system'), { epoch, keep: (name) => SHARED_UNITS.includes(name) })
  layApplication({ source: ROOT, nodeModules, target: opt, epoch })

  const write = (/** @type {string} */ file, /** @type {string} */ text, mode = 0o644) => {
    const target = path.join(tree, file)
    const folder = path.dirname(target)
    if (!existsSync(folder)) {
      mkdirSync(folder, { recursive: true, mode: mode & 0o077 ? 0o755 : 0o700 })
      lutimesSync(folder, epoch, epoch)
    }
    rmSync(target, { force: true })
    writeFileSync(target, text)
    chmodSync(target, mode)
    lutimesSync(target, epoch, epoch)
  }
  write('/etc/hostname', `${BOARD_HOSTNAME}\n`)
  write('/etc/hosts', `127.0.0.1 localhost\n127.0.1.1 ${BOARD_HOSTNAME}\n::1 localhost ip6-localhost\n`)
  // Readable by root only: the database's URI may hold a password.
  write('/etc/stevec/wiki.env', wikiSettings(MONGODB_URI), 0o600)
  write('/etc/stevec/nginx.conf', nginxConfiguration())
  write(
    '/etc/apt/sources.list',
    `deb ${MIRROR} ${SUITE} main\ndeb ${MIRROR} ${SUITE}-updates main\ndeb ${MIRROR}-security ${SUITE}-security main\n`
  )
  // Tells systemd that its work after an update of /usr is done (ldconfig and the like; minutes under emulation). The
  // packages' own scripts have done it.
  for (const file of ['/etc/.updated', '/var/.updated']) write(file, '')
  if (keys !== '') write('/root/.ssh/authorized_keys', keys, 0o600)
  rmSync(path.join(tree, 'etc/resolv.conf'), { force: true })
  symlinkSync('/run/systemd/resolve/stub-resolv.conf', path.join(tree, 'etc/resolv.conf'))
  return { write }
}

/**
 * @param {string} mongodbUri
 * @returns {string} settings of the wiki; see wiki-app/README.md
 */
export function wikiSettings (mongodbUri) {
  // systemd gives no character in single quotes a special meaning, and the URI contains no single quote.
  // https://www.freedesktop.org/software/systemd/man/257/systemd.exec.html
  return `# Settings of the wiki: after a change, systemctl restart stevec-wiki\nMONGODB_URI='${mongodbUri}'\n`
}

/** @returns {string} the origin role as elsewhere, but listening on the network */
function nginxConfiguration () {
  return render({ role: 'origin', port: HTTP_PORT, wikiPort: WIKI_PORT, listenAddress: '0.0.0.0' }, {
    directory: '/run/stevec-nginx', modulesDirectory: '', sources: `${INSTALLED_AT}/nginx`, user: ''
  })
}
