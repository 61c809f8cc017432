import createError from '@fastify/error'
import { retryAfter } from '../http/retry-after.js'

const BufferFull = createError(
  'WIKI_BUFFER_FULL',
  'Too many saves wait to be stored. Nothing was changed; try again in a moment.',
  503
)
const RedisNeeded = createError(
  'WIKI_REDIS_AWAY',
  'Redis, where saves wait to be stored, cannot take one just now. Nothing was changed; try again in a moment.',
  503
)
const NotTaken = createError(
  'WIKI_NOT_TAKEN',
  'Redis, where saves wait to be stored, did not answer in time. Your save may be made all the same; look at the ' +
    'page before you try again.',
  503
)
const StatusUnknown = createError(
  'WIKI_STATUS_UNKNOWN', 'Redis, where saves wait to be stored, does not answer. Try again in a moment.', 503
)

export const bufferFull = () => retryAfter(new BufferFull())
export const redisNeeded = () => retryAfter(new RedisNeeded())
export const notTaken = () => retryAfter(new NotTaken())
export const statusUnknown = () => retryAfter(new StatusUnknown())

export const SaveUnknown = createError(
  'WIKI_SAVE_UNKNOWN',
  'No save of “%s” with this id is known: it waits in another process of the wiki, or was lost with one or with ' +
    'Redis, or its failure was too long ago.',
  404
)

/** @see createDeferredLinks */
export const ShortLinkFailed = createError(
  'WIKI_SHORT_LINK_FAILED', 'There is no page at this short address: it was answered, and could not be made. %s', 404
)
