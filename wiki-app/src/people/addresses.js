export const MEMBERS_URL = '/edit/people'
export const MEMBER_URL = `${MEMBERS_URL}/person`
export const ACCOUNT_URL = '/edit/account'
export const AUDIT_URL = '/edit/audit'
/** Its secret is in no log (observe/request-log.js, nginx/conf). */
export const INVITATION_ROUTE = '/invitations/:secret'

/** A schema of its secret. */
export const LINK_SECRET = { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' }

/** @param {string} secret */
export const invitationUrl = (secret) => INVITATION_ROUTE.replace(':secret', secret)

/** @param {string} name */
export const memberUrl = (name) => `${MEMBER_URL}?${new URLSearchParams({ name })}`
