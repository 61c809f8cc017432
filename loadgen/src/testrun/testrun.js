import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '@stevec/harness/config'
import { stringify } from 'yaml'
import { GARBAGE_COLLECTION } from '../lab/generator.js'
import { levelText } from '../lab/levels.js'
import { planRun } from '../lab/matrix.js'
import { UsageError } from '../usage-error.js'

const SCENARIOS = path.join(ROOT, 'loadgen/scenarios')
const SCRIPT = 'requests.js'
/** A ConfigMap holds at most 1 MiB. https://kubernetes.io/docs/concepts/configuration/configmap/ */
const CONFIG_MAP_MAX_BYTES = 1024 ** 2
/** Each of these needs the lab beside k6. @type {[string, (settings: Settings) => boolean][]} */
const NEEDS_LAB = [
  ['background_vus', ({ background_vus: vus }) => vus > 0],
  ['edit_door', ({ edit_door: door }) => door !== null],
  ['fault', ({ fault }) => fault !== null],
  ['picture', ({ picture }) => picture],
  ['protocol', ({ protocol }) => protocol !== 'http'],
  ['resource', ({ resource }) => resource !== 'page'],
  ['trace_ratio', ({ trace_ratio: ratio }) => ratio !== null]
]

/** @typedef {import('../lab/definition.js').Settings} Settings */

/**
 * Returns the Kubernetes objects with which k6-operator runs one trial of an experiment: a ConfigMap with k6's script,
 * and a TestRun. The operator starts as many k6 processes as there are generators, and gives each its segment.
 * https://grafana.com/docs/k6/latest/set-up/set-up-distributed-k6/usage/configure-testrun-crd/
 * @param {object} options
 * @param {import('../lab/definition.js').Definition} options.definition  with one cell
 * @param {number} options.seed
 * @param {number} options.repetition
 * @param {string} options.url  of the door, without a trailing slash
 * @param {number} [options.generators]  default: the setting of the cell
 * @param {string} options.image  of k6
 * @returns {string} YAML
 * @throws {UsageError} when there is more than one cell, or a setting needs the lab
 */
export function testRun ({ definition, seed, repetition, url, generators, image }) {
  const trials = planRun({ ...definition, repetitions: repetition }, seed).trials
    .filter((trial) => trial.repetition === repetition)
  if (trials.length > 1) throw new UsageError(`name one cell with --cell: ${choices(definition)}`)
  const [{ cell, settings, plan }] = trials
  const needing = NEEDS_LAB.find(([, needs]) => needs(settings))
  if (needing !== undefined) {
    throw new UsageError(`${needing[0]} needs the lab beside k6: such a trial cannot run as a TestRun`)
  }
  const { name } = definition
  const levels = Object.entries(cell).map(([factor, level]) => `${factor}=${levelText(level)}`).join(',')
  const metadata = {
    name: `stevec-${name}`,
    annotations: {
      'stevec/experiment': `${name}${levels === '' ? '' : ` ${levels}`}`,
      'stevec/seed': String(seed),
      'stevec/repetition': String(repetition),
      'stevec/plan-hash': plan.hash
    }
  }
  const settingsOfK6 = { ...settings, url, plan: plan.plan, mark: 't1', picture_markdown: null, until_url: null }
  const environment = { ...GARBAGE_COLLECTION, STEVEC_GENERATOR: JSON.stringify(settingsOfK6) }
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: scenario() },
    {
      apiVersion: 'k6.io/v1alpha1',
      kind: 'TestRun',
      metadata,
      spec: {
        parallelism: generators ?? settings.generators,
        script: { configMap: { name: metadata.name, file: SCRIPT } },
        // The operator first runs `k6 archive` with these options, which knows no environment otherwise.
        arguments: '--include-system-env-vars --no-usage-report',
        runner: { image, env: Object.entries(environment).map(([key, value]) => ({ name: key, value })) }
      }
    }
  ].map((document) => stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n')
}

/** @param {import('../lab/definition.js').Definition} definition */
const choices = ({ factors }) => Object.entries(factors)
  .filter(([, factor]) => Object.keys(factor).length > 1)
  .map(([name, factor]) => `${name}=${(Array.isArray(factor) ? factor.map(levelText) : Object.keys(factor)).join('|')}`)
  .join(', ')

/**
 * @returns {Record<string, string>} k6's script and what it imports, by file name
 * @throws {Error} when a ConfigMap cannot hold them
 */
function scenario () {
  const files = Object.fromEntries(readdirSync(SCENARIOS).filter((file) => file.endsWith('.js')).sort()
    .map((file) => [file, readFileSync(path.join(SCENARIOS, file), 'utf8')]))
  const bytes = Object.values(files).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (bytes > CONFIG_MAP_MAX_BYTES) throw new Error(`the scenario has ${bytes} bytes, more than a ConfigMap may have`)
  return files
}
