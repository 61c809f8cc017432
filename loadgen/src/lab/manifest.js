import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '@stevec/harness/config'
import { TOOLS } from '@stevec/harness/tools/catalog'
import { locateTool } from '@stevec/harness/tools/locate'
import { inTodaysForm } from './older-manifest.js'

const DIFF_MAX_BYTES = 256 * 1024 * 1024

/** Increases whenever an older reader would misunderstand new results. */
export const SCHEMA_VERSION = 2

/**
 * A run is `running` until its last trial is written, or `partial` if it stopped between two blocks; `report` accepts
 * a `complete` run as whole, and of others whole blocks.
 * @typedef {'running' | 'complete' | 'partial' | 'interrupted' | 'failed'} RunStatus
 */

/**
 * Writes the manifest to a new file and renames it, so that no reader sees half a manifest.
 * @param {string} runDirectory
 * @param {object} manifest
 */
export function writeManifest (runDirectory, manifest) {
  const file = path.join(runDirectory, 'manifest.json')
  writeFileSync(`${file}.new`, `${JSON.stringify(manifest, null, 2)}\n`)
  renameSync(`${file}.new`, file)
}

/**
 * @param {string} runDirectory
 * @returns {{status: RunStatus} & Record<string, any> | null} in today's form; null without a readable
 *   manifest
 */
export function readManifest (runDirectory) {
  try {
    const manifest = JSON.parse(readFileSync(path.join(runDirectory, 'manifest.json'), 'utf8'))
    return /** @type {{status: RunStatus} & Record<string, any>} */ (inTodaysForm(manifest))
  } catch {
    return null
  }
}

/**
 * Does the work of a run and records in its manifest how it ended, also after an error.
 * @param {object} options
 * @param {string} options.directory
 * @param {Record<string, any> & {status: RunStatus}} options.manifest
 * @param {AbortSignal} options.signal
 * @param {() => Promise<RunStatus | void>} work  resolves with the status; default: complete
 * @throws {Error} what `work` throws
 */
export async function whileRunning ({ directory, manifest, signal }, work) {
  manifest.status = 'running'
  writeManifest(directory, manifest)
  try {
    manifest.status = await work() ?? 'complete'
  } catch (error) {
    manifest.status = signal.aborted ? 'interrupted' : 'failed'
    throw error
  } finally {
    manifest.finished_at = new Date().toISOString()
    writeManifest(directory, manifest)
  }
}

/** All but results: a run writes them, and none depends on them. */
const CODE = ['--', '.', ':(exclude)results']

/**
 * @returns {{commit: string | null, dirty: boolean | null, changes_sha256: string | null}} of the code; nulls outside a
 *   git checkout; `changes_sha256` of what differs from the commit, null without any
 */
export function gitState () {
  try {
    const status = git('status', '--porcelain', ...CODE)
    const changes = status === ''
      ? null
      : createHash('sha256').update(status + git('diff', 'HEAD', ...CODE)).digest('hex')
    return { commit: git('rev-parse', 'HEAD'), dirty: status !== '', changes_sha256: changes }
  } catch {
    return { commit: null, dirty: null, changes_sha256: null }
  }
}

/**
 * @param {string} before  a commit
 * @param {string} now
 * @returns {boolean} whether both have the same code: a commit may add results only, as that of a block of a sample
 */
export function isSameCode (before, now) {
  try {
    git('diff', '--quiet', before, now, ...CODE)
    return true
  } catch {
    return false
  }
}

/**
 * @param {string[]} args
 * @throws {Error} outside a git checkout, or when git says no
 */
const git = (...args) => execFileSync('git', args, {
  cwd: ROOT,
  encoding: 'utf8',
  maxBuffer: DIFF_MAX_BYTES,
  stdio: ['ignore', 'pipe', 'ignore']
}).trim()

/** @returns {Record<string, string>} versions of everything that results may depend on */
export function versions () {
  /** @type {Record<string, string>} */
  const found = { node: process.versions.node }
  for (const [name, { optional }] of Object.entries(TOOLS)) {
    const version = locateTool(name)?.version
    if (version !== undefined || !optional) found[name] = version ?? 'none (named by MONGODB_URI)'
  }
  for (const name of ['fastify', 'mongoose', 'markdown-it']) {
    found[name] = JSON.parse(readFileSync(path.join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version
  }
  return found
}
