import path from 'node:path'

/**
 * Varnish by its own rules: collapsing is its default, freshness by Cache-Control (its built-in VCL). Grace is what the origin allows and no more
 * (its default of 10 s would be staleness that nobody asked for). https://varnish-cache.org/docs/7.1/users-guide/vcl.html
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
    // No command line of its own (-T none), and no other user: the folder belongs to whoever started it.
    args: ['-F', '-j', 'none', '-T', 'none', '-n', path.join(directory, 'work'), '-a', `127.0.0.1:${port}`, '-f', vcl, '-s', `malloc,${memoryBytes}`]
  }
}
