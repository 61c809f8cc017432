import { capacity } from './capacity.js'
import { generatorLimited } from './generator-limited.js'
import { history } from './history.js'
import { hitRatio } from './hit-ratio.js'
import { lies } from './lies.js'

/** @type {import('./row.js').Case[]} */
export const CASES = [capacity, hitRatio, history, generatorLimited, lies]
