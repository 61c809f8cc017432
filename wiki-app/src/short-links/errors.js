import createError from '@fastify/error'

export const ShortLinkMissing = createError('WIKI_SHORT_LINK_MISSING', 'There is no page at this short address.', 404)

export const ShortLinkTaken = createError(
  'WIKI_SHORT_LINK_TAKEN', 'The short address “%s” leads elsewhere already, and always will. Choose another one.', 409
)

export const TooManyShortLinks = createError(
  'WIKI_TOO_MANY_SHORT_LINKS',
  'The page has %s short addresses that people chose, and can have no more. Use one of them.',
  409
)
