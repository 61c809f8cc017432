import { DEFERRED_STRATEGIES } from '@stevec/wiki-app/strategy-names'

/** @typedef {import('../lab/settings.js').Settings} Settings */

/** Whether the wiki answers saves before it stores them. @param {Pick<Settings, 'write_strategy'>} settings */
export const isUnsafe = ({ write_strategy: strategy }) => DEFERRED_STRATEGIES.some((each) => each === strategy)

/** @param {Pick<Settings, 'write_strategy'>} settings @returns {number[]} of the answer to a save that was accepted */
export const acceptedStatuses = (settings) => isUnsafe(settings) ? [202] : [200, 201]

/**
 * Whether each request of a trial saves a page once: then what was acknowledged can be compared with the database.
 * @param {Pick<Settings, 'resource' | 'edit_ratio' | 'edit' | 'background_vus' | 'fault'>} settings
 */
export const isOnlySaves = ({ resource, edit_ratio: edits, edit, background_vus: background, fault }) =>
  resource === 'page' && edits === 1 && edit === 'post' && background === 0 && fault === null
