import createError from '@fastify/error'

const NotText = createError('WIKI_NOT_TEXT',
  'The text contains half of a character (a lone UTF-16 surrogate). Remove it.', 400)

/** JSON can express lone surrogates, UTF-8 cannot. @param {string} content @throws {Error} 400 */
export function markdownIn (content) {
  if (/\p{Cs}/u.test(content)) throw new NotText()
  return content
}
