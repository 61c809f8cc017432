import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '@stevec/harness/config'
import { didYouMean } from '../nearest.js'

const DIRECTORY = path.join(ROOT, 'loadgen/experiments')

/** @returns {string[]} names of the project's own experiments, sorted */
export function experimentNames () {
  return readdirSync(DIRECTORY)
    .filter((file) => file.endsWith('.json') && file !== 'experiment.schema.json')
    .map((file) => file.slice(0, -5))
    .sort()
}

/**
 * @param {string} name  of one of the project's own experiments, or the path of the user's own .json file
 * @returns {string} its path
 */
export const fileOf = (name) => name.endsWith('.json') ? name : path.join(DIRECTORY, `${name}.json`)

/**
 * @param {string} name  of no experiment, perhaps the id of some
 * @returns {string} the end of a sentence: which experiments may be meant, or all
 */
export function otherExperiments (name) {
  const names = experimentNames()
  const id = name.toUpperCase()
  const ofId = names.filter((each) => JSON.parse(readFileSync(fileOf(each), 'utf8')).id === id)
  if (ofId.length > 0) return `; ${id} is ${ofId.join(', ')}`
  return didYouMean(name, [...names, 'study']) ||
    `; the experiments are: ${names.join(', ')}, or name a .json file of your own`
}
