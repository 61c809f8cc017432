import { spaceQuery } from '../protection/addresses.js'
import { API_PREFIX } from '../views.js'

export const PROPOSALS_URL = '/edit/proposals'
export const PROPOSAL_ROUTE = '/edit/proposal/:id'

/** @param {string} [space] @param {string} [after]  id of the last one seen */
export const proposalsUrl = (space, after) => PROPOSALS_URL + spaceQuery(space, after === undefined ? {} : { after })

/** @typedef {{_id: unknown, space?: string}} Addressed  a proposal */

/**
 * @param {Addressed} proposal @param {'publish' | 'decline' | 'withdraw'} [verb]
 * @param {Record<string, string>} [query]
 */
export const proposalUrl = ({ _id: id, space }, verb, query) =>
  `/edit/proposal/${id}${verb === undefined ? '' : `/${verb}`}${spaceQuery(space, query)}`

/** As programs read it. @param {Addressed} proposal */
export const proposalApiUrl = ({ _id: id, space }) => `${API_PREFIX}/proposals/${id}${spaceQuery(space)}`

/** Of a proposal, in addresses and forms. */
export const ID_SCHEMA = { type: 'string', pattern: '^[0-9a-f]{24}$' }
