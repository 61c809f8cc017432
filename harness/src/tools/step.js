import { locateTool } from './locate.js'

/** @typedef {import('../config.js').Config} Config */
/** @typedef {import('./runner.js').Runner} Runner */

/**
 * One thing that set-up sees to. Steps run side by side.
 * @typedef {object} Step
 * @property {string} name
 * @property {string} purpose  why it is needed; shown while it is installed
 * @property {string} how  said before it is installed
 * @property {boolean} browsing  whether the wiki cannot be browsed without it
 * @property {boolean} patient  whether it leaves the processors to other steps
 * @property {Step[]} needs  steps that must be done before
 * @property {Step[]} after  steps that go first where both are missing
 * @property {() => string | null} present  what is there ("nginx 1.22.1, PATH"), or null when it has to be installed
 * @property {() => string | null} blocked  why it cannot be installed here and what to do, or null
 * @property {(run: Runner) => Promise<void>} install
 */

/** Defaults of a step. */
export const ALONE = Object.freeze({ browsing: false, patient: false, needs: [], after: [] })

/**
 * @param {string} name
 * @param {Config} config
 */
export function toolText (name, config) {
  const tool = locateTool(name, config)
  return tool && `${name} ${tool.version} (${tool.from})`
}
