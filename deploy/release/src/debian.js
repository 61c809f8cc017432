import {
  chmodSync, lutimesSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync
} from 'node:fs'
import path from 'node:path'
import { INSTALLED_AT } from './application.js'
import { HERE } from './units.js'

/** Debian's names of what Node calls process.arch. https://www.debian.org/ports/ */
const ARCHITECTURES = /** @type {Record<string, string>} */ ({ x64: 'amd64', arm64: 'arm64', arm: 'armhf' })
const SCRIPTS = ['postinst', 'prerm', 'postrm']
/** The wiki's settings may hold the database's password: systemd, as root, reads these. mongod reads its own. */
const modeOf = (/** @type {string} */ name) => name.endsWith('.env') ? 0o640 : 0o644

/**
 * @param {object} options
 * @param {string} options.tree  what becomes INSTALLED_AT; it is moved
 * @param {string} options.work
 * @param {import('./version.js').Version} options.version
 * @param {boolean} options.withNode  whether the tree has a Node of its own
 * @param {import('./npm-packages.js').Run} options.run
 * @returns {Promise<string>} the .deb
 */
export async function makePackage ({ tree, work, version, withNode, run }) {
  const root = path.join(work, 'deb')
  const epoch = version.epoch_s
  mkdirSync(path.join(root, path.dirname(INSTALLED_AT)), { recursive: true })
  renameSync(tree, path.join(root, INSTALLED_AT))
  const put = (/** @type {string} */ file, /** @type {string} */ text, mode = 0o644) => {
    const target = path.join(root, file)
    mkdirSync(path.dirname(target), { recursive: true })
    writeFileSync(target, text)
    chmodSync(target, mode)
  }
  const own = (/** @type {string} */ file) => readFileSync(path.join(HERE, file), 'utf8')
  for (const name of readdirSync(path.join(HERE, 'units'))) put(`lib/systemd/system/${name}`, own(`units/${name}`))
  const settings = readdirSync(path.join(HERE, 'etc')).sort()
  for (const name of settings) put(`etc/stevec/${name}`, own(`etc/${name}`), modeOf(name))
  put('etc/logrotate.d/stevec', own('debian/logrotate'))
  put('usr/lib/sysusers.d/stevec.conf', own('debian/sysusers.conf'))
  for (const name of ['stevec-backup', 'stevec-user']) put(`usr/sbin/${name}`, own(`debian/${name}`), 0o755)
  const licence = readFileSync(path.join(root, INSTALLED_AT, 'LICENSE'), 'utf8')
  put('usr/share/doc/stevec/copyright', `${licence}\n${own('debian/copyright-of-packages')}`)
  symlinkSync(`${INSTALLED_AT}/docs/operations.md`, path.join(root, 'usr/share/doc/stevec/operations.md'))

  const conffiles = [...settings.map((name) => `/etc/stevec/${name}`), '/etc/logrotate.d/stevec']
  put('DEBIAN/conffiles', conffiles.map((file) => `${file}\n`).join(''))
  for (const name of SCRIPTS) put(`DEBIAN/${name}`, own(`debian/${name}`), 0o755)
  put('DEBIAN/control', control(version, withNode))
  settleFolders(root, epoch)
  const deb = path.join(work, `stevec_${version.name}_${architecture(withNode)}.deb`)
  // env: dpkg-deb takes the time of its own members, and the newest time of any file, from it.
  await run('env', [
    `SOURCE_DATE_EPOCH=${epoch}`, 'dpkg-deb', '--root-owner-group', '-Zzstd', '-z3', '--build', root, deb
  ])
  return deb
}

/** @param {boolean} withNode */
function architecture (withNode) {
  if (!withNode) return 'all'
  const name = ARCHITECTURES[process.arch]
  if (name === undefined) throw new Error(`there is no Debian for Node's CPU ${process.arch}`)
  return name
}

/**
 * @param {import('./version.js').Version} version
 * @param {boolean} withNode
 */
function control (version, withNode) {
  const node = withNode ? 'libc6 (>= 2.28), libstdc++6' : 'nodejs (>= 20.19)'
  return `${[
    'Package: stevec',
    `Version: ${version.name}`,
    `Architecture: ${architecture(withNode)}`,
    'Maintainer: stevec <stevec@localhost>',
    'Section: web',
    'Priority: optional',
    `Depends: ${node}, nginx (>= 1.22), libnginx-mod-http-lua, lua-cjson, libbrotli1, libzstd1, zlib1g,` +
      ' logrotate, systemd (>= 250)',
    'Recommends: ca-certificates',
    'Description: a wiki built to be cached',
    ' The wiki, nginx in front of it, a caching edge with TLS, nightly backups that are',
    ' tried, and units of systemd for all of them. It needs MongoDB, which is no part of',
    ' Debian: /opt/stevec/docs/operations.md'
  ].join('\n')}\n`
}

/**
 * dpkg-deb takes times from the files, and the folders have that of their last change.
 * @param {string} folder
 * @param {number} epoch
 */
function settleFolders (folder, epoch) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) settleFolders(file, epoch)
    else lutimesSync(file, epoch, epoch)
  }
  chmodSync(folder, 0o755)
  lutimesSync(folder, epoch, epoch)
}
