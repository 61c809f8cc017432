import { API_PREFIX } from '../views.js'

export const PROPOSALS_URL = '/edit/proposals'
export const PROPOSAL_ROUTE = '/edit/proposal/:id'

/** @param {unknown} id  of a proposal */
export const proposalUrl = (id) => `/edit/proposal/${id}`

/** As programs read it. @param {unknown} id  of a proposal */
export const proposalApiUrl = (id) => `${API_PREFIX}/proposals/${id}`

/** @param {string} id  as in addresses */
const ID = '^[0-9a-f]{24}$'
export const ID_SCHEMA = { type: 'string', pattern: ID }
