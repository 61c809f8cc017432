import fresh from 'fresh'
import { urlOf } from './store.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */
/** @import {StoredFile} from './model.js' */
/** @import {FileStore} from './store.js' */

/** RFC 8246 */
const FOR_EVER = 'public, max-age=31536000, immutable'
/** It loads and runs nothing, whatever a browser takes it for. */
const FILE_SECURITY = "default-src 'none'; sandbox"

/** nginx/conf/pictures.conf sets it on each request, so that no client can. */
const OF_NGINX = 'x-picture-files'

/**
 * @param {FastifyRequest} request @param {FastifyReply} reply @param {StoredFile} file
 * @param {{disposition: string, files: FileStore}} options  `disposition`: the header Content-Disposition
 */
export async function sendFile (request, reply, file, { disposition, files }) {
  const { validators, policy } = headersOf(file, file.filename)
  if (fresh(request.headers, validators)) return reply.headers(policy).code(304).send()
  const headers = { ...policy, 'content-type': file.metadata.type, 'content-disposition': disposition }
  const internalUrl = request.headers[OF_NGINX] === undefined ? null : files.internalUrl(file)
  if (internalUrl !== null && request.method === 'GET') return leaveToNginx(reply, headers, internalUrl)
  const body = request.method === 'HEAD' ? undefined : await files.read(file)
  return reply.headers({ ...headers, 'content-length': file.length }).send(body)
}

/**
 * The small version of a picture, or as long as there is none the way to the picture.
 * @param {FastifyRequest} request @param {FastifyReply} reply @param {StoredFile} file
 * @param {{files: FileStore}} options
 */
export async function sendThumbnail (request, reply, file, { files }) {
  const { validators, policy } = headersOf(file, `${file.filename}-thumbnail`)
  const data = await files.thumbnail(file)
  if (data === null) return reply.header('cache-control', 'no-store').redirect(urlOf(file), 302)
  if (fresh(request.headers, validators)) return reply.headers(policy).code(304).send()
  const headers = { ...policy, 'content-type': 'image/webp', 'content-disposition': 'inline' }
  return reply.headers({ ...headers, 'content-length': data.length })
    .send(request.method === 'HEAD' ? undefined : data)
}

/** @param {StoredFile} file @param {string} tag  of the representation, RFC 9110 section 8.8.3 */
function headersOf (file, tag) {
  const validators = { etag: `"${tag}"`, 'last-modified': file.uploadDate.toUTCString() }
  return {
    validators,
    policy: { ...validators, 'cache-control': FOR_EVER, 'content-security-policy': FILE_SECURITY }
  }
}

/**
 * nginx sends the file, and ranges of it. Of this response's headers it keeps few, and those also for a file that is
 * not there; nginx/conf/pictures.conf takes the others from it.
 * https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_ignore_headers
 * @param {FastifyReply} reply @param {Record<string, string>} headers @param {string} internalUrl
 */
function leaveToNginx (reply, { 'cache-control': cacheControl, ...headers }, internalUrl) {
  return reply
    .headers({ ...headers, 'x-accel-redirect': internalUrl, 'x-picture-cache-control': cacheControl })
    .send()
}
