import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, lutimesSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync, chmodSync } from 'node:fs'
import path from 'node:path'
import { render } from '@stevec/nginx'
import { BuildError } from './run.js'
import { layOver } from './overlay.js'
import { HERE, ROOT } from './parameters.js'

const INSTALLED_AT = '/opt/stevec'
const HTTP_PORT = 80
const WIKI_PORT = 3000

/** e_machine of 32-bit ARM, and the class of 32-bit files. https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html */
const ELF = { magic: '7f454c46', class32: 1, arm: 40 }

/**
 * The wiki's npm packages as the lock file has them, for the board's CPU, without running any package's scripts: nothing is compiled.
 * @param {object} options
 * @param {string} options.directory  holds the cache
 * @param {import('./run.js').Run} options.run
 * @returns {Promise<string>} a folder node_modules
 * @throws {BuildError} when a package brings machine code of another CPU
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
    await run('npm', ['ci', '--prefix', unfinished, '--workspace', '@stevec/wiki-app', '--omit=dev', '--ignore-scripts', '--os=linux', '--cpu=arm', '--libc=glibc', '--no-audit', '--no-fund', '--no-bin-links'])
    // Links into the checkout, and npm's own notes, which differ from one installation to the next.
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
 * @throws {BuildError} naming the first file of machine code for another CPU than the board's
 */
export function refuseForeignCode (folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(node|so)$/.test(entry.name)) continue
    const file = path.join(entry.parentPath, entry.name)
    const header = readFileSync(file).subarray(0, 20)
    const fits = header.subarray(0, 4).toString('hex') === ELF.magic && header[4] === ELF.class32 && header.readUInt16LE(18) === ELF.arm
    if (!fits) throw new BuildError(`${path.relative(folder, file)} is not machine code for 32-bit ARM`)
  }
}

/**
 * Everything that makes the base this project's origin: overlays, settings, the wiki, nginx's configuration.
 * @param {object} options
 * @param {string} options.tree  the unpacked base
 * @param {Record<string, string>} options.parameters
 * @param {string} options.keys  of ssh, one a line
 * @param {string} options.nodeModules
 * @param {number} options.epoch  seconds since 1970: the time of every file laid down
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
  // As npm links a workspace: the wiki finds what tells caches of edits by its name.
  const link = path.join(opt, 'node_modules/@stevec/cdn')
  mkdirSync(path.dirname(link))
  chmodSync(path.dirname(link), 0o755)
  symlinkSync('../../cdn', link)
  for (const file of [link, path.dirname(link)]) lutimesSync(file, epoch, epoch)
  copyInto(write, 'LICENSE')
  write('/etc/hostname', `${BOARD_HOSTNAME}\n`)
  write('/etc/hosts', `127.0.0.1 localhost\n127.0.1.1 ${BOARD_HOSTNAME}\n::1 localhost ip6-localhost\n`)
  // For its owner alone: the address may hold a password.
  write('/etc/stevec/wiki.env', wikiSettings(MONGODB_URI), 0o600)
  write('/etc/stevec/nginx.conf', nginxConfiguration())
  write('/etc/apt/sources.list', `deb ${MIRROR} ${SUITE} main\ndeb ${MIRROR} ${SUITE}-updates main\ndeb ${MIRROR}-security ${SUITE}-security main\n`)
  // As if systemd had done its chores after an update of /usr (ldconfig and the like, minutes under emulation): the packages' own scripts have.
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
 * @returns {string} settings of the wiki, wiki-app/README.md
 */
export function wikiSettings (mongodbUri) {
  // In single quotes nothing is special to systemd, and an address has none. https://www.freedesktop.org/software/systemd/man/257/systemd.exec.html
  return `# Settings of the wiki: after a change, systemctl restart stevec-wiki\nMONGODB_URI='${mongodbUri}'\n`
}

/** @returns {string} the same role as everywhere, listening to the network */
function nginxConfiguration () {
  return render({ role: 'origin', port: HTTP_PORT, wikiPort: WIKI_PORT, listenAddress: '0.0.0.0' }, {
    directory: '/run/stevec-nginx', modulesDirectory: '', sources: `${INSTALLED_AT}/nginx`, user: ''
  })
}
