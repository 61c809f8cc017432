import path from 'node:path'
import { countOf } from '../count-of.js'
import { cellsOf } from './definition.js'
import { hidesRequests } from './fault.js'
import { levelsOf, levelText } from './levels.js'
import { pauseLines, studyLines } from './study-lines.js'
import { unansweredText } from './totals.js'

/** @typedef {ReturnType<typeof createProgress>} Progress */
/**
 * `pause_s`: the profile's.
 * @typedef {{preset: string, seed: number, trials: number, done: number, pause_s?: number}} RunSize
 */

/**
 * Reports a run's progress on a text stream, for people only.
 * @param {(text: string) => void} write
 * @param {(text: string) => void} [writeWarning]  default: as `write`
 */
export function createProgress (write, writeWarning = write) {
  let trialsStartedAt = 0
  let trialsToDo = 0
  let trialsDone = 0
  let cellWidth = 0
  let stackStarting = false
  let withFaults = false
  const line = (/** @type {string} */ text) => write(`${text}\n`)
  return {
    /**
     * @param {number} number
     * @param {number} of
     * @param {number} [block]
     */
    experiment: (number, of, block) =>
      line(`\n${block === undefined ? '' : `block ${block}, `}experiment ${number} of ${of}`),
    /**
     * @param {import('./definition.js').Definition} definition
     * @param {RunSize} run
     */
    starting (definition, run) {
      for (const text of startingLines(definition, run)) line(text)
      cellWidth = 0
      withFaults = cellsOf(definition).some(({ settings: { fault } }) => fault !== null && hidesRequests(fault))
    },
    moved: () => line('a default port is taken (perhaps by `make up`), so the stack uses free ones'),
    /** @param {number} port */
    watching: (port) => line(`watch the probe of each trial while it runs: http://127.0.0.1:${port}/`),
    /** @param {string} part */
    part (part) {
      write(stackStarting ? `, ${part}` : `starting ${part}`)
      stackStarting = true
    },
    /** @param {Record<string, import('../stack/doors.js').Door>} doors */
    doors (doors) {
      if (stackStarting) write('\n')
      stackStarting = false
      for (const text of doorLines(doors)) line(`  ${text}`)
    },
    /**
     * @param {number} written
     * @param {number} of
     * @param {string} [what]
     */
    writing: (written, of, what = 'page') => line(`  … ${written} of ${countOf(of, what)} written`),
    /**
     * @param {number} pages
     * @param {number} links
     * @param {import('./warm-up.js').WarmUp} warmUp
     */
    ready: (pages, links, warmUp) => line(`wrote ${writtenText(pages, links)}; ${warmUpText(warmUp)}`),
    /** @param {number} trials */
    trialsBegin (trials) {
      trialsStartedAt = performance.now()
      trialsToDo = trials
      trialsDone = 0
    },
    /**
     * @param {import('./trial.js').TrialResult} result
     * @param {number} total
     */
    trial (result, total) {
      trialsDone += 1
      const leftS = (performance.now() - trialsStartedAt) / 1000 / trialsDone * (trialsToDo - trialsDone)
      const cell = cellText(result)
      cellWidth = Math.max(cellWidth, cell.length)
      const verdict = result.valid ? 'ok' : `INVALID: ${result.invalid_reasons.join('; ')}`
      line(`trial ${String(result.trial).padStart(String(total).length)} of ${total}  ${cell.padEnd(cellWidth)}  ${found(result).join(', ')}  ${verdict}${leftS >= 1 ? `  (about ${timeLeft(leftS)} left)` : ''}`)
    },
    /** @param {import('./totals.js').Totals & {directory: string}} run */
    finished ({ directory, ...totals }) {
      line(outcomeText(totals, withFaults))
      line(`results: ${relative(directory)}`)
    },
    /**
     * @param {import('./totals.js').Totals & {directory: string, experiments: number, seconds: number,
     *   blocks?: import('./blocks.js').Sample}} study
     */
    studyFinished ({ directory, experiments, seconds, blocks, ...totals }) {
      line(`\n${countOf(experiments, 'experiment')}, ${countOf(totals.trials, 'trial')}, ${validityText(totals)}, ` +
        `in ${timeLeft(seconds)}${unansweredText(totals)}`)
      line(`${blocksText(blocks, relative(directory))}results: ${relative(directory)}`)
    },
    /** @param {string} message */
    note: (message) => line(message),
    /** @param {string} message */
    warn: (message) => writeWarning(`warning: ${message}\n`),
    stopped () {
      if (stackStarting) write('\n')
      line('stack stopped')
    }
  }
}

/**
 * @param {import('./definition.js').Definition} definition
 * @param {RunSize} run
 * @returns {string[]}
 */
function startingLines (definition, { preset, seed, trials, done, pause_s: pauseS }) {
  const factors = Object.entries(definition.factors)
    .map(([name, factor]) => `${name} ${levelsOf(name, factor).map(({ level }) => levelText(level)).join(', ')}`)
  const already = done > 0 ? `, ${done} of them done already` : ''
  return [
    `${definition.id} ${definition.name}: ${definition.title.toLowerCase()} (preset ${preset}, seed ${seed})`,
    `  ${factors.join(' × ')} × ${countOf(definition.repetitions, 'repetition')} = ${countOf(trials, 'trial')}${already}`,
    ...(definition.left_out ?? []).map(({ reason }) => `  left out: ${reason}`),
    ...studyLines(definition, preset),
    ...pauseLines(definition, pauseS)
  ]
}

