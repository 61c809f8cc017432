import { randomBytes } from 'node:crypto'

/** @import {Attribution, Edit} from '../pages/commit.js' */
/** @import {Condition} from '../writing/change.js' */

/**
 * A save that is answered before it is stored. Plain data: its JSON may wait in Redis for another process.
 * @typedef {object} DeferredSave
 * @property {string} id  random, so that nobody else finds its status
 * @property {string} name  of the page
 * @property {Edit['change']} change
 * @property {NonNullable<Edit['rendered']>} rendered
 * @property {number} renderer  version that has rendered it
 * @property {Attribution} attribution
 * @property {Condition} condition  checked when it is stored
 * @property {Representation} representation  whose entity tags `condition` has
 */

/** @typedef {'document' | 'api'} Representation  the page as HTML, or as JSON of the API */

/** 128 bits. */
export const randomSaveId = () => randomBytes(16).toString('base64url')

export const SAVE_ID_PATTERN = '^[A-Za-z0-9_-]{22}$'

/** What it needs in memory, roughly. @param {Pick<DeferredSave, 'change' | 'rendered'>} save @returns {number} bytes */
export const sizeOf = ({ change, rendered }) => change.contentBytes + rendered.html.length
