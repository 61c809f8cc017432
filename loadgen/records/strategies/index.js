import { createAsync } from './async.js'
import { createBulk } from './bulk.js'
import { createGroup } from './group.js'
import { createGroupCommit } from './group-commit.js'
import { createSync } from './sync.js'

/**
 * A way to bring records into the database.
 * @typedef {object} Strategy
 * @property {boolean} answersAfter  whether the sender of a record waits until it is stored
 * @property {(item: import('./insert.js').Item) => void} add  settles the item later
 * @property {() => void} flush  inserts at once what it has collected
 */

/**
 * @typedef {object} Options
 * @property {import('./insert.js').Records} records
 * @property {number} gatherMax  records of a batch, at most
 * @property {number} gatherMs  from the first record of a batch to its insertion, at most
 */

/** @typedef {(options: Options) => Strategy} Make */

/** @type {Record<typeof import('./names.js').STRATEGIES[number], Make>} */
const MAKERS = {
  sync: createSync, 'group-commit': createGroupCommit, async: createAsync, group: createGroup, bulk: createBulk
}

/**
 * @param {keyof typeof MAKERS} name
 * @param {Options} options
 */
export const createStrategy = (name, options) => MAKERS[name](options)
