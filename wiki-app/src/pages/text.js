import createError from '@fastify/error'

const NotText = createError('WIKI_NOT_TEXT', 'The text has half of a surrogate pair in it, which is no character.', 400)

/** JSON can express lone surrogates, UTF-8 cannot. @param {string} content @throws {Error} 400 */
export function markdownIn (content) {
  if (/\p{Cs}/u.test(content)) throw new NotText()
  return content
}
