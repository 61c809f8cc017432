import fresh from 'fresh'

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
  const validators = { etag: `"${file.filename}"`, 'last-modified': file.uploadDate.toUTCString() }
  const policy = { ...validators, 'cache-control': FOR_EVER, 'content-security-policy': FILE_SECURITY }
  if (fresh(request.headers, validators)) return reply.headers(policy).code(304).send()
  const headers = { ...policy, 'content-type': file.metadata.type, 'content-disposition': disposition }
  const internalUrl = request.headers[OF_NGINX] === undefined ? null : files.internalUrl(file)
  if (internalUrl !== null && request.method === 'GET') return leaveToNginx(reply, headers, internalUrl)
  const body = request.method === 'HEAD' ? undefined : await files.read(file)
  return reply.headers({ ...headers, 'content-length': file.length }).send(body)
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
