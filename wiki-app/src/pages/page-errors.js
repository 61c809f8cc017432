import createError from '@fastify/error'

export const PageMissing = createError('WIKI_PAGE_MISSING', 'There is no page named “%s”.', 404)

export const NameTaken = createError(
  'WIKI_NAME_TAKEN', 'The page cannot be called “%s”: that name has a page, or the history of a deleted one.', 409
)
