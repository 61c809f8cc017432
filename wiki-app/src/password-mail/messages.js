import { t } from '../language.js'
import { confirmUrl } from '../digest/addresses.js'
import { oneLine, wikiOf } from '../mail/text.js'
import { ACCOUNT_URL, invitationUrl } from '../people/addresses.js'
import { FORGOTTEN_URL } from './addresses.js'

/** @import {Mail} from '../mail/mailer.js' */
/** @import {Member} from '../people/model.js' */

/**
 * Headers have nothing that a person wrote but the address, see mail/address.js.
 * @param {{root: string}} parts  `root`: scheme and host of the wiki
 */
export function createPasswordMessages ({ root }) {
  const { host } = new URL(root)
  /** @param {string} to @param {string} subject @param {string[]} lines @returns {Mail} */
  const mail = (to, subject, lines) => ({
    to, subject: `${wikiOf(host)}: ${subject}`, text: lines.flatMap((line) => [line, '']).join('\n')
  })
  /** @param {string} user */
  const of = (user) => ({ user: oneLine(user), wiki: wikiOf(host) })
  /** @param {Member} member  with an address */
  const addressOf = (member) => /** @type {NonNullable<Member['mail']>} */ (member.mail).address

  return {
    /** @param {Member} member @param {string} secret */
    link: (member, secret) => mail(addressOf(member), t('a link for a new password'), [
      t('Somebody asked for a new password for “{{user}}” in {{wiki}}.', of(member.name)),
      t('If that was you, open this link within an hour. It works once:'),
      root + invitationUrl(secret),
      t('If not, do nothing: your password stays as it is.')
    ]),

    /** @param {Member} member */
    changed: (member) => mail(addressOf(member), t('your password was changed'), [
      t('“{{user}}” has a new password in {{wiki}}. All browsers are signed out.', of(member.name)),
      t('If that was not you, ask for a link for another password, and remove tokens that you do not know:'),
      root + FORGOTTEN_URL,
      root + ACCOUNT_URL
    ]),

    /** @param {{address: string, user: string, secret: string}} wish */
    confirmation: ({ address, user, secret }) => mail(address, t('confirm your mail address'), [
      t('“{{user}}” in {{wiki}} wants to get a link for a new password at this address, if the old one is ' +
        'forgotten.',
      of(user)),
      t('If that is you, open this link within a day, and press the button there:'),
      root + confirmUrl(secret),
      t('If not, do nothing: no other mail comes.')
    ]),

    /** @param {{address: string, name: string, actor: string, path: string, lasts: string}} invitation */
    invitation: ({ address, name, actor, path, lasts }) => mail(address, t('an invitation'), [
      t('“{{actor}}” invites you to {{wiki}}, as “{{user}}”.', { ...of(name), actor: oneLine(actor) }),
      t('Open this link, and choose a password there. It lasts {{lasts}}, and works once:', { lasts }),
      root + path,
      t('If you know nothing of it, do nothing: no other mail comes.')
    ])
  }
}

/** @typedef {ReturnType<typeof createPasswordMessages>} PasswordMessages */
