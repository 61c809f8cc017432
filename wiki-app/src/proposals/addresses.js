import { API_PREFIX } from '../views.js'

export const PROPOSALS_URL = '/edit/proposals'
export const PROPOSAL_ROUTE = '/edit/proposal/:id'

/** @param {unknown} id  of a proposal */
export const proposalUrl = (id) => `/edit/proposal/${id}`

/** As programs read it. @param {unknown} id  of a proposal */
export const proposalApiUrl = (id) => `${API_PREFIX}/proposals/${id}`

/** Of a proposal, in addresses and forms. */
export const ID_SCHEMA = { type: 'string', pattern: '^[0-9a-f]{24}$' }
