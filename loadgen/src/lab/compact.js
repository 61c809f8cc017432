import { analysisOutput } from './python.js'

/**
 * Brings the trials of a run or study into their compact form (docs/results-format.md): the analysis knows what it
 * takes from samples and logs. Trials that are in it stay as they are.
 * @param {string} directory
 * @returns {Promise<string>} its bytes before and after, in words
 * @throws {Error} when the analysis refuses the folder or is not installed
 */
export const compactResults = async (directory) => (await analysisOutput('stevec_report.compact', [directory])).trim()
