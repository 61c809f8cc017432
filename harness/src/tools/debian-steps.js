import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { aptBlocked, aptInstall } from './apt.js'
import { TOOLS } from './catalog.js'
import { locateTool, ToolError } from './locate.js'
import { STEP_DEFAULTS, toolText } from './step.js'

/** @typedef {import('./step.js').Step} Step */
/** @typedef {import('../config.js').Config} Config */

const NGINX_PACKAGES = ['nginx', 'libnginx-mod-http-lua', 'lua-cjson', 'libbrotli1', 'libzstd1', 'zlib1g']
/** Each package with a program whose presence shows that the package is installed. */
const IMAGE_PACKAGES = Object.freeze({
  mmdebstrap: 'mmdebstrap',
  'arch-test': 'arch-test',
  'qemu-user-static': 'qemu-arm-static',
  genimage: 'genimage',
  e2fsprogs: 'mke2fs',
  'xz-utils': 'xz',
  'openssh-client': 'ssh',
  'qemu-system-arm': 'qemu-system-arm',
  'debian-archive-keyring': null
})

const CONTAINER_PACKAGES = Object.freeze({
  buildah: 'buildah',
  mmdebstrap: 'mmdebstrap',
  runc: 'runc',
  iproute2: 'ip'
})

/** @param {Config} config @returns {Step} */
export function nginx (config) {
  return {
    ...STEP_DEFAULTS,
    name: 'nginx',
    purpose: 'the caches and proxies of the doors',
    browsing: true,
    how: 'Debian packages, apt-get',
    present: () => toolText('nginx', config),
    blocked: () => aptBlocked('nginx with its Lua module', NGINX_PACKAGES, 'name your own in NGINX_BIN'),
    async install (run) {
      const before = existsSync('/usr/sbin/nginx')
      await aptInstall(run, NGINX_PACKAGES)
      // The package starts a server on port 80, now and at every boot.
      if (!before) {
        spawnSync('service', ['nginx', 'stop'])
        spawnSync('update-rc.d', ['nginx', 'disable'])
      }
      if (locateTool('nginx') === null) {
        throw new ToolError(`the nginx that apt-get installed is older than ${TOOLS.nginx.minimum} or lacks its Lua module; name another in NGINX_BIN`)
      }
    }
  }
}

/**
 * Returns the step for a tool that only tests need and that one Debian package contains.
 * @param {string} name  of the tool and of its package
 * @param {string} what  describes the tool to the user who has to install it
 * @param {string} purpose
 * @returns {(config: Config) => Step}
 */
export function testTool (name, what, purpose) {
  return (config) => ({
    ...STEP_DEFAULTS,
    name,
    purpose,
    how: 'a Debian package, apt-get',
    present: () => toolText(name, config),
    blocked: () => aptBlocked(what, [name], `name your own in ${TOOLS[name].variable}`),
    async install (run) {
      await aptInstall(run, [name])
      if (locateTool(name) === null) {
        throw new ToolError(`the ${name} that apt-get installed does not run here or is older than ${TOOLS[name].minimum}; name another in ${TOOLS[name].variable}`)
      }
    }
  })
}

/** @param {Config} config @returns {Step} */
export function redis (config) {
  return {
    ...STEP_DEFAULTS,
    name: 'redis',
    purpose: 'what several wikis share, and its tests',
    how: 'a Debian package, apt-get',
    present: () => toolText('redis', config),
    blocked: () => aptBlocked('redis-server, which several wikis share,', ['redis-server'],
      'name your own in REDIS_BIN'),
    async install (run) {
      await aptInstall(run, ['redis-server'])
      // The package starts a server on port 6379, now and at every boot. Nothing here uses it, and no other was there.
      spawnSync('service', ['redis-server', 'stop'])
      spawnSync('update-rc.d', ['redis-server', 'disable'])
      if (locateTool('redis') === null) {
        throw new ToolError(`the redis-server that apt-get installed is older than ${TOOLS.redis.minimum}; ` +
          'name another in REDIS_BIN')
      }
    }
  }
}

/** @param {Config} config @returns {Step} */
export function containers (config) {
  return severalPackages(CONTAINER_PACKAGES, {
    name: 'what builds and runs containers',
    purpose: 'the tests of the containers',
    what: 'what builds and runs containers without an engine',
    otherwise: 'test them on a Debian',
    shown: () => `mmdebstrap, runc, ${toolText('buildah', config)}`
  }, config)
}

/** @param {Config} config @returns {Step} */
export function image (config) {
  return severalPackages(IMAGE_PACKAGES, {
    name: 'what builds and boots images',
    purpose: 'the image of the board',
    what: 'what builds and boots the board\'s image',
    otherwise: 'build it on a Debian',
    shown: () => `mmdebstrap, genimage, ${toolText('qemu', config)}`
  }, config)
}

/**
 * @param {Readonly<Record<string, string | null>>} programs  each package with a program whose presence shows it
 * @param {{name: string, purpose: string, what: string, otherwise: string, shown: () => string}} texts
 * @param {Config} config
 * @returns {Step}
 */
function severalPackages (programs, { name, purpose, what, otherwise, shown }, config) {
  const packages = Object.keys(programs)
  const directories = [...config.searchPath.split(path.delimiter), '/usr/sbin', '/sbin']
  const there = (/** @type {string} */ program) =>
    directories.some((directory) => directory !== '' && existsSync(path.join(directory, program)))
  return {
    ...STEP_DEFAULTS,
    name,
    purpose,
    how: 'Debian packages, apt-get',
    present: () => Object.values(programs).every((program) => program === null || there(program)) ? shown() : null,
    blocked: () => aptBlocked(what, packages, otherwise),
    install: (run) => aptInstall(run, packages)
  }
}