/** @param {number} pages @param {number} links */
const writtenText = (pages, links) =>
  links === 0 ? countOf(pages, 'page') : `${countOf(pages, 'page')} and ${countOf(links, 'short link')}`

/**
 * @param {import('./blocks.js').Sample | undefined} sample
 * @param {string} directory  of the study
 * @returns {string} a line; '' for a study without blocks
 */
function blocksText (sample, directory) {
  if (sample === undefined) return ''
  const { blocks, blocks_planned: planned, is_sample: isSample, reasons } = sample
  return blocks.length < planned
    ? `${blocks.length} of ${countOf(planned, 'block')} ${blocks.length === 1 ? 'is' : 'are'} done; go on with ` +
      `\`stevec run --resume ${directory}\`\n`
    : isSample ? 'it is a sample\n' : `it is no sample: ${reasons.join('; ')}\n`
}

/**
 * @param {import('./totals.js').Totals} totals  of a run
 * @param {boolean} withFaults  whether a fault of its trials can hide requests from the counter
 */
function outcomeText (totals, withFaults) {
  const { trials, invalid } = totals
  const outcome = invalid === 0
    ? `${trials === 1 ? 'its one trial is valid: ' : `all ${trials} trials valid: in each, `}` +
      'requests sent = served by cache + counter, and the counter is what theory says where it says something' +
      (withFaults ? '; where a fault was caused, except for requests in flight' : '')
    : `${invalid} of ${countOf(trials, 'trial')} ${invalid === 1 ? 'is' : 'are'} INVALID; trial.json has the reasons`
  return outcome + unansweredText(totals)
}

/** @param {import('./totals.js').Totals} totals */
const validityText = ({ trials, invalid }) =>
  invalid > 0 ? `${invalid} INVALID` : trials === 1 ? 'valid' : 'all valid'

/** @param {import('./trial.js').TrialResult} result */
const cellText = ({ cell }) => Object.entries(cell)
  .map(([name, level]) => name === 'door' ? level : `${name}=${levelText(level)}`)
  .join(' ')

/**
 * Describes what a trial found.
 * @param {import('./trial.js').TrialResult} result
 */
function found ({
  requests_sent: sent,
  requests_failed: failed,
  counter,
  served_by_cache: served,
  duration_mean_ms: mean,
  schedule,
  pops,
  saturation,
  background
}) {
  const response = schedule === null ? mean : schedule.response_mean_ms
  const all = sent + (background?.requests_sent ?? 0)
  return [
    `${counter.requests} of ${all} reached the origin`,
    ...(counter.writes > 0 && counter.reads > 0 ? [`${counter.writes} of them writes`] : []),
    ...(Object.keys(pops ?? {}).length > 1 ? [`answered by ${Object.keys(pops ?? {}).join(', ')}`] : []),
    ...(served > 0 ? [`${(100 * served / sent).toFixed(1)} % of the probe's from cache`] : []),
    `mean ${response === null ? '—' : response.toFixed(2)} ms`,
    ...(background === null
      ? []
      : [`background ${background.rate_per_min === null ? '—' : Math.round(background.rate_per_min)}/min`]),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(schedule !== null && schedule.never_sent > 0 ? [`${schedule.never_sent} never sent`] : []),
    ...limitWords(saturation)
  ]
}

/** @param {import('./warm-up.js').WarmUp} warmUp */
function warmUpText ({ requests, writes, steady, read_mean_ms: readMs, write_mean_ms: writeMs }) {
  const sent = `warmed up by ${countOf(requests, 'request')}${writes > 0 ? `, ${countOf(writes, 'edit')} among them` : ''}`
  const took = `a read took ${readMs.toFixed(2)} ms${writeMs === null ? '' : `, an edit ${writeMs.toFixed(2)} ms`}`
  return `${sent}; ${took} at last${steady ? '' : ', and times had not stopped falling'}`
}

/** @param {import('../machine/saturation.js').Saturation | null} saturation */
function limitWords (saturation) {
  if (saturation === null) return []
  const { limit, disturbed } = saturation
  return [...(limit === 'nothing' ? [] : [`limit: ${limit}`]), ...(disturbed === null ? [] : ['disturbed'])]
}

/** @param {number} seconds */
function timeLeft (seconds) {
  const whole = Math.ceil(seconds)
  return whole < 100 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}

/** @param {string} directory */
const relative = (directory) => path.relative(process.cwd(), directory) || '.'

/**
 * @param {Record<string, import('../stack/doors.js').Door & {healthy?: boolean}>} doors
 * @returns {string[]} one line per door, in columns
 */
export function doorLines (doors) {
  const width = Math.max(...Object.values(doors).map(({ url }) => url.length + 1))
  return Object.entries(doors).map(([name, door]) =>
    `${name.padEnd(8)} ${`${door.url}/`.padEnd(width)}  ${door.path}${door.healthy === false ? '  NOT ANSWERING' : ''}`)
}
