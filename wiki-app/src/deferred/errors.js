import createError from '@fastify/error'
import { retryAfter } from '../http/retry-after.js'

const BufferFull = createError(
  'WIKI_BUFFER_FULL',
  'Too many saves wait to be stored. Nothing was changed; try again in a moment.',
  503
)

export const bufferFull = () => retryAfter(new BufferFull())

export const SaveUnknown = createError(
  'WIKI_SAVE_UNKNOWN',
  'No save of “%s” with this id is known: it waits in another process of the wiki, or was lost with one, or its ' +
    'failure was too long ago.',
  404
)
