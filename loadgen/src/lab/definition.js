import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Ajv } from 'ajv'
import { ROOT } from '../config.js'

const DIRECTORY = path.join(ROOT, 'loadgen/experiments')

/** An experiment that is not there or not well-formed; the message names what is wrong with it. */
export class DefinitionError extends Error {}

/** @typedef {import('../stack/doors.js').DoorName} DoorName */

/**
 * An experiment with a preset applied: what a run does.
 * @typedef {object} Definition
 * @property {string} id
 * @property {string} name
 * @property {string} title
 * @property {string} hypothesis
 * @property {'read'} scenario
 * @property {number} pages
 * @property {number} page_size_chars
 * @property {number} requests
 * @property {number} pause_s
 * @property {number} vus
 * @property {boolean} connection_reuse
 * @property {number} ttl_s
 * @property {number} duration_max_s
 * @property {DoorName[]} doors
 * @property {number} repetitions
 */

/** @returns {string[]} names of the experiments, sorted */
export function experimentNames () {
  return readdirSync(DIRECTORY).filter((file) => file.endsWith('.json') && file !== 'experiment.schema.json').map((file) => file.slice(0, -5)).sort()
}

/**
 * @param {string} name  of a file in loadgen/experiments
 * @param {'quick' | 'full'} preset
 * @param {Partial<Pick<Definition, 'repetitions' | 'vus'>>} [overrides]  from the command line
 * @returns {Definition}
 * @throws {DefinitionError}
 */
export function loadDefinition (name, preset, overrides = {}) {
  if (!experimentNames().includes(name)) {
    throw new DefinitionError(`there is no experiment "${name}"; there is: ${experimentNames().join(', ')}`)
  }
  return applyPreset(parse(readFileSync(path.join(DIRECTORY, `${name}.json`), 'utf8'), `${name}.json`), preset, overrides)
}

/**
 * @param {string} text  JSON
 * @param {string} file  for the message
 * @returns {Record<string, any>}
 * @throws {DefinitionError} with every violation of the schema
 */
export function parse (text, file) {
  /** @type {any} */
  let value
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new DefinitionError(`${file} is not JSON: ${/** @type {Error} */ (error).message}`)
  }
  const schema = JSON.parse(readFileSync(path.join(DIRECTORY, 'experiment.schema.json'), 'utf8'))
  const ajv = new Ajv({ allErrors: true })
  if (!ajv.validate(schema, value)) throw new DefinitionError(`${file}: ${ajv.errorsText(ajv.errors, { dataVar: 'experiment', separator: '; ' })}`)
  return /** @type {Record<string, any>} */ (value)
}

/**
 * @param {Record<string, any>} experiment  as parsed
 * @param {string} preset
 * @param {Record<string, unknown>} overrides
 * @returns {Definition}
 */
function applyPreset (experiment, preset, overrides) {
  const { presets, $schema, ...common } = experiment
  const given = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined))
  return /** @type {Definition} */ ({ ...common, ...presets[preset], ...given })
}
