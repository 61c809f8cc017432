import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { EXIT } from '../exit-codes.js'
import { analysisHelp, runAnalysis } from '../lab/python.js'
import { comparisonLines, sampleLines } from '../replay/comparison.js'
import { replay } from '../replay/replay.js'
import { readSchedule } from '../replay/schedule.js'
import { interruptSignal } from './options.js'

const MODULE = 'stevec_advise'
const VALUES = [
  'stale', 'max-age', 'purge-delay', 'least', 'host', 'trace-type', 'trace-params', 'for', 'cache', 'replay'
]
const LISTS = ['edits', 'class']

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'how long a cache may keep each part of a site, from its access log',
  get help () { return analysisHelp(MODULE) },
  options: {
    ...Object.fromEntries(VALUES.map((name) => [name, { type: /** @type {const} */ ('string') }])),
    ...Object.fromEntries(LISTS.map((name) => [name, { type: /** @type {const} */ ('string'), multiple: true }])),
    json: { type: 'boolean' }
  },
  optionalValues: { replay: { pattern: /^\s*\d+(\.\d+)?\s*[a-z]*\s*$/, otherwise: '30s' } },
  async run ({ values, positionals }) {
    const flags = Object.entries(values).flatMap(([name, value]) =>
      value === true ? [`--${name}`] : [value].flat().map((one) => `--${name}=${one}`))
    if (values.replay !== undefined) return adviseAndReplay(flags, positionals, values.json ?? false)
    return codeOf(await runAnalysis(MODULE, [...flags, '--', ...positionals]))
  }
}

/**
 * @param {string[]} flags
 * @param {string[]} logs
 * @param {boolean} asJson
 * @returns {Promise<number>} the exit code: `violated` when edge and model do not agree
 */
async function adviseAndReplay (flags, logs, asJson) {
  const signal = interruptSignal()
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-replay-'))
  try {
    const file = path.join(folder, 'advice.json')
    const output = asJson ? openSync(file, 'w') : 'inherit'
    const code = await runAnalysis(MODULE, [...flags, `--replay-folder=${folder}`, '--', ...logs], { output, signal })
    if (typeof output === 'number') closeSync(output)
    if (code !== EXIT.good) return codeOf(code)
    const schedule = await readSchedule(folder)
    print(process[asJson ? 'stderr' : 'stdout'], ['', ...sampleLines(schedule.plan)])
    const progress = (/** @type {number} */ played, /** @type {number} */ elapsedMs) => print(process.stderr, [
      `  ${Math.round(elapsedMs / 1000)} of ${Math.ceil(schedule.plan.window_s)} s, ` +
        `${played} of ${schedule.events.length} events`
    ])
    const comparison = await replay({ schedule, folder, signal, progress })
    print(process.stdout, asJson
      ? [JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), replay: comparison }, null, 2)]
      : comparisonLines(comparison))
    return comparison.agree ? EXIT.good : EXIT.violated
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {NodeJS.WritableStream} stream @param {string[]} lines */
const print = (stream, lines) => stream.write(`${lines.join('\n')}\n`)

/** @param {number} code  of Python, whose own after an exception is 1 @returns {number} */
const codeOf = (code) => code === EXIT.violated ? EXIT.broken : code
