import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import createError from '@fastify/error'

const TooLarge = createError(
  'WIKI_UPLOAD_TOO_LARGE',
  'The file has more than %d bytes, which is the most that is taken at once. Send it in several parts.',
  413
)
const Interrupted = createError('WIKI_UPLOAD_INTERRUPTED', 'The file did not arrive as a whole. Send it again.', 400)

/**
 * Unlinked, so the system deletes the file when it is closed or the process ends.
 * @param {import('node:http').IncomingMessage} body @param {number} maxBytes
 * @returns {Promise<{file: import('node:fs/promises').FileHandle, bytes: number}>} the caller closes the file
 * @throws {Error} 400, 413
 */
export async function saveTemporarily (body, maxBytes) {
  if (Number(body.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const file = await openNameless()
  try {
    let bytes = 0
    // The response needs the stream's socket.
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      await file.writeFile(chunk)
    }
    return { file, bytes }
  } catch (error) {
    await file.close()
    throw body.readableAborted || body.destroyed ? new Interrupted() : error
  }
}

/** @param {number} maxBytes */
const tooLarge = (maxBytes) => Object.assign(new TooLarge(maxBytes), { headers: { connection: 'close' } })

async function openNameless () {
  const directory = await mkdtemp(path.join(tmpdir(), 'stevec-upload-'))
  try {
    return await open(path.join(directory, 'upload'), 'wx+', 0o600)
  } finally {
    await rm(directory, { recursive: true })
  }
}
