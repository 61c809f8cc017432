// Builds the Containerfiles with buildah: offline but for Debian's and npm's packages, on a base made here.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { requireTool } from '@stevec/harness/tools/locate'

/** @import {Composition} from './composition.js' */

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** Kept between runs: the base takes minutes. Buildah keeps its store there, too. */
const FOLDER = path.join(ROOT, '.tools/containers')
/** vfs copies the whole image for each step. */
const DRIVER = readFileSync('/proc/filesystems', 'utf8').includes('\toverlay\n') ? 'overlay' : 'vfs'
const STORE = ['--root', path.join(FOLDER, `store-${DRIVER}`), '--runroot', path.join(FOLDER, 'run'),
  '--storage-driver', DRIVER]
const OUTPUT_MAX_BYTES = 64 * 1024 ** 2
/** What the registries of this machine may want: their certificates, addresses and settings. */
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
const APT = ['/etc/apt/apt.conf.d', '/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list']

/**
 * @typedef {object} Image
 * @property {string} root  its root filesystem, mounted; no container writes there
 * @property {{Entrypoint?: string[], Cmd?: string[], Env?: string[], User?: string, WorkingDir?: string,
 *   StopSignal?: string, Healthcheck?: {Test: string[]}}} config  as `docker image inspect` shows it
 */

/** Its name changes with what goes into it. */
const BASE = `localhost/stevec-test-base:${createHash('sha256').update(baseText())
  .update(readFileSync(path.join(ROOT, '.ci/node/package-lock.json'))).update(requireTool('mongod').version)
  .digest('hex').slice(0, 16)}`

/** @param {string[]} args */
async function buildah (...args) {
  const { stdout } = await promisify(execFile)('buildah', [...STORE, ...args], { maxBuffer: OUTPUT_MAX_BYTES })
    .catch((error) => {
      throw new Error(`buildah ${args.slice(0, 3).join(' ')}: ${String(error.stderr || error).slice(-3_000)}`)
    })
  return stdout.trim()
}

/** @param {string} command @param {string[]} args */
const run = (command, args) => promisify(execFile)(command, args, { cwd: ROOT, maxBuffer: OUTPUT_MAX_BYTES })

/**
 * Builds every image that compose.yaml builds, and takes the base for those that a registry would give.
 * @param {Composition} composition
 * @returns {Promise<{images: Record<string, Image>, remove: () => Promise<void>}>} by the name in compose.yaml
 */
export async function buildImages ({ services }) {
  await provideBase()
  const cache = (await run('npm', ['config', 'get', 'cache'])).stdout.trim()
  mkdirSync(cache, { recursive: true })
  /** @type {Record<string, Image>} */
  const images = {}
  /** @type {string[]} */
  const containers = []
  const remove = async () => { if (containers.length > 0) await buildah('rm', ...containers.splice(0)) }
  try {
    for (const { image, build } of Object.values(services)) {
      if (images[image] !== undefined) continue
      const tag = build === undefined ? BASE : `localhost/${image}`
      if (build !== undefined) {
        await buildah('bud', '--isolation', 'chroot', '--format', 'docker', '--pull-never', '--quiet', '--layers',
          '--volume', `${cache}:/root/.npm`, '--build-arg', `BASE=${BASE}`, '--tag', tag,
          ...build.target ? ['--target', build.target] : [], '--file', path.join(ROOT, build.dockerfile), ROOT)
      }
      const container = await buildah('from', '--pull-never', tag)
      containers.push(container)
      const { Docker: { config } } = JSON.parse(await buildah('inspect', '--type', 'image', tag))
      images[image] = { root: await buildah('mount', container), config }
    }
    // Of earlier versions; without it the store grows with each change.
    await buildah('rmi', '--prune')
  } catch (error) {
    await remove()
    throw error
  }
  return { images, remove }
}

/**
 * One base for all: Debian with the programs of the official images, which no registry gives here. Node is the version
 * that the Containerfiles name, mongod the one of the lab.
 */
async function provideBase () {
  if (await buildah('images', '--quiet', BASE).catch(() => '') !== '') return
  const context = path.join(FOLDER, 'base')
  const unfinished = path.join(FOLDER, 'unfinished.tar')
  mkdirSync(context, { recursive: true })
  const tar = path.join(context, 'base.tar')
  if (!existsSync(tar)) {
    await run('mmdebstrap', ['--mode=root', '--format=tar', '--variant=minbase', '--include=ca-certificates',
      ...['man', 'doc', 'locale'].map((folder) => `--dpkgopt=path-exclude=/usr/share/${folder}/*`),
      'bookworm', unfinished, ...APT.filter((file) => file.endsWith('.sources') && existsSync(file))])
    renameSync(unfinished, tar)
  }
  await run('.ci/with-node', ['24', 'node', '--version'])
  const node = path.join(process.env.STEVEC_TOOLS ?? path.join(ROOT, '.tools'), 'node/node_modules/node-24/bin/node')
  copyFileSync(node, path.join(context, 'node'))
  copyFileSync(requireTool('mongod').path, path.join(context, 'mongod'))
  cpSync(path.join((await run('npm', ['root', '--global'])).stdout.trim(), 'npm'), path.join(context, 'npm'),
    { recursive: true, verbatimSymlinks: true })
  rmSync(path.join(context, 'machine'), { recursive: true, force: true })
  for (const file of [CERTIFICATES, ...APT].filter(existsSync)) {
    cpSync(file, path.join(context, 'machine', file), { recursive: true })
  }
  writeFileSync(path.join(context, 'Containerfile'), baseText())
  await buildah('bud', '--isolation', 'chroot', '--format', 'docker', '--quiet', '--tag', BASE, context)
}

function baseText () {
  return `FROM scratch
ADD base.tar /
COPY machine /
COPY node mongod /usr/local/bin/
COPY npm /usr/local/lib/node_modules/npm
ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES}
RUN chmod 755 /usr/local/bin/* && ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \\
  && apt-get update && apt-get install -y --no-install-recommends redis-server redis-tools libcurl4 \\
  && mkdir -p /data
`
}
