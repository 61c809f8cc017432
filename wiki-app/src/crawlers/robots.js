/**
 * What crawlers are asked to leave alone: it shows no text that a page does not show, and there is far more of it. A
 * page has one address, but a history, a revision for each edit, and a difference for each pair of them.
 */
export const DISALLOWED = Object.freeze([
  '/api', '/care', '/dead-ends', '/difference/', '/digests/', '/edit/', '/feeds/', '/history/', '/invitations/',
  '/links/', '/orphaned', '/overdue', '/random', '/raw/', '/revision/', '/search', '/status', '/tree/', '/wanted',
  '/watching',
  // A link to each is on its page, but few are written.
  '/wiki/Talk:',
  // Later parts of lists, and the changes by one author: sitemap.xml has all pages.
  '/*?'
])

/** Of a wiki whose readers sign in. */
export const ROBOTS_OUT = 'User-agent: *\nDisallow: /\n'

/**
 * https://www.rfc-editor.org/rfc/rfc9309
 * @param {string} root  scheme and host; '' if they are not known: a sitemap needs them
 * @returns {string}
 */
export const robotsText = (root) => [
  '# Every page may be read. Its older texts are for people: there are too many of them.',
  'User-agent: *',
  ...DISALLOWED.map((path) => `Disallow: ${path}`),
  ...root === '' ? [] : ['', `Sitemap: ${root}/sitemap.xml`],
  ''
].join('\n')
