import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'

/** Node loads none of these: types, sources before compilation, and their maps, half of what npm installs. */
const UNUSED = /\.(?:[cm]?ts|map)$/

/** @typedef {(command: string, args: string[]) => Promise<void>} Run */

/**
 * Provides the wiki's npm packages as the lock file names them, without those of tests. No package's scripts run, so
 * nothing is compiled. An earlier call's result is used again.
 * @param {object} options
 * @param {string} options.source  a checkout
 * @param {string} options.directory  of the cache
 * @param {string[]} options.target  npm's arguments that choose among packages with machine code
 * @param {(folder: string) => void} [options.check]  refuses an installation, by an error
 * @param {Run} options.run
 * @returns {Promise<string>} the path of node_modules
 */
export async function provideNodeModules ({ source, directory, target, check = () => {}, run }) {
  const inputs = ['package.json', 'package-lock.json', '.npmrc', ...workspaceManifests(source)]
  const hash = createHash('sha256').update(JSON.stringify(target)).update(UNUSED.source)
  for (const file of inputs) hash.update(readFileSync(path.join(source, file)))
  const provided = path.join(directory, `npm-${hash.digest('hex').slice(0, 16)}`)
  if (!existsSync(provided)) {
    const unfinished = path.join(directory, `unfinished-npm-${process.pid}`)
    rmSync(unfinished, { recursive: true, force: true })
    for (const file of inputs) {
      mkdirSync(path.dirname(path.join(unfinished, file)), { recursive: true })
      copyFileSync(path.join(source, file), path.join(unfinished, file))
    }
    await run('npm', [
      'ci', '--prefix', unfinished, '--workspace', '@stevec/wiki-app', '--omit=dev', '--ignore-scripts', ...target,
      '--no-audit', '--no-fund', '--no-bin-links'
    ])
    const modules = path.join(unfinished, 'node_modules')
    // Links into the checkout, and npm's own notes, which differ between installations.
    rmSync(path.join(modules, '@stevec'), { recursive: true, force: true })
    rmSync(path.join(modules, '.package-lock.json'), { force: true })
    removeUnused(modules)
    removeMusl(modules)
    check(modules)
    renameSync(unfinished, provided)
  }
  return path.join(provided, 'node_modules')
}

/** @param {string} folder */
function removeUnused (folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) {
      removeUnused(file)
      if (readdirSync(file).length === 0) rmSync(file, { recursive: true })
    } else if (UNUSED.test(entry.name)) rmSync(file)
  }
}

/** npm cannot tell them from those for glibc, which every machine of ours has. @param {string} modules */
function removeMusl (modules) {
  const folder = path.join(modules, '@libsql')
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    if (name.includes('-musl')) rmSync(path.join(folder, name), { recursive: true })
  }
}

/** @param {string} source @returns {string[]} */
function workspaceManifests (source) {
  const { workspaces } = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8'))
  return workspaces.map((/** @type {string} */ folder) => path.join(folder, 'package.json'))
}
