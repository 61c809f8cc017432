import { createHash } from 'node:crypto'
import {
  copyFileSync, existsSync, lutimesSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync,
  writeFileSync, chmodSync
} from 'node:fs'
import path from 'node:path'
import { render } from '@stevec/nginx'
import { BuildError } from './run.js'
import { layOver } from './overlay.js'
import { HERE, ROOT } from './parameters.js'

const INSTALLED_AT = '/opt/stevec'
const HTTP_PORT = 80
const WIKI_PORT = 3000

/** e_machine of 32-bit ARM, class of 32-bit files. https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html */
const ELF = { magic: '7f454c46', class32: 1, arm: 40 }

/**
 * Provides the wiki's locked npm packages for the board's CPU. No package's scripts run, so nothing is compiled.
 * @param {object} options
 * @param {string} options.directory  of the cache
 * @param {import('./run.js').Run} options.run
 * @returns {Promise<string>} the path of node_modules
 * @throws {BuildError} when a package contains machine code for another CPU
 */
export async function provideNodeModules ({ directory, run }) {
  const inputs = ['package.json', 'package-lock.json', '.npmrc', ...workspaceManifests()]
  const hash = createHash('sha256')
  for (const file of inputs) hash.update(readFileSync(path.join(ROOT, file)))
  const target = path.join(directory, `npm-${hash.digest('hex').slice(0, 16)}`)
  if (!existsSync(target)) {
    const unfinished = path.join(directory, `unfinished-npm-${process.pid}`)
    rmSync(unfinished, { recursive: true, force: true })
    for (const file of inputs) {
      mkdirSync(path.dirname(path.join(unfinished, file)), { recursive: true })
      copyFileSync(path.join(ROOT, file), path.join(unfinished, file))
    }
    await run('npm', [
      'ci', '--prefix', unfinished, '--workspace', '@stevec/wiki-app', '--omit=dev', '--ignore-scripts', '--os=linux',
      '--cpu=arm', '--libc=glibc', '--no-audit', '--no-fund', '--no-bin-links'
    ])
    // Links into the checkout, and npm's own notes, which differ between installations.
    rmSync(path.join(unfinished, 'node_modules/@stevec'), { recursive: true, force: true })
    rmSync(path.join(unfinished, 'node_modules/.package-lock.json'), { force: true })
    refuseForeignCode(path.join(unfinished, 'node_modules'))
    renameSync(unfinished, target)
  }
  return path.join(target, 'node_modules')
}

/** @returns {string[]} */
function workspaceManifests () {
  const { workspaces } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'))
  return workspaces.map((/** @type {string} */ folder) => path.join(folder, 'package.json'))
}

/**
 * @param {string} folder
 * @throws {BuildError} naming the first file with machine code for another CPU than the board's
 */
export function refuseForeignCode (folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(node|so)$/.test(entry.name)) continue
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
  layOver(path.join(ROOT, 'wiki-app/src'), path.join(opt, 'wiki-app/src'), { epoch })
  layOver(path.join(ROOT, 'wiki-app/bin'), path.join(opt, 'wiki-app/bin'), { epoch })
  layOver(path.join(ROOT, 'cdn/src'), path.join(opt, 'cdn/src'), { epoch })
  layOver(path.join(ROOT, 'nginx/conf'), path.join(opt, 'nginx/conf'), { epoch })
  layOver(nodeModules, path.join(opt, 'node_modules'), { epoch })

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
  copyInto(write, 'wiki-app/package.json')
  copyInto(write, 'cdn/package.json')
  // npm links workspaces in the same way: the wiki imports its purge client by this package name.
  const link = path.join(opt, 'node_modules/@stevec/cdn')
  mkdirSync(path.dirname(link))
  chmodSync(path.dirname(link), 0o755)
  symlinkSync('../../cdn', link)
  for (const file of [link, path.dirname(link)]) lutimesSync(file, epoch, epoch)
  copyInto(write, 'LICENSE')
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
 * @param {(file: string, text: string) => void} write
 * @param {string} file  of the checkout
 */
function copyInto (write, file) {
  write(path.join(INSTALLED_AT, file), readFileSync(path.join(ROOT, file), 'utf8'))
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
