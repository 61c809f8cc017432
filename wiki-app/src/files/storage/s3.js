import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import mongoose from 'mongoose'
import { ConfigError } from '../../config-error.js'
import { createS3Client, S3Error, textOf } from './s3-client.js'
import { BytesMissing, fileNameOf, partsOf, storageAway } from './storage.js'

/** @import {S3Client, S3Options} from './s3-client.js' */
/** @import {Key, Storage} from './storage.js' */

const OWNER = '/stevec-pictures-owner'
/** Answers that time does not change: wrong keys, no such bucket. */
const LASTING = new Set([301, 400, 401, 403, 404])

/**
 * Objects in a bucket of any store that speaks S3.
 * @param {S3Options} options @param {boolean} isApart  of private spaces
 * @returns {Storage}
 */
export function createS3Storage (options, isApart) {
  const client = createS3Client(options)
  const pathOf = (/** @type {Key} */ key) => `/${fileNameOf(key, isApart)}`

  /** @param {Parameters<S3Client['request']>} request @returns {ReturnType<S3Client['request']>} @throws {Error} 503 */
  const send = (...request) => client.request(...request).catch((error) => {
    throw error instanceof S3Error && error.status === 404 ? error : storageAway(error)
  })

  return {
    name: 's3',
    isApart,

    async put (id, bytes, nameAtEnd) {
      const draft = await spool(bytes)
      try {
        const { sha256, length, file } = draft
        const body = { sha256, length, open: () => createReadStream(file) }
        await drained(await send('PUT', pathOf({ id, name: nameAtEnd() }), body))
      } finally {
        await draft.remove()
      }
    },

    async read (key, length) {
      const response = await send('GET', pathOf(key)).catch((error) => {
        throw error instanceof S3Error ? new BytesMissing('the bucket') : error
      })
      const found = Number(response.headers['content-length'])
      if (found === length) return response
      response.destroy()
      throw new BytesMissing(`the bucket: ${found} of ${length} bytes`)
    },

    async remove ({ id, name }) {
      if (name === null) return
      await send('DELETE', pathOf({ id, name })).then(drained, (error) => {
        if (!(error instanceof S3Error)) throw error
      })
    },

    async * list () {
      for (let token = ''; ;) {
        const query = token === '' ? '' : `&continuation-token=${encodeURIComponent(token)}`
        const page = await textOf(await send('GET', `/?list-type=2${query}`))
        for (const [, file] of page.matchAll(/<Key>([^<]*)<\/Key>/g)) {
          const parts = partsOf(file, isApart)
          if (parts !== null) yield { name: parts.name, id: new mongoose.Types.ObjectId(parts.id) }
        }
        token = unescaped(/<NextContinuationToken>([^<]*)</.exec(page)?.[1] ?? '')
        if (token === '' || !/<IsTruncated>true</.test(page)) return
      }
    },

    internalUrl: () => null,
    ...placeOf(client, send, options),
    close: client.close
  }
}

/**
 * @param {S3Client} client @param {S3Client['request']} send  rejects with 503 where time may help
 * @param {S3Options} options
 * @returns {Pick<Storage, 'check' | 'readOwner' | 'writeOwner'>}
 */
function placeOf (client, send, { bucket, endpoint }) {
  return {
    async check () {
      await client.request('GET', '/?list-type=2&max-keys=1').then(drained, (error) => {
        // A store that is away now may be back before the first picture.
        if (!(error instanceof S3Error) || !LASTING.has(error.status)) return
        throw new ConfigError(`PICTURE_S3_BUCKET=${bucket} at PICTURE_S3_ENDPOINT=${endpoint} cannot ` +
          `be used: ${error.message}; make the bucket, and check PICTURE_S3_KEY_ID, PICTURE_S3_SECRET and ` +
          'PICTURE_S3_REGION')
      })
    },

    readOwner: () => send('GET', OWNER).then(textOf).then((text) => text.trim(), (error) => {
      if (error instanceof S3Error) return null
      throw error
    }),

    async writeOwner (owner) {
      const bytes = Buffer.from(`${owner}\n`)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const body = { sha256, length: bytes.length, open: () => Readable.from([bytes]) }
      await drained(await send('PUT', OWNER, body))
    }
  }
}

/**
 * S3 wants the length and the hash first. On disk, as sixteen large uploads may not fit into a small machine's memory.
 * @param {AsyncIterable<Buffer>} bytes
 */
async function spool (bytes) {
  const folder = await mkdtemp(path.join(tmpdir(), 'stevec-picture-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const file = path.join(folder, 'picture')
  try {
    const handle = await open(file, 'wx', 0o600)
    const hash = createHash('sha256')
    let length = 0
    try {
      for await (const piece of bytes) {
        hash.update(piece)
        length += piece.length
        await handle.writeFile(piece)
      }
    } finally {
      await handle.close()
    }
    return { file, length, sha256: hash.digest('hex'), remove }
  } catch (error) {
    await remove()
    throw /** @type {any} */ (error)?.syscall === undefined ? error : storageAway(error)
  }
}

/** Frees the connection. @param {Readable} response */
async function drained (response) {
  await textOf(response)
}

/** Of XML. @param {string} text */
const unescaped = (text) => text.replace(/&(amp|lt|gt|quot|apos|#39);/g, (_, name) =>
  ({ amp: '&', lt: '<', gt: '>', quot: '"' })[/** @type {string} */ (name)] ?? '\'')
