import { t } from '../language.js'
import { renderFor } from '../views.js'
import { isPrivate, SIGN_IN_URL } from './access.js'
import { NAME_MAX_CHARS } from './users.js'

/** Where else people sign in, and the address that begins it. @typedef {{label: string, url: string}} Elsewhere */

/**
 * @param {import('fastify').FastifyRequest} request
 * @param {{to: string, name?: string, refusal?: string, elsewhere?: Elsewhere, forgottenUrl?: string}} data  `refusal`:
 *   of an attempt before; `forgottenUrl`: where the wiki sends mail
 */
export const signInForm = (request, data) => renderFor(request, 'sign-in', {
  title: t('Sign in'),
  name: '',
  refusal: '',
  ...data,
  everybodyReads: !isPrivate(request.server),
  signInUrl: SIGN_IN_URL,
  nameMaxChars: NAME_MAX_CHARS
})
