import { personIn } from '../access/access.js'
import { t } from '../language.js'
import { currentRevision } from '../pages/head.js'
import { differenceUrl, editUrl, revisionUrl, viewUrl } from '../pages/name.js'
import { SPACE } from '../protection/addresses.js'
import { readableTime } from '../readable.js'
import { spacePagesUrl } from '../spaces/addresses.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { showConflict } from '../writing/save-route.js'
import { ID_SCHEMA, PROPOSAL_ROUTE, PROPOSALS_URL, proposalsUrl, proposalUrl } from './addresses.js'
import { factsOf, textOf } from './answer.js'
import { ProposalConflict } from './errors.js'
import { declined, DECLINE_PROPERTIES } from './reason.js'

/** @import {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Person} from '../access/access.js' */
/** @import {Context} from '../writing/edit-routes.js' */
/** @import {Proposal} from './model.js' */
/** @import {ProposalItem, Proposals} from './proposals.js' */

const ITEMS_PER_PART = 50
const BODY_MAX_BYTES = 16_384
const LIST_SCHEMA = {
  querystring: { type: 'object', additionalProperties: false, properties: { after: ID_SCHEMA, space: SPACE } }
}
const params = { type: 'object', properties: { id: ID_SCHEMA } }
const DECLINE_SCHEMA = {
  params,
  body: { type: 'object', required: ['reason'], additionalProperties: false, properties: DECLINE_PROPERTIES }
}

/** Where a route demands a role and the wiki knows people by name. @param {FastifyRequest} request */
const knownIn = (request) => /** @type {Person} */ (personIn(request))

/** @param {FastifyRequest} request */
const idIn = ({ params }) => /** @type {{id: string}} */ (params).id

/** @typedef {Context & {proposals: Proposals}} OfProposals */

/** What waits for a review. @param {FastifyInstance} app @param {OfProposals} context */
export function addProposals (app, context) {
  const { proposals, proposing, leave } = context
  // The query may name a private space.
  const placed = { placed: true }
  const config = { role: 'admin', ...placed }

  app.get(PROPOSALS_URL, { config: placed, schema: LIST_SCHEMA }, async (request, reply) => {
    const person = knownIn(request)
    const { after } = /** @type {{after?: string}} */ (request.query)
    const { items, more } = await proposals.list(person, { after, limit: ITEMS_PER_PART })
    const next = more ? String(items[items.length - 1]._id) : null
    if (!wantsHtml(request)) return { proposals: items.map(factsOf), next }
    return reply.type(HTML).send(renderFor(request, 'proposals', {
      title: titleOf(person),
      isAdmin: person.role === 'admin',
      isFirst: after === undefined,
      items: items.map(shown),
      pagesUrl: person.space && spacePagesUrl(person.space),
      nextUrl: next && proposalsUrl(person.space, next)
    }))
  })

  const reading = { config: { costly: 'difference', ...placed }, schema: { params } }
  app.get(PROPOSAL_ROUTE, reading, async (request, reply) => {
    const found = await proposals.find(idIn(request), knownIn(request))
    if (!wantsHtml(request)) return textOf(found)
    return reply.type(HTML).send(renderFor(request, 'proposal', await documentOf(context, found, knownIn(request))))
  })

  app.post(`${PROPOSAL_ROUTE}/publish`, { config, schema: { params } }, async (request, reply) => {
    const found = await proposals.find(idIn(request), knownIn(request))
    const result = await proposing.publish(found, knownIn(request))
    if ('conflict' in result) return sendConflict(context, { found, ...result }, request, reply)
    if (!('revision' in result)) throw new ProposalConflict()
    const { name } = found
    reply.header('page-revision', result.revision)
    if (wantsHtml(request)) return leave(reply, `${viewUrl(name)}?saved=${result.revision}`, name)
    return { name, revision: result.revision }
  })

  const declining = { config, schema: DECLINE_SCHEMA, bodyLimit: BODY_MAX_BYTES }
  app.post(`${PROPOSAL_ROUTE}/decline`, declining, async (request, reply) => {
    await proposals.decline(idIn(request), knownIn(request), declined(request.body))
    return wantsHtml(request) ? reply.redirect(proposalsUrl(knownIn(request).space), 303) : reply.code(204).send()
  })

  app.post(`${PROPOSAL_ROUTE}/withdraw`, { config: placed, schema: { params } }, async (request, reply) => {
    const withdrawn = await proposals.withdraw(idIn(request), knownIn(request))
    return wantsHtml(request) ? reply.redirect(proposalUrl(withdrawn), 303) : reply.code(204).send()
  })
}

