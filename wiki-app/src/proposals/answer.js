import { proposalApiUrl } from './addresses.js'

/** @import {FastifyReply} from 'fastify' */
/** @import {Proposal} from './model.js' */
/** @import {ProposalItem} from './proposals.js' */

/** For programs. @param {ProposalItem} proposal */
export const factsOf = ({
  _id: id, space, name, base_revision: baseRevision, author, summary, state, at, closed_at: closedAt,
  closed_by: closedBy, reason, revision
}) => ({
  id: String(id),
  url: proposalApiUrl({ _id: id, space }),
  name,
  base_revision: baseRevision,
  author,
  summary,
  state,
  proposed_at: at.toISOString(),
  closed_at: closedAt?.toISOString() ?? null,
  closed_by: closedBy ?? null,
  reason: reason ?? null,
  revision: revision ?? null
})

/** @param {Proposal} proposal  `tags` null: the page keeps its tags */
export const textOf = (proposal) => ({ ...factsOf(proposal), content: proposal.content, tags: proposal.tags })

/**
 * To a program whose text was not saved but proposed.
 * @param {FastifyReply} reply @param {Proposal} proposal
 */
export const sendProposed = (reply, proposal) => reply
  .code(202)
  .headers({ location: proposalApiUrl(proposal), 'cache-control': 'private, no-store' })
  .send(factsOf(proposal))
