import { site } from '../site/site.js'

/** Line ends, other control characters, and those that turn the direction of what follows. */
const NOT_IN_A_LINE = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]+/gu

/** The wiki's name in mails; one that says nothing yet is no help in a mailbox. @param {string} host */
export const wikiOf = (host) => site().name === 'stevec' ? host : site().name

/** What somebody wrote, in a mail. @param {string} text */
export const oneLine = (text) => text.replace(NOT_IN_A_LINE, ' ')