/** @param {Person} person */
function titleOf ({ role, space }) {
  if (space === undefined) return role === 'admin' ? t('Proposals that wait for a review') : t('Your proposals')
  return role === 'admin'
    ? t('Proposals that wait for a review in the private space “{{name}}”', { name: space })
    : t('Your proposals in the private space “{{name}}”', { name: space })
}

/**
 * Both texts, in the editor: saving it publishes the proposal.
 * @param {OfProposals} context @param {{found: Proposal, conflict: import('../writing/merge-save.js').Conflict}} both
 * @param {FastifyRequest} request @param {FastifyReply} reply
 */
function sendConflict (context, { found, conflict }, request, reply) {
  if (!wantsHtml(request)) throw new ProposalConflict()
  const { _id: id, name, base_revision: baseRevision, content, tags, summary } = found
  const typed = { proposal: String(id), baseRevision, content, tags: (tags ?? []).join(', '), summary }
  return showConflict(context, { name, typed, conflict }, request, reply)
}

/**
 * With what would change in the page as it is now.
 * @param {OfProposals} context @param {Proposal} found @param {Person} person
 */
async function documentOf ({ store, oldRevisions }, found, person) {
  const { name, content, tags, base_revision: base } = found
  const page = await store.findSource(name)
  const movedTo = page === null ? await store.findRedirect(name) : null
  const now = currentRevision(page)
  return {
    title: t('Proposal for “{{name}}”', { name }),
    ...shown(found),
    isOpen: found.state === 'open',
    isMine: found.author === person.name,
    isAdmin: person.role === 'admin',
    hasText: content !== '',
    baseUrl: base > 0 ? revisionUrl(name, base) : null,
    base,
    hasChanged: now !== base && now > 0,
    isGone: now === 0 && base > 0 && movedTo === null,
    movedTo,
    movedUrl: movedTo && viewUrl(movedTo),
    now,
    tags: tags && tags.join() !== (page?.tags ?? []).join() ? { now: page?.tags ?? [], proposed: tags } : null,
    // The rest of the page works even if the comparison fails.
    difference: content === '' ? null : await oldRevisions.compare(page?.content ?? '', content).catch(() => null),
    editUrl: `${editUrl(name)}?${new URLSearchParams({ proposal: String(found._id) })}`,
    listUrl: proposalsUrl(found.space)
  }
}

/** @param {ProposalItem} proposal */
const shown = (proposal) => {
  const { space, name, at, closed_at: closedAt, base_revision: base, revision, replaced_by: replacedBy } = proposal
  return {
    ...factsOf(proposal),
    url: proposalUrl(proposal),
    publishUrl: proposalUrl(proposal, 'publish'),
    declineUrl: proposalUrl(proposal, 'decline'),
    withdrawUrl: proposalUrl(proposal, 'withdraw'),
    viewUrl: viewUrl(name),
    time: readableTime(at.toISOString()),
    closedTime: closedAt && readableTime(closedAt.toISOString()),
    stateName: stateName(proposal),
    outcomeUrl: revision === undefined
      ? null
      : base > 0 ? differenceUrl(name, base, revision) : revisionUrl(name, revision),
    replacedUrl: replacedBy && proposalUrl({ _id: replacedBy, space })
  }
}

/** @param {Pick<Proposal, 'state' | 'replaced_by'>} proposal @returns {string} */
function stateName ({ state, replaced_by: replacedBy }) {
  if (replacedBy) return t('proposed again')
  return { open: t('open'), published: t('published'), declined: t('declined'), withdrawn: t('withdrawn') }[state]
}
