import { choice, isThere, optional, text } from '../setting-readers.js'
import { LANGUAGES } from './languages.js'

/** @param {number} most  characters, on one line */
const isLine = (most) => (/** @type {string} */ given) =>
  given === given.trim() && given !== '' && [...given].length <= most && !/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]/u.test(given)

const NAME_MAX_CHARS = 60
const DESCRIPTION_MAX_CHARS = 300

/** How a wiki presents itself to its readers. */
export const SITE_SETTINGS = {
  WIKI_NAME: text(isLine(NAME_MAX_CHARS), {
    default: 'stevec',
    allowed: `a line of 1 to ${NAME_MAX_CHARS} characters, none of them invisible`,
    does: 'the name of the wiki: in titles, in the header, in feeds and mails'
  }),
  WIKI_DESCRIPTION: optional(text(isLine(DESCRIPTION_MAX_CHARS), {
    allowed: `a line of 1 to ${DESCRIPTION_MAX_CHARS} characters, none of them invisible`,
    shown: 'none',
    does: 'what the wiki is about: for search engines, and below the title of the home page'
  })),
  WIKI_LOGO: optional(text(isThere, {
    allowed: 'the path of an SVG, PNG or WebP file of at most 100 kB',
    shown: 'the one of stevec',
    does: 'an SVG, PNG or WebP file of at most 100 kB, for the header and as the icon; read at the start'
  })),
  WIKI_COLOUR: optional(text((given) => /^#[0-9a-f]{6}$/i.test(given), {
    allowed: 'a colour such as #1f6fae',
    shown: '#1f6fae',
    does: 'the colour of links and buttons; the wiki makes it darker or lighter where it could not be read'
  })),
  WIKI_LANGUAGE: choice(LANGUAGES, {
    default: 'en',
    does: 'the language of the interface and of search: `en` or `sl`, see below'
  })
}
