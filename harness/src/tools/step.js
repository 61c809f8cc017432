import { locateTool } from './locate.js'

/** @typedef {import('../config.js').Config} Config */
/** @typedef {import('./runner.js').Runner} Runner */

/**
 * One installation of set-up. Steps run concurrently.
 * @typedef {object} Step
 * @property {string} name
 * @property {string} purpose  why it is needed; shown during its installation
 * @property {string} how  how it is installed; shown before
 * @property {boolean} browsing  true: the wiki cannot be browsed without it
 * @property {boolean} lowPriority  true: it runs with a lower CPU priority than other steps
 * @property {Step[]} needs  steps that must be done before
 * @property {Step[]} after  steps that go first if both are missing
 * @property {() => string | null} present  what is installed ("nginx 1.22.1, PATH"), or null if it must be installed
 * @property {() => string | null} blocked  why it cannot be installed here and what to do, or null
 * @property {(run: Runner) => Promise<void>} install
 */

/** Of a step that nothing else depends on. */
export const STEP_DEFAULTS = Object.freeze({ browsing: false, lowPriority: false, needs: [], after: [] })

/**
 * @param {string} name
 * @param {Config} config
 */
export function toolText (name, config) {
  const tool = locateTool(name, config)
  return tool && `${name} ${tool.version} (${tool.from})`
}
