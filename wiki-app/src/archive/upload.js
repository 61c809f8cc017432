import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import createError from '@fastify/error'
import { englishSize } from '../readable.js'

/** Of a zip, or of a folder's files together. */
export const IMPORT_MAX_BYTES = 268_435_456

const TooLarge = createError(
  'WIKI_UPLOAD_TOO_LARGE',
  'The file is larger than %s. Send it in several parts.',
  413
)
export const Interrupted = createError('WIKI_UPLOAD_INTERRUPTED',
  'The file did not arrive as a whole. Send it again.', 400)

/** @typedef {Awaited<ReturnType<typeof openTemporary>>} Temporary */

/**
 * Unlinked, so the system deletes the file when it is closed or the process ends.
 * @param {number} maxBytes
 */
export async function openTemporary (maxBytes) {
  const file = await openNameless()
  let bytes = 0
  return {
    file,
    size: () => bytes,
    /** @param {AsyncIterable<Buffer>} source @throws {Error} 413, and errors of `source` */
    async append (source) {
      for await (const chunk of source) {
        bytes += chunk.length
        if (bytes > maxBytes) throw tooLarge(maxBytes)
        await file.writeFile(chunk)
      }
    }
  }
}

/**
 * @param {import('node:http').IncomingMessage} body @param {number} maxBytes
 * @returns {Promise<Temporary>} the caller closes its file
 * @throws {Error} 400, 413
 */
export async function saveTemporarily (body, maxBytes) {
  refuseLonger(body, maxBytes)
  const temporary = await openTemporary(maxBytes)
  try {
    // The response needs the stream's socket.
    await temporary.append(body.iterator({ destroyOnReturn: false }))
    return temporary
  } catch (error) {
    await temporary.file.close()
    throw body.readableAborted || body.destroyed ? new Interrupted() : error
  }
}

/** @param {import('node:http').IncomingMessage} body @param {number} maxBytes @throws {Error} 413 */
export function refuseLonger ({ headers }, maxBytes) {
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

/** @param {number} maxBytes */
const tooLarge = (maxBytes) => Object.assign(new TooLarge(englishSize(maxBytes)), { headers: { connection: 'close' } })

async function openNameless () {
  const directory = await mkdtemp(path.join(tmpdir(), 'stevec-upload-'))
  try {
    return await open(path.join(directory, 'upload'), 'wx+', 0o600)
  } finally {
    await rm(directory, { recursive: true })
  }
}
