import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '../config.js'
import { aptBlocked, aptInstall } from './apt.js'
import { compareVersions } from './locate.js'
import { STEP_DEFAULTS } from './step.js'

/** @typedef {import('./step.js').Step} Step */

const PYTHON_MINIMUM = '3.11.0'
const VENV = path.join(ROOT, '.venv')
export const VENV_PYTHON = path.join(VENV, 'bin/python')
export const PIP_OPTIONS = ['--disable-pip-version-check', '--require-hashes']

// Not of Node's version: no package is compiled, and tests with another Node (make test NODE=24) use the same packages.
const npmDigest = () => digest(['package-lock.json', '.npmrc'])

/** @returns {Step} */
export function npmPackages () {
  const stamp = path.join(ROOT, 'node_modules/.stevec-stamp')
  return {
    ...STEP_DEFAULTS,
    name: 'npm packages',
    purpose: 'the wiki and the lab',
    browsing: true,
    how: 'npm ci without those of tests, by the lock file',
    present: () => readStamp(stamp) === npmDigest() ? 'npm packages' : null,
    blocked: () => spawnSync('npm', ['--version']).status === 0
      ? null
      : 'npm is missing; it comes with Node.js (https://nodejs.org)',
    async install (run) {
      await run('npm', ['ci', '--omit=dev'])
      writeFileSync(stamp, npmDigest())
    }
  }
}

/**
 * Half of all packages. Uses `npm install`, which leaves the packages of a running wiki in place.
 * @param {Step} npm
 * @returns {Step}
 */
export function npmTestPackages (npm) {
  const stamp = path.join(ROOT, 'node_modules/.stevec-test-stamp')
  return {
    ...STEP_DEFAULTS,
    name: 'npm packages of tests',
    purpose: 'lint, types, tests and benchmarks',
    lowPriority: true,
    needs: [npm],
    how: 'npm install, by the lock file',
    present: () => readStamp(stamp) === npmDigest() ? 'npm packages of tests' : null,
    blocked: () => null,
    async install (run) {
      await run('npm', ['install', '--no-save'])
      writeFileSync(stamp, npmDigest())
    }
  }
}

/** Of the pinned packages: when they change, set-up recreates the environment. */
const packagesDigest = () => digest(['analysis/requirements.txt'])
const packagesStamp = path.join(VENV, '.stevec-stamp')

/** The environment with pip, without packages. @returns {Step} */
export function pythonEnvironment () {
  const stamp = path.join(VENV, '.stevec-environment')
  // Environments of earlier versions have only the packages' stamp.
  const isCurrent = () => [stamp, packagesStamp].some((file) => readStamp(file) === packagesDigest())
  return {
    ...STEP_DEFAULTS,
    name: 'Python environment',
    purpose: 'mongod and the Python packages',
    how: 'venv, in .venv',
    present: () => isCurrent() && pythonRuns() ? 'Python environment' : null,
    blocked () {
      const found = findPython()
      if (found === null) return `Python ${PYTHON_MINIMUM} or newer is missing; install it and put it on PATH`
      return found.venv ? null : aptBlocked('Python\'s venv module', ['python3-venv'], 'use a Python that has it')
    },
    async install (run) {
      const found = /** @type {NonNullable<ReturnType<typeof findPython>>} */ (findPython())
      if (!found.venv) await aptInstall(run, ['python3-venv'])
      await run(found.path, ['-m', 'venv', '--clear', VENV])
      writeFileSync(stamp, packagesDigest())
    }
  }
}

const pythonRuns = () => spawnSync(VENV_PYTHON, ['-c', '']).status === 0

/** @param {Step} environment @param {Step} npm  goes first: the wiki waits longest for it @returns {Step} */
export function python (environment, npm) {
  return {
    ...STEP_DEFAULTS,
    name: 'Python packages',
    purpose: 'the tables and figures of reports',
    how: 'pip into .venv, every file by its hash',
    lowPriority: true,
    needs: [environment],
    after: [npm],
    present: () => readStamp(packagesStamp) === packagesDigest() && pythonRuns() ? 'Python packages' : null,
    blocked: () => null,
    async install (run) {
      const requirements = path.join(ROOT, 'analysis/requirements.txt')
      await run(VENV_PYTHON, ['-m', 'pip', 'install', ...PIP_OPTIONS, '-r', requirements])
      writeFileSync(packagesStamp, packagesDigest())
    }
  }
}

/**
 * @returns {{path: string, venv: boolean} | null} the first Python on PATH that is new enough, and whether it can
 *   create environments
 */
function findPython () {
  for (const candidate of ['python3', 'python3.11', 'python3.12', 'python3.13', 'python3.14']) {
    const { status, stdout } = spawnSync(
      candidate,
      ['-c', 'import platform; print(platform.python_version())'],
      { encoding: 'utf8' }
    )
    const version = /^\d+\.\d+\.\d+/.exec(stdout ?? '')?.[0]
    if (status !== 0 || version === undefined || compareVersions(version, PYTHON_MINIMUM) < 0) continue
    return { path: candidate, venv: spawnSync(candidate, ['-c', 'import venv, ensurepip']).status === 0 }
  }
  return null
}

/** @param {string[]} files  of the checkout */
function digest (files) {
  const hash = createHash('sha256')
  for (const file of files) hash.update(readFileSync(path.join(ROOT, file)))
  return hash.digest('hex')
}

/** @param {string} file */
function readStamp (file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}
