import { generatorsOf } from './generators.js'
import { intervalsOf, partsOf } from './usage.js'

/**
 * Above these shares something counts as saturated; docs/methodology.md ("What was saturated") gives the reasons.
 * `machine` and `generator` are of all cores, `thread` of one, `quota` of what a profile grants the origin's processes.
 */
export const SATURATED = Object.freeze({ machine: 0.9, generator: 0.7, thread: 0.9, quota: 0.9 })
/** Of the cores, or of the time: if other processes take more, times are not those of the machine alone. */
export const DISTURBED_SHARE = 0.1

/** @typedef {import('./usage.js').Interval} Interval */
/** @typedef {import('./usage.js').Use} Use */
/** @typedef {import('./reading.js').Part} Part */
/** @typedef {'nothing' | 'machine' | Exclude<Part, 'lab'>} Limit */

/**
 * Who used the processors while requests were under way, and what was the limit (docs/results-format.md).
 * @typedef {object} Saturation
 * @property {Limit} limit
 * @property {string} evidence  a sentence
 * @property {string | null} disturbed  a sentence, if other processes disturbed the trial
 * @property {number} sampled_s  the time that the means below cover
 * @property {number} cores
 * @property {number} busy_cores
 * @property {number} idle_cores
 * @property {number} others_cores
 * @property {number | null} stolen_cores
 * @property {number | null} pressure_ratio
 * @property {number} held_up_ratio
 * @property {Partial<Record<Part, Use>>} parts
 * @property {import('./generators.js').GeneratorUse[]} generators
 */

/**
 * @param {import('./reading.js').Reading[]} readings
 * @param {object} during
 * @param {number | null} [during.fromUs]  of the first request, microseconds since 1970
 * @param {number | null} [during.untilUs]  of the last response
 * @param {number | null} [during.quotaCores]  of the origin's processes together; null: no limit
 * @param {number | null} [during.wikiQuotaCores]  of all wikis, each with an equal share; null: no limit
 * @param {number | null} [during.remoteOriginShare]  of its own cores, that an origin on another machine used
 * @param {import('./generators.js').RemoteUse[]} [during.remoteGenerators]
 * @returns {Saturation | null} null: nothing was read, or the load was too short for readings within it
 */
export function saturationOf (readings, {
  fromUs = null, untilUs = null, quotaCores = null, wikiQuotaCores = null, remoteOriginShare = null,
  remoteGenerators = []
}) {
  const intervals = underLoad(intervalsOf(readings), fromUs, untilUs)
  if (intervals.length === 0) return null
  const mean = meanOf(intervals)
  const { cores } = readings[0].processors
  const machine = { cores, busyCores: mean.busy_cores, limit: SATURATED.generator }
  const facts = { ...mean, cores, generators: generatorsOf(intervals, remoteGenerators, machine) }
  return {
    ...limitOf(facts, { quotaCores, wikiQuotaCores, remoteOriginShare }),
    disturbed: disturbanceOf(facts),
    sampled_s: round(intervals.reduce((sum, { duration_s: durationS }) => sum + durationS, 0)),
    ...rounded(facts)
  }
}

/**
 * @param {Interval[]} intervals
 * @param {number | null} fromUs
 * @param {number | null} untilUs
 * @returns {Interval[]} those within the load; none if they cover less than half of it, as the others are also about
 *   the generator's start and end
 */
function underLoad (intervals, fromUs, untilUs) {
  if (fromUs === null || untilUs === null) return intervals
  const within = intervals.filter((each) => each.from_us >= fromUs && each.until_us <= untilUs)
  const coveredS = within.reduce((sum, { duration_s: durationS }) => sum + durationS, 0)
  return coveredS >= (untilUs - fromUs) / 2e6 ? within : []
}

/** @param {Interval[]} intervals  at least one */
function meanOf (intervals) {
  const totalS = intervals.reduce((sum, { duration_s: durationS }) => sum + durationS, 0)
  const weighted = (/** @type {(interval: Interval) => number} */ of) =>
    intervals.reduce((sum, each) => sum + of(each) * each.duration_s, 0) / totalS
  const known = (/** @type {'stolen_cores' | 'pressure_ratio'} */ name) =>
    intervals.some((each) => each[name] === null) ? null : weighted((each) => each[name] ?? 0)
  const used = intervals.map(partsOf)
  const names = /** @type {Part[]} */ ([...new Set(used.flatMap((parts) => Object.keys(parts)))])
  const use = (/** @type {Part} */ part, /** @type {keyof Use} */ name) =>
    weighted((each) => used[intervals.indexOf(each)][part]?.[name] ?? 0)
  const isQueueKnown = (/** @type {Part} */ part) => used.every((parts) => parts[part]?.run_queue_cores !== null)
  return {
    busy_cores: weighted((each) => each.busy_cores),
    idle_cores: weighted((each) => each.idle_cores),
    others_cores: weighted((each) => each.others_cores),
    stolen_cores: known('stolen_cores'),
    pressure_ratio: known('pressure_ratio'),
    held_up_ratio: weighted((each) => each.held_up_ratio),
    parts: /** @type {Partial<Record<Part, Use>>} */ (Object.fromEntries(names.map((part) => [part, {
      cpu_cores: use(part, 'cpu_cores'),
      busiest_thread_cores: use(part, 'busiest_thread_cores'),
      run_queue_cores: isQueueKnown(part) ? use(part, 'run_queue_cores') : null
    }])))
  }
}

/** @typedef {ReturnType<typeof meanOf> & Pick<Saturation, 'cores' | 'generators'>} Facts */

/**
 * @param {Facts} facts
 * @param {Record<'quotaCores' | 'wikiQuotaCores' | 'remoteOriginShare', number | null>} granted
 * @returns {{limit: Limit, evidence: string}}
 */
