import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { countOf } from '../count-of.js'
import { contradiction } from './contradiction.js'
import { experimentNames, fileOf, otherExperiments } from './experiment-files.js'
import { expectationComplaint, levelsOf, levelText } from './levels.js'
import { violations } from './schema.js'
import { DEFAULT_SETTINGS } from './settings.js'

const TRIALS_MAX = 100_000

/** An experiment that does not exist or is malformed; the message says what is wrong. */
export class DefinitionError extends Error {}

/** @typedef {import('./settings.js').Settings} Settings */

/**
 * A list has values of the setting with the factor's name; a record has named levels that give several settings.
 * @typedef {unknown[] | Record<string, Partial<Settings>>} Factor
 */

/**
 * What a run does: an experiment with a preset applied.
 * @typedef {object} Definition
 * @property {string} id
 * @property {string} name
 * @property {string} title
 * @property {string} why
 * @property {string} hypothesis
 * @property {string} expected
 * @property {import('./study-lines.js').Study} [study]
 * @property {Settings} settings
 * @property {Record<string, Factor>} factors
 * @property {number} repetitions
 * @property {{alpha?: number, hypotheses?: number} & Record<string, number>} [thresholds]  of the study's verdicts
 * @property {{level: string, reason: string}[]} [left_out]  levels that the run cannot measure, and why
 */

/** Sizes of an experiment; only the study's have a `sample`. @typedef {typeof PRESETS[number]} Preset */
export const PRESETS = /** @type {const} */ (['quick', 'sample', 'full'])

/** @typedef {Record<string, string | number | boolean | number[]>} Cell  factor → level */

/**
 * Overrides from the command line; `only` selects levels of a factor. `pause_s` is the profile's, for an experiment of
 * the closed model that states none. `generators`: as many as machines were named for them.
 * @typedef {{repetitions?: number, vus?: number, only?: Record<string, string[]>, pause_s?: number,
 *   generators?: number}} Overrides
 */

/**
 * @param {string} name  of a file in loadgen/experiments, or the path of the user's own .json file
 * @param {Preset} preset
 * @param {Overrides} [overrides]
 * @returns {Definition}
 * @throws {DefinitionError}
 */
export function loadDefinition (name, preset, overrides = {}) {
  return applyPreset(readExperiment(name), path.basename(fileOf(name)), preset, overrides)
}

/**
 * @param {string} name  as for loadDefinition
 * @returns {Preset} the preset of a run that names none: the shorter one
 * @throws {DefinitionError}
 */
export const defaultPreset = (name) => readExperiment(name).presets.quick === undefined ? 'full' : 'quick'

/**
 * @param {string} name
 * @returns {Record<string, any>} as parsed, with defaults for what it leaves out
 * @throws {DefinitionError}
 */
function readExperiment (name) {
  const own = name.endsWith('.json')
  if (own && !existsSync(name)) throw new DefinitionError(`there is no file ${name}`)
  if (!own && !experimentNames().includes(name)) {
    throw new DefinitionError(`there is no experiment "${name}"${otherExperiments(name)}`)
  }
  return parse(readFileSync(fileOf(name), 'utf8'), path.basename(name))
}

/** @param {Cell} cell */
const cellText = (cell) => Object.entries(cell).map(([name, level]) => `${name}=${levelText(level)}`).join(' ')

/** Of an experiment that has none. */
const DEFAULT_PRESETS = Object.freeze({ quick: { repetitions: 3 }, full: { repetitions: 10 } })

/**
 * Returns what an experiment's file may leave out.
 * @param {string} name
 */
const textsOf = (name) => ({
  id: name.toUpperCase().replace(/[^A-Z0-9]/g, '').slice(0, 8),
  title: name,
  why: '',
  hypothesis: '',
  expected: ''
})

/**
 * @param {string} text  JSON
 * @param {string} file  for the message
 * @returns {Record<string, any>}
 * @throws {DefinitionError} with every violation of the schema, or the first unknown name in an expectation
 */
export function parse (text, file) {
  /** @type {any} */
  let value
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new DefinitionError(`${file} is not JSON: ${/** @type {Error} */ (error).message}`)
  }
  const complaints = violations('experiment', value) ?? expectationComplaint(value)
  if (complaints !== null) throw new DefinitionError(`${file}: ${complaints}`)
  return { ...textsOf(value.name), settings: {}, presets: DEFAULT_PRESETS, ...value }
}

/**
 * Returns every combination of the factors' levels; the last factor varies fastest.
 * @param {Definition} definition
 * @returns {{cell: Cell, settings: Settings}[]}
 */
