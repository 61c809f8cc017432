import path from 'node:path'

/**
 * Varnish with its own defaults: it collapses requests, and its built-in VCL takes freshness from Cache-Control.
 * Grace is only what the origin allows; Varnish's default of 10 s would serve stale pages without permission.
 * https://varnish-cache.org/docs/7.1/users-guide/vcl.html
 * @type {import('./index.js').Configure}
 */
export function varnish ({ directory, port, originPort, memoryBytes }) {
  const vcl = path.join(directory, 'stevec.vcl')
  return {
    files: {
      [vcl]: `vcl 4.1;
backend origin { .host = "127.0.0.1"; .port = "${originPort}"; }
sub vcl_backend_response {
  if (beresp.http.Cache-Control !~ "stale-while-revalidate") { set beresp.grace = 0s; }
}
sub vcl_hit { if (obj.ttl >= 0s) { set req.http.X-Found = "HIT"; } else { set req.http.X-Found = "UPDATING"; } }
sub vcl_miss { set req.http.X-Found = "MISS"; }
sub vcl_pass { set req.http.X-Found = "BYPASS"; }
sub vcl_pipe { set req.http.X-Found = "BYPASS"; }
sub vcl_deliver { set resp.http.X-Cache-Status = req.http.X-Found; }
`
    },
    // No management interface (-T none) and no change of user: the user who starts Varnish owns the folder.
    args: [
      '-F',
      '-j', 'none',
      '-T', 'none',
      '-n', path.join(directory, 'work'),
      '-a', `127.0.0.1:${port}`,
      '-f', vcl,
      '-s', `malloc,${memoryBytes}`
    ]
  }
}