function limitOf (facts, { quotaCores, wikiQuotaCores, remoteOriginShare }) {
  const { parts, cores, busy_cores: busy } = facts
  const cpu = (/** @type {Part} */ part) => parts[part]?.cpu_cores ?? 0
  const usage = `the cores were ${percent(busy / cores)} busy: ${usersOf(facts)}`
  const saturated = facts.generators.filter((each) => each.saturated === true)
  if (saturated.length > 0) return { limit: 'generator', evidence: `${saturationOfGenerators(saturated)}${usage}` }
  if (busy >= SATURATED.machine * cores) {
    const most = /** @type {const} */ (['generator', 'links']).find((part) => cpu(part) > busy / 2)
    return { limit: most ?? 'machine', evidence: usage }
  }
  const ofOrigin = largest(['origin', 'wiki', 'database'], cpu)
  const usedCores = cpu('origin') + cpu('wiki') + cpu('database')
  if (quotaCores !== null && usedCores >= SATURATED.quota * quotaCores) {
    return {
      limit: ofOrigin,
      evidence: `the origin's processes used ${percent(usedCores / quotaCores)} of their ${quotaCores} cores, ` +
        `most of it ${NAMES[ofOrigin]}`
    }
  }
  if (wikiQuotaCores !== null && cpu('wiki') >= SATURATED.quota * wikiQuotaCores) {
    const used = percent(cpu('wiki') / wikiQuotaCores)
    return { limit: 'wiki', evidence: `the wikis used ${used} of their ${round(wikiQuotaCores)} cores` }
  }
  const thread = (/** @type {Part} */ part) => parts[part]?.busiest_thread_cores ?? 0
  const busiest = largest(['links', 'edge', 'origin', 'wiki', 'database'], thread)
  if (thread(busiest) >= SATURATED.thread) {
    return { limit: busiest, evidence: `a thread of ${NAMES[busiest]} used ${percent(thread(busiest))} of a core` }
  }
  if (remoteOriginShare !== null && remoteOriginShare >= SATURATED.thread) {
    return { limit: 'origin', evidence: `the cores of the origin's machine were ${percent(remoteOriginShare)} busy` }
  }
  return { limit: 'nothing', evidence: usage }
}

/**
 * @param {Pick<Facts, 'cores' | 'others_cores' | 'stolen_cores' | 'held_up_ratio'>} facts
 * @returns {string | null} a sentence
 */
export function disturbanceOf ({ cores, others_cores: others, stolen_cores: stolen, held_up_ratio: heldUp }) {
  const stolenShare = (stolen ?? 0) / cores
  const reasons = [
    ...(others / cores > DISTURBED_SHARE ? [`other processes had ${percent(others / cores)} of the cores`] : []),
    ...(stolenShare > DISTURBED_SHARE ? [`the host gave ${percent(stolenShare)} of the cores to others`] : []),
    ...(heldUp > DISTURBED_SHARE
      ? [`a thread that only has to wake up was held up for ${percent(heldUp)} of the time`]
      : [])
  ]
  return reasons.length === 0 ? null : reasons.join(', and ')
}

/** In sentences. */
const NAMES = Object.freeze({
  generator: 'k6',
  links: 'the links',
  edge: 'the cache at the door',
  origin: 'the origin\'s nginx',
  wiki: 'the wiki',
  database: 'the database',
  lab: 'the lab'
})

/**
 * @param {import('./generators.js').GeneratorUse[]} saturated
 * @returns {string} begins a sentence, if it is about other machines
 */
const saturationOfGenerators = (saturated) => saturated
  .filter(({ host }) => host !== null)
  .map(({ name, host, machine_busy_ratio: busy }) => `the cores of ${host}, where ${name} ran, were ${percent(busy ?? 0)} busy; `)
  .join('')

/**
 * @param {Facts} facts
 * @returns {string} the parts that used a fiftieth of the cores or more, the largest first
 */
function usersOf ({ parts, generators, cores, others_cores: others }) {
  const local = generators.flatMap(({ name, cpu_cores: used }) => used === null ? [] : { name, used })
  const several = local.length > 1
  const users = [
    ...Object.entries(parts).flatMap(([part, { cpu_cores: used }]) =>
      part === 'generator' && several ? local : { name: NAMES[/** @type {Part} */ (part)], used }),
    { name: 'other processes', used: others }
  ].filter(({ used }) => used >= 0.02 * cores).sort((a, b) => b.used - a.used)
  return users.map(({ name, used }) => `${name} ${percent(used / cores)}`).join(', ') || 'nothing used much'
}

/**
 * @template {Part} P
 * @param {P[]} parts
 * @param {(part: Part) => number} of
 * @returns {P}
 */
const largest = (parts, of) => parts.reduce((most, part) => of(part) > of(most) ? part : most)

/** @param {Facts} facts */
function rounded ({ parts, cores, generators, ...numbers }) {
  const each = (/** @type {Record<string, number | null>} */ values) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value === null ? null : round(value)]))
  return /** @type {Omit<Saturation, 'limit' | 'evidence' | 'disturbed' | 'sampled_s'>} */ ({
    cores,
    ...each(numbers),
    parts: Object.fromEntries(Object.entries(parts).map(([part, use]) => [part, each({ ...use })])),
    generators: generators.map(({ cpu_cores: used, machine_busy_ratio: busy, ...rest }) => ({
      ...rest,
      ...each({ cpu_cores: used, machine_busy_ratio: busy })
    }))
  })
}

/** @param {number} value */
const round = (value) => Math.round(value * 1000) / 1000

/** @param {number} share */
const percent = (share) => `${(100 * Math.min(1, share)).toFixed(0)} %`
