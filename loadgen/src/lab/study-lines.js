import { cellsOf } from './definition.js'

/**
 * What of the study of 2016 an experiment repeats.
 * @typedef {object} Study
 * @property {string} section
 * @property {string[]} tables
 * @property {string[]} figures
 * @property {Record<string, string>} [not_stated]  by setting of the preset `full`: its value, which the study does not
 *   state, and why
 * @property {Record<string, string>} [differs]  by setting of the preset `full`: its value, and the study's
 */

/**
 * Says, before a run, which of its settings are not the study's own.
 * @param {import('./definition.js').Definition} definition
 * @param {string} preset  nothing is said of another than `full`, which differs from the study anyway
 * @returns {string[]} lines
 */
export function studyLines ({ study }, preset) {
  if (study === undefined || preset !== 'full') return []
  return [
    ...remarkLines('the study does not state', study.not_stated),
    ...remarkLines('other than in the study', study.differs)
  ]
}

/**
 * @param {string} heading
 * @param {Record<string, string>} [remarks]  by setting
 */
function remarkLines (heading, remarks = {}) {
  const entries = Object.entries(remarks)
  if (entries.length === 0) return []
  const width = Math.max(...entries.map(([name]) => name.length))
  return [`  ${heading}:`, ...entries.map(([name, text]) => `    ${name.padEnd(width)}  ${text}`)]
}

/**
 * Says which pause holds where a profile has one.
 * @param {import('./definition.js').Definition} definition
 * @param {number | undefined} profilePauseS
 * @returns {string[]} lines
 */
export function pauseLines (definition, profilePauseS) {
  const pauses = [...new Set(cellsOf(definition).map(({ settings }) => settings.pause_s))]
  if (profilePauseS === undefined || pauses.every((pause) => pause === profilePauseS)) return []
  return [
    `  pause ${pauses.join(', ')} s: the profile's ${profilePauseS} s is for closed-loop experiments that state none`
  ]
}
