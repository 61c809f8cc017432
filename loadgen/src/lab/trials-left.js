import { existsSync } from 'node:fs'
import path from 'node:path'
import { planRun } from './matrix.js'
import { trialName } from './trial.js'

/**
 * @param {{definition: import('./definition.js').Definition, directory: string}[]} runs
 * @param {number} seed
 * @returns {import('./matrix.js').PlannedTrial[]} those without a result yet, in the order of the runs
 */
export const trialsLeft = (runs, seed) => runs.flatMap(({ definition, directory }) =>
  planRun(definition, seed).trials.filter(({ trial }) =>
    !existsSync(path.join(directory, 'trials', trialName(trial), 'trial.json'))))
