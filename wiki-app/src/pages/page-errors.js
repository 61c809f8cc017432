import createError from '@fastify/error'

export const PageMissing = createError('WIKI_PAGE_MISSING', 'There is no page named “%s”.', 404)

export const NameTaken = createError(
  'WIKI_NAME_TAKEN', 'There is a page “%s” already, or the history of a deleted one. Choose another name.', 409
)
