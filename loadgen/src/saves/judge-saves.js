import { countOf } from '../count-of.js'
import { problemsOfLoss } from '../records/judge-records.js'
import { acceptedStatuses } from './strategy.js'

/**
 * Checks that saves were answered as the strategy has it, and that what was acknowledged is stored.
 * @param {import('../lab/settings.js').Settings} settings
 * @param {import('../lab/samples.js').Counts} samples
 * @param {import('./measure-saves.js').Saves} saves
 * @returns {string[]} sentences
 */
export function problemsOfSaves (settings, { statuses }, saves) {
  const accepted = acceptedStatuses(settings)
  const others = Object.entries(statuses.POST ?? {})
    .filter(([status]) => status.startsWith('2') && !accepted.includes(Number(status)))
    .map(([status, count]) => `${countOf(count, 'save')} answered ${status}, which write_strategy=` +
      `${settings.write_strategy} does not`)
  return [...others, ...problemsOfLoss(saves, 'save', saves.waiting)]
}