export function cellsOf (definition) {
  /** @type {{cell: Cell, settings: Settings}[]} */
  let cells = [{ cell: {}, settings: definition.settings }]
  for (const [name, factor] of Object.entries(definition.factors)) {
    const levels = levelsOf(name, factor)
    cells = cells.flatMap(({ cell, settings }) => levels.map(({ level, gives }) => ({
      cell: { ...cell, [name]: level },
      settings: { ...settings, ...gives }
    })))
  }
  return cells
}

/**
 * @param {Record<string, any>} experiment  as parsed
 * @param {string} file
 * @param {string} preset
 * @param {Overrides} overrides
 * @returns {Definition}
 */
function applyPreset (experiment, file, preset, { repetitions, vus, only = {}, pause_s: pauseS = 0, generators }) {
  const { presets, $schema, ...rest } = experiment
  const common = /** @type {Definition} */ (rest)
  if (presets[preset] === undefined) {
    throw new DefinitionError(`${file} has no preset "${preset}"; it has: ${Object.keys(presets).join(', ')}`)
  }
  const chosen = presets[preset]
  const factors = keepOnly({ ...common.factors, ...chosen.factors }, only)
  const stated = { ...common.settings, ...chosen.settings }
  const pause = isOpen(stated, factors) ? {} : { pause_s: pauseS }
  if (generators !== undefined) refuseFactor('generators', factors)
  if (vus !== undefined) refuseFactor('vus', factors)
  /** @type {Definition} */
  const definition = {
    ...common,
    settings: {
      ...DEFAULT_SETTINGS,
      ...pause,
      ...stated,
      ...vus !== undefined && { vus },
      ...generators !== undefined && { generators }
    },
    factors,
    repetitions: repetitions ?? chosen.repetitions
  }
  for (const [name, factor] of Object.entries(definition.factors)) {
    if (Array.isArray(factor) && !(name in DEFAULT_SETTINGS)) {
      throw new DefinitionError(
        `${file}: the factor ${name} is a list, but there is no setting of this name; give named levels, or one of ${Object.keys(DEFAULT_SETTINGS).join(', ')}`
      )
    }
  }
  const cells = cellsOf(definition)
  if (cells.length * definition.repetitions > TRIALS_MAX) {
    throw new DefinitionError(
      `${file}: ${countOf(cells.length, 'cell')} × ${countOf(definition.repetitions, 'repetition')} are more than ${TRIALS_MAX} trials`
    )
  }
  for (const { cell, settings } of cells) {
    const complaint = violations('settings', settings) ?? contradiction(settings)
    if (complaint !== null) {
      throw new DefinitionError(
        `${file}: in the cell ${cellText(cell)}: ${complaint}`
      )
    }
  }
  return definition
}

/**
 * @param {Partial<Settings>} stated
 * @param {Record<string, Factor>} factors
 * @returns {boolean} whether any cell is of the open model, which has no pauses
 */
const isOpen = (stated, factors) => stated.model === 'open' ||
  Object.entries(factors).some(([name, factor]) => levelsOf(name, factor).some(({ gives }) => gives.model === 'open'))

/**
 * @param {keyof Settings} setting
 * @param {Record<string, Factor>} factors
 * @throws {DefinitionError} when cells differ in what the command line sets for all of them
 */
function refuseFactor (setting, factors) {
  const found = Object.entries(factors).find(([name, factor]) =>
    levelsOf(name, factor).some(({ gives }) => gives[setting] !== undefined))
  if (found !== undefined) {
    throw new DefinitionError(`--${setting} is for all trials, but the factor ${found[0]} of this experiment sets ` +
      `${setting}: leave --${setting} out, or change the experiment's file`)
  }
}

/**
 * @param {Record<string, Factor>} factors
 * @param {Record<string, string[]>} only
 * @throws {DefinitionError} for an unknown factor or level
 */
function keepOnly (factors, only) {
  const selected = { ...factors }
  for (const [name, wanted] of Object.entries(only)) {
    const factor = factors[name]
    if (factor === undefined) {
      throw new DefinitionError(
        `there is no factor "${name}"; the factors are: ${Object.keys(factors).join(', ')}`
      )
    }
    const levels = levelsOf(name, factor).map(({ level }) => levelText(level))
    const unknown = wanted.find((level) => !levels.includes(level))
    if (unknown !== undefined) {
      throw new DefinitionError(`the factor ${name} has no level "${unknown}"; it has: ${levels.join(', ')}`)
    }
    selected[name] = Array.isArray(factor)
      ? factor.filter((level) => wanted.includes(levelText(level)))
      : Object.fromEntries(Object.entries(factor).filter(([level]) => wanted.includes(level)))
  }
  return selected
}
