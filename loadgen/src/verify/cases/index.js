import { beside } from './beside.js'
import { bottlenecks } from './bottlenecks.js'
import { capacity } from './capacity.js'
import { disturbed } from './disturbed.js'
import { failures } from './failures.js'
import { generatorLimited } from './generator-limited.js'
import { history } from './history.js'
import { hitRatio } from './hit-ratio.js'
import { lies } from './lies.js'
import { linkDelay } from './link-delay.js'
import { openQueue } from './open-queue.js'
import { percentiles } from './percentiles.js'

/** @type {import('./row.js').Case[]} */
export const CASES = [
  capacity, openQueue, linkDelay, percentiles, beside, hitRatio, history, failures, generatorLimited, bottlenecks,
  disturbed, lies
]
