import { isThere, optional, text } from '../setting-readers.js'
import { isMailAddress, parseSmtpUrl } from './address.js'

/** For the digest by mail, and links for new passwords. */
export const MAIL_SETTINGS = {
  SMTP_URL: optional(text((uri) => parseSmtpUrl(uri) !== null, {
    allowed: 'smtp[s]://[user:password@]host[:port], with %-escapes for special characters in user and password',
    shown: 'no mail',
    does: 'the server that sends digests and links for new passwords by mail, with `ACCESS=users` and `PUBLIC_URL`, ' +
      'see below',
    secret: true
  })),
  SMTP_URL_FILE: optional(text(isThere, {
    allowed: 'the path of a file that holds the address of the server for mail and nothing else',
    does: 'a file with it, instead'
  })),
  MAIL_FROM: optional(text(isMailAddress, {
    allowed: 'the mail address of the wiki, without a name: wiki@wiki.example',
    does: 'the sender of these mails'
  }))
}
