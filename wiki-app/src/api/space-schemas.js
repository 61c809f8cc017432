import { ROLES } from '../access/roles.js'
import { inPath, NAME, otherwise, strict, withOptional } from './schemas.js'

/** @import {Other} from './schemas.js' */

export const OF_SPACES = { tags: ['spaces'], security: [{ token: [] }] }

const GROUP_NAME = { type: 'string', description: 'Capitals do not count.' }
export const ROLE = { type: 'string', enum: ROLES }

export const SPACE_SCHEMAS = Object.entries({
  Space: withOptional({
    grants: {
      type: 'array',
      description: 'Which groups have which role there. For those that may change it.',
      items: strict({ group: GROUP_NAME, role: ROLE })
    }
  }, {
    name: { ...NAME, description: 'The space has the page of this name, all below it, and their talk pages.' },
    role: { ...ROLE, description: 'Yours in the space.' },
    state: {
      type: 'string',
      enum: ['opening', 'open', 'closing'],
      description: 'Only where it is open, pages are written.'
    }
  }),
  Group: strict({ name: GROUP_NAME, members: { type: 'integer', description: 'How many people are in it.' } }),
  Member: strict({ name: { type: 'string' } })
}).map(([$id, schema]) => ({ $id, ...schema }))

/** @param {string} example */
const spaceName = (example) => ({
  type: 'string',
  description: 'The space’s name as one percent-encoded segment: `Work%2FTeam` for Work/Team.',
  examples: [example]
})
/** @param {string} example */
export const groupName = (example) => ({ ...GROUP_NAME, examples: [example] })

/** @param {string} example @param {Record<string, object>} [others] */
export const ofSpace = (example, others = {}) => inPath({ name: spaceName(example), ...others })

export const DONE = { 204: { description: 'It is so now', type: 'null' } }

/** @param {object} answered @param {...Other} statuses  besides those that any such request can get */
export const reading = (answered, ...statuses) => ({ 200: answered, ...otherwise(401, 403, ...statuses) })
