import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** Sources of the program that implements the links; set-up builds it. */
export const LINKS_DIRECTORY = fileURLToPath(new URL('../../links', import.meta.url))
/** Part of the version, so that set-up rebuilds changed sources. */
const linksDigest = digestOf(LINKS_DIRECTORY)
/** Sources of k6 with our output. */
export const K6_DIRECTORY = fileURLToPath(new URL('../../k6', import.meta.url))
const k6Digest = digestOf(K6_DIRECTORY)
/** Pins Helm, and reads the manifests that it renders as strictly as Kubernetes does. */
export const HELM_DIRECTORY = fileURLToPath(new URL('../../helm', import.meta.url))
const helmDigest = digestOf(HELM_DIRECTORY)
/** Pins versitygw, an S3 server that stores in a folder. */
export const S3_DIRECTORY = fileURLToPath(new URL('../../s3', import.meta.url))
const s3Digest = digestOf(S3_DIRECTORY)

/**
 * A program that the project runs and that neither npm nor pip installs.
 * @typedef {object} ToolDescription
 * @property {string} variable  environment variable with the path of the user's own program
 * @property {string} binary
 * @property {string[]} [otherNames]  other file names of the binary
 * @property {string} minimum  the oldest version accepted from PATH
 * @property {string} [pinned]  the version that set-up installs
 * @property {string[]} versionArgs
 * @property {number} [versionStatus]  exit code after the version is printed; default 0
 * @property {boolean} [optional]  true: set-up installs it only on request
 * @property {string} [setup]  its name in `stevec setup --with`, if that differs
 * @property {string} [package]  the Debian package of a tool that set-up never installs
 */

/** @type {Record<string, ToolDescription>} */
export const TOOLS = {
  mongod: { variable: 'MONGOD_BIN', binary: 'mongod', minimum: '4.4.0', pinned: '6.0.5', versionArgs: ['--version'] },
  nginx: { variable: 'NGINX_BIN', binary: 'nginx', minimum: '1.18.0', versionArgs: ['-v'] },
  k6: { variable: 'K6_BIN', binary: 'k6', minimum: '1.8.1', pinned: `1.8.1-${k6Digest}`, versionArgs: ['version'] },
  toxiproxy: {
    variable: 'TOXIPROXY_BIN',
    binary: 'stevec-links',
    minimum: '2.12.0',
    pinned: `2.12.0-${linksDigest}`,
    versionArgs: ['-version']
  },
  chromium: {
    variable: 'CHROMIUM_BIN',
    binary: 'chromium',
    otherNames: ['chromium-browser', 'google-chrome'],
    minimum: '120.0.0',
    versionArgs: ['--version'],
    optional: true
  },
  faketime: {
    variable: 'FAKETIME_BIN',
    binary: 'faketime',
    minimum: '0.9.8',
    versionArgs: ['--version'],
    optional: true
  },
  redis: {
    variable: 'REDIS_BIN',
    binary: 'redis-server',
    minimum: '6.2.0',
    versionArgs: ['--version'],
    optional: true
  },
  buildah: {
    variable: 'BUILDAH_BIN',
    binary: 'buildah',
    minimum: '1.28.0',
    versionArgs: ['--version'],
    optional: true,
    setup: 'containers'
  },
  helm: {
    variable: 'HELM_BIN',
    binary: 'helm',
    minimum: '3.14.0',
    pinned: `3.22.0-${helmDigest}`,
    versionArgs: ['version', '--short'],
    optional: true
  },
  s3: {
    variable: 'VERSITYGW_BIN',
    binary: 'versitygw',
    minimum: '1.0.0',
    pinned: `1.8.0-${s3Digest}`,
    versionArgs: ['--version'],
    optional: true
  },
  pandoc: {
    variable: 'PANDOC_BIN',
    binary: 'pandoc',
    // The first with pandoc.json in its Lua.
    minimum: '3.1.1',
    pinned: '3.9',
    versionArgs: ['--version'],
    optional: true
  },
  wrk: {
    variable: 'WRK_BIN',
    binary: 'wrk',
    minimum: '4.1.0',
    versionArgs: ['--version'],
    versionStatus: 1,
    optional: true
  },
  sshd: {
    variable: 'SSHD_BIN',
    binary: 'sshd',
    minimum: '8.4',
    // An unknown option: older ones have none for the version.
    versionArgs: ['-?'],
    versionStatus: 1,
    optional: true,
    package: 'openssh-server'
  },
  varnish: {
    variable: 'VARNISHD_BIN',
    binary: 'varnishd',
    minimum: '6.0.0',
    versionArgs: ['-V'],
    optional: true,
    package: 'varnish'
  },
  trafficserver: {
    variable: 'TRAFFIC_SERVER_BIN',
    binary: 'traffic_server',
    minimum: '9.0.0',
    versionArgs: ['-V'],
    optional: true,
    package: 'trafficserver'
  },
  squid: {
    variable: 'SQUID_BIN',
    binary: 'squid',
    minimum: '5.0',
    versionArgs: ['-v'],
    optional: true,
    package: 'squid'
  },
  qemu: {
    variable: 'QEMU_BIN',
    binary: 'qemu-system-arm',
    minimum: '7.2.0',
    versionArgs: ['--version'],
    optional: true,
    setup: 'image'
  }
}

/**
 * @param {string} directory  of Go sources
 * @returns {string} the first eight hexadecimal digits of a hash of all sources except tests
 */
function digestOf (directory) {
  const sources = readdirSync(directory).filter((file) => !file.endsWith('_test.go')).sort()
  const text = sources.map((file) => readFileSync(path.join(directory, file), 'utf8')).join('\0')
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}
