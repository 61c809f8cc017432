import createError from '@fastify/error'

export const OPEN_MAX = 1_000
export const OPEN_OF_PERSON_MAX = 20

export const ProposalMissing = createError(
  'WIKI_PROPOSAL_MISSING',
  'There is no such proposal of yours. It may be too old: closed ones are kept for 90 days. ' +
    'See the list at %s.',
  404
)
export const ProposalClosed = createError(
  'WIKI_PROPOSAL_CLOSED', 'Nothing was changed: this proposal was %s already. Load it again to see what became of it.',
  409
)
export const ProposalElsewhere = createError(
  'WIKI_PROPOSAL_ELSEWHERE',
  'Nothing was saved: this form is of a proposal for the page “%s”. Copy your text, then see %s.',
  409
)
export const ProposalConflict = createError(
  'WIKI_PROPOSAL_CONFLICT',
  'Nothing was published: the page has changed in the same places since, or is gone. ' +
    'Publish the proposal in the browser, which shows both texts.',
  409
)
export const TooManyProposals = createError(
  'WIKI_TOO_MANY_PROPOSALS',
  `This was not proposed: ${OPEN_MAX} proposals wait for a review already. ` +
    'Keep your text, ask an administrator to look at them, then save again.',
  409
)
export const TooManyOfYours = createError(
  'WIKI_TOO_MANY_PROPOSALS',
  `This was not proposed: ${OPEN_OF_PERSON_MAX} of your proposals wait for a review already. ` +
    'Withdraw one at %s, then save again.',
  409
)
