import path from 'node:path'

/**
 * Apache Traffic Server as a reverse proxy. Debian's build refuses to run as root. By default, each of several
 * simultaneous misses goes to the origin. Collapsing takes two settings: read while writer, and a reader that waits for
 * the writer's response header.
 * https://docs.trafficserver.apache.org/en/9.2.x/admin-guide/configuration/cache-basics.en.html
 * @type {import('./index.js').Configure}
 */
export function trafficserver ({ directory, port, originPort, memoryBytes }) {
  const at = (/** @type {string[]} */ ...parts) => path.join(directory, ...parts)
  const runroot = at('runroot.yaml')
  return {
    user: 'trafficserver',
    directories: ['etc', 'run', 'log', 'cache'].map((name) => at(name)),
    files: {
      [runroot]: `prefix: /usr
exec_prefix: /usr
bindir: /usr/bin
sbindir: /usr/sbin
sysconfdir: ${at('etc')}
datadir: /usr/share/trafficserver
includedir: /usr/include
libdir: /usr/lib/trafficserver
libexecdir: /usr/lib/trafficserver/modules
localstatedir: ${at('run')}
runtimedir: ${at('run')}
logdir: ${at('log')}
cachedir: ${at('cache')}
`,
      [at('etc/records.config')]: `CONFIG proxy.config.http.server_ports STRING ${port}:ip-in=127.0.0.1
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.crash_log_helper STRING NULL
CONFIG proxy.config.url_remap.pristine_host_hdr INT 1
CONFIG proxy.config.cache.ram_cache.size INT ${memoryBytes}
CONFIG proxy.config.http.wait_for_cache INT 2
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 2
CONFIG proxy.config.cache.enable_read_while_writer INT 1
CONFIG proxy.config.http.cache.open_write_fail_action INT 5
CONFIG proxy.config.http.cache.max_open_read_retries INT 500
CONFIG proxy.config.http.cache.open_read_retry_time INT 10
CONFIG proxy.config.http.background_fill_completed_threshold FLOAT 0.0
CONFIG proxy.config.http.background_fill_active_timeout INT 0
`,
      [at('etc/remap.config')]: `map / http://127.0.0.1:${originPort}/\n`,
      // Traffic Server has no cache without a disk; requested pages stay in memory.
      [at('etc/storage.config')]: `${at('cache')} ${memoryBytes}\n`,
      [at('etc/ip_allow.yaml')]: 'ip_allow:\n  - apply: in\n    ip_addrs: 127.0.0.1\n    action: allow\n' +
        '    methods: ALL\n',
      [at('etc/plugin.config')]: 'header_rewrite.so status.conf\n',
      // GET and HEAD only: for a write, it reports the cache lookup of the URL, although the origin responds.
      [at('etc/status.conf')]: 'cond %{SEND_RESPONSE_HDR_HOOK} [AND]\ncond %{METHOD} /^(GET|HEAD)$/\n' +
        'set-header X-Cache-Status "%{CACHE}"\n'
    },
    args: [`--run-root=${runroot}`]
  }
}
