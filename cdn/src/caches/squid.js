import path from 'node:path'

/**
 * Squid as a reverse proxy with an in-memory cache. Collapsing is off by default; it is on here, as in the others.
 * Squid's own X-Cache reports MISS also for a request that waited for another request's fetch. X-Cache-Status therefore
 * reports whether the request went to the origin. Squid reports HIT after a 304 from the origin; its conditional
 * requests are made unconditional, so an expired page is a MISS.
 * http://www.squid-cache.org/Doc/config/
 * @type {import('./index.js').Configure}
 */
export function squid ({ directory, port, originPort, memoryBytes }) {
  const configuration = path.join(directory, 'squid.conf')
  return {
    files: {
      [configuration]: `http_port 127.0.0.1:${port} accel vhost defaultsite=wiki.localhost
cache_peer 127.0.0.1 parent ${originPort} 0 no-query no-digest originserver name=origin
http_access allow all
cache_mem ${memoryBytes} bytes
maximum_object_size_in_memory 8 MB
memory_cache_shared off
collapsed_forwarding on
acl asked hier_code FIRSTUP_PARENT
reply_header_add X-Cache-Status "MISS" asked
reply_header_add X-Cache-Status "HIT" !asked
request_header_access If-None-Match deny all
request_header_access If-Modified-Since deny all
access_log none
cache_store_log none
cache_log /dev/null
pid_filename none
pinger_enable off
coredump_dir /
shutdown_lifetime 0 seconds
`
    },
    args: ['-N', '-f', configuration]
  }
}
