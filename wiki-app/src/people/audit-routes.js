import { roleName } from '../access/role-names.js'
import { t } from '../language.js'
import { readableTime } from '../readable.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { AUDIT_URL, MEMBERS_URL } from './addresses.js'

/** @import {Audit} from './audit.js' */
/** @import {Act} from './model.js' */

const SCHEMA = {
  querystring: {
    type: 'object',
    additionalProperties: false,
    properties: { before: { type: 'string', pattern: '^[0-9a-f]{24}$' } }
  }
}

/** @type {Record<string, (act: Act) => string>} */
const ACTS = {
  invited: ({ role }) => t('invited, as {{role}}:', { role: roleName(role) }),
  linked: () => t('made a link for a new password for'),
  role: ({ role }) => t('gave the role {{role}} to', { role: roleName(role) }),
  blocked: () => t('blocked'),
  unblocked: () => t('unblocked'),
  removed: () => t('removed'),
  // By the person, or by the wiki for the person.
  mailed: () => t('mailed a link for a new password to'),
  reset: () => t('chose a new password, with a mailed link, for'),
  // By the provider.
  admitted: ({ role }) => t('let in, as {{role}}:', { role: roleName(role) }),
  connected: () => t('was connected with'),
  protected: ({ role }) => role === 'admin' ? t('protected') : t('left open to all who write:'),
  'protected-below': ({ role }) => role === 'admin'
    ? t('protected, with its subpages,')
    : t('left open to all who write, with its subpages:'),
  reviewed: () => t('demanded a review of changes of'),
  'reviewed-below': () => t('demanded a review of changes, with its subpages, of'),
  published: () => t('published a proposal for'),
  'published-changed': () => t('changed and published a proposal for'),
  declined: () => t('declined a proposal for'),
  unprotected: () => t('ended the protection of'),
  'space-made': () => t('made the private space'),
  'space-removed': () => t('removed the private space'),
  granted: ({ role }) => t('gave a group the role {{role}} in the private space', { role: roleName(role) }),
  'grant-ended': () => t('ended the role of a group in the private space'),
  'group-made': () => t('made the group'),
  'group-removed': () => t('removed the group'),
  joined: () => t('added to a group:'),
  left: () => t('took out of a group:'),
  erased: ({ revisions }) => t('erased the revisions {{revisions}} of', { revisions: String(revisions) })
}

/**
 * What administrators did, and people that came from the provider.
 * @type {import('fastify').FastifyPluginAsync<{audit: Audit}>}
 */
export async function auditRoutes (app, { audit }) {
  app.get(AUDIT_URL, { config: { role: 'admin' }, schema: SCHEMA }, async (request, reply) => {
    const { before } = /** @type {{before?: string}} */ (request.query)
    const { items, next } = await audit.list(before)
    reply.header('cache-control', 'private, no-store')
    if (!wantsHtml(request)) {
      return { acts: items.map(({ _id, ...act }) => act), next }
    }
    return reply.type(HTML).send(renderFor(request, 'audit', {
      title: t('What administrators did'),
      items: items.map((act) => ({
        ...act, at: act.at.toISOString(), time: readableTime(act.at.toISOString()), words: ACTS[act.did](act)
      })),
      nextUrl: next && `${AUDIT_URL}?${new URLSearchParams({ before: next })}`,
      listUrl: MEMBERS_URL
    }))
  })
}
