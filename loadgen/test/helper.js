import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { DEFAULT_PORTS } from '../src/config.js'
import { ROOT } from '@stevec/harness/config'
import { freePorts } from '@stevec/harness/ports'

/** Time limit for a stack to start and do its first trials, also on a busy machine. */
export const STARTED_WITHIN_MS = 300_000

/** @param {string} file */
export const json = (file) => JSON.parse(readFileSync(file, 'utf8'))

/** @param {string} runDirectory */
export const trialsOf = (runDirectory) =>
  readdirSync(path.join(runDirectory, 'trials'))
    .sort()
    .map((name) => ({ name, ...json(path.join(runDirectory, 'trials', name, 'trial.json')) }))

/**
 * Reads a file of samples of a trial; planned requests that were never sent have no `sentAtUs`.
 * @param {string} folder  of the trial
 */
export function samplesOf (folder, file = 'samples.csv.gz') {
  const [header, ...lines] = gunzipSync(readFileSync(path.join(folder, file))).toString().trim().split('\n')
  const names = header.split(',')
  return lines.map((line) => {
    const cells = line.split(',')
    const cell = (/** @type {string} */ name) => cells[names.indexOf(name)]
    const sentAtUs = Number(cell('sent_at_us'))
    return {
      plannedAtUs: /** @type {number} */ (cell('planned_at_us') === '' ? null : Number(cell('planned_at_us'))),
      sentAtUs,
      doneAtUs: sentAtUs + 1000 * Number(cell('duration_ms')),
      iteration: cell('iteration'),
      page: cell('page'),
      method: cell('method'),
      status: Number(cell('status')),
      failure: cell('failure'),
      cacheStatus: cell('cache_status'),
      pop: cell('pop'),
      durationMs: Number(cell('duration_ms')),
      sizeBytes: Number(cell('size_bytes')),
      revision: Number(cell('revision'))
    }
  })
}

/**
 * Creates a place for the `stevec` command, with state, results and ports that no other process uses.
 */
export async function createSandbox () {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-lab-'))
  const names = Object.keys(DEFAULT_PORTS)
  const free = await freePorts(names.length)
  const ports = Object.fromEntries(names.map((name, index) => [name, free[index]]))
  const { MONGODB_URI: _, ...inherited } = process.env
  const env = {
    ...inherited,
    STEVEC_STATE: path.join(directory, 'state'),
    STEVEC_RESULTS: path.join(directory, 'results'),
    STEVEC_LOCK: path.basename(directory),
    ...Object.fromEntries(names.map((name) => [`${name.toUpperCase()}_PORT`, String(ports[name])]))
  }
  return {
    directory,
    ports,
    env,
    results: path.join(directory, 'results'),
    /**
     * Writes the experiment `mine` with the preset quick.
     * @param {object} content  replaces properties of an experiment that sends 50 reads to 10 small pages
     * @returns {string} its file
     */
    experiment (content) {
      const file = path.join(directory, 'mine.json')
      writeFileSync(file, JSON.stringify({
        id: 'X1',
        name: 'mine',
        title: 'Mine',
        why: 'To see.',
        hypothesis: 'It is so.',
        expected: 'It is.',
        settings: { pages: 10, page_size_chars: 500, requests: 50, duration_max_s: 60 },
        factors: { door: ['source', 'cached'] },
        presets: { quick: { repetitions: 1 } },
        ...content
      }))
      return file
    },
    /**
     * Starts `stevec` in a process group of its own, as a shell does.
     * @param {string[]} args
     * @param {Record<string, string>} [extra]
     */
    start (args, extra = {}) {
      const child = spawn(process.execPath, [path.join(ROOT, 'loadgen/bin/stevec.js'), ...args], {
        env: { ...env, ...extra },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true
      })
      const output = { stdout: '', stderr: '' }
      child.stdout.setEncoding('utf8').on('data', (text) => { output.stdout += text })
      child.stderr.setEncoding('utf8').on('data', (text) => { output.stderr += text })
      /** @type {Promise<{exitCode: number | null, stdout: string, stderr: string}>} */
      const done = new Promise((resolve) => child.once('close', (exitCode) => resolve({ exitCode, ...output })))
      return { child, output, done }
    },
    /**
     * Runs `stevec` to its end.
     * @param {string[]} args
     * @param {Record<string, string>} [extra]
     */
    stevec (args, extra) {
      return this.start(args, extra).done
    },
    /** @returns {{pid: number, command: string}[]} processes that were started from this sandbox and still run */
    processes () {
      return readdirSync('/proc')
        .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
        .flatMap((entry) => {
          try {
            const command = readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ')
            const environment = readFileSync(`/proc/${entry}/environ`, 'utf8')
            return command.includes(directory) || environment.includes(`STEVEC_STATE=${directory}`)
              ? [{ pid: Number(entry), command }]
              : []
          } catch {
            return []
          }
        })
    },
    remove () {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}
