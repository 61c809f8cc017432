import { createHash } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { pipeline } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import aws4 from 'aws4'

/** @import {IncomingMessage} from 'node:http' */
/** @import {Readable} from 'node:stream' */

const SOCKETS_MAX = 64
/** Of silence before the response begins, and within it: a slow client holds up the latter. */
const ANSWER_MAX_MS = 10_000
const PAUSE_MAX_MS = 60_000
const ATTEMPTS = 3
const RETRY_AFTER_MS = 100
/** A list of a thousand names is a few hundred kB. */
const TEXT_MAX_BYTES = 4_194_304

/**
 * @typedef {object} S3Options
 * @property {string} endpoint  http[s]://host[:port]
 * @property {string} bucket
 * @property {string} region
 * @property {string} keyId
 * @property {string} secret
 */

/** The store answered with an error. */
export class S3Error extends Error {
  /** @param {number} status @param {string} code  of S3, such as NoSuchBucket */
  constructor (status, code) {
    super(`the S3 store answers ${status} ${code}`)
    this.status = status
    this.code = code
  }
}

/** @typedef {{sha256: string, length: number, open: () => Readable}} Body  `open`: again for each attempt */

/**
 * Few requests of S3, signed with AWS Signature Version 4, with the bucket in the path.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
 * @param {S3Options} options
 */
export function createS3Client ({ endpoint, bucket, region, keyId, secret }) {
  const { protocol, hostname, port, host } = new URL(endpoint)
  const scheme = protocol === 'https:' ? https : http
  const agent = new scheme.Agent({ keepAlive: true, maxSockets: SOCKETS_MAX })
  const credentials = { accessKeyId: keyId, secretAccessKey: secret }

  /**
   * @param {string} method @param {string} path  of the object, with its query
   * @param {Body} [body]
   * @returns {Promise<IncomingMessage>} a response of success, its body unread
   */
  async function once (method, path, body) {
    const { headers, path: signedPath } = aws4.sign({
      service: 's3',
      region,
      method,
      host,
      path: `/${bucket}${path}`,
      headers: {
        host,
        'x-amz-content-sha256': body?.sha256 ?? EMPTY_SHA256,
        ...body && { 'content-length': String(body.length) }
      }
    }, credentials)
    const address = { host: hostname.replace(/^\[|\]$/g, ''), port: port || undefined }
    /** @type {IncomingMessage} */
    const response = await new Promise((resolve, reject) => {
      const request = scheme.request({
        ...address, method, path: signedPath, headers, agent, timeout: ANSWER_MAX_MS
      }, (response) => {
        request.setTimeout(PAUSE_MAX_MS)
        resolve(response)
      })
      request.on('error', reject)
      request.on('timeout', () => request.destroy(new Error('the S3 store does not answer')))
      if (body === undefined) request.end()
      else pipeline(body.open(), request, (error) => { if (error) reject(error) })
    })
    const { statusCode = 0 } = response
    if (statusCode >= 200 && statusCode < 300) return response
    const [, code = ''] = /<Code>([\w.]{1,80})<\/Code>/.exec(await textOf(response).catch(() => '')) ?? []
    throw new S3Error(statusCode, code)
  }

  return {
    /**
     * Again after an error that may pass: each request may be sent twice.
     * @param {string} method @param {string} path @param {Body} [body]
     * @returns {Promise<IncomingMessage>} @throws {Error} S3Error, or of the network
     */
    async request (method, path, body) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await once(method, path, body)
        } catch (error) {
          const mayPass = !(error instanceof S3Error) || error.status >= 500 || error.status === 429
          if (!mayPass || attempt === ATTEMPTS) throw error
          await sleep(RETRY_AFTER_MS * 2 ** attempt * (0.5 + Math.random()))
        }
      }
    },

    close () { agent.destroy() }
  }
}

/** @typedef {ReturnType<typeof createS3Client>} S3Client */

const EMPTY_SHA256 = createHash('sha256').digest('hex')

/** @param {Readable} stream @returns {Promise<string>} @throws {Error} when it is too long */
export async function textOf (stream) {
  /** @type {Buffer[]} */
  const pieces = []
  let length = 0
  for await (const piece of stream) {
    length += piece.length
    if (length > TEXT_MAX_BYTES) throw new Error('the S3 store answers with too much')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
