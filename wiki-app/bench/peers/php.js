import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { locateTool } from '@stevec/harness/tools/locate'

const SERVER_DIRECTORIES = ['/usr/sbin', '/usr/local/sbin']
const CLI = '/usr/bin/php'
/** Debian's user for web servers: a benchmark that runs as root must not run other people's programs as root. */
const USER = 'www-data'

/** @returns {string | null} path of the newest installed php-fpm */
function findFpm () {
  const found = SERVER_DIRECTORIES
    .filter(existsSync)
    .flatMap((directory) => readdirSync(directory)
      .filter((file) => /^php-fpm[\d.]*$/.test(file))
      .map((file) => path.join(directory, file)))
  return found.sort().at(-1) ?? null
}

/** @returns {string | null} the program that is missing to run wikis in PHP */
export function lacksPhp () {
  if (findFpm() === null) return 'php-fpm'
  if (!existsSync(CLI)) return 'php-cli'
  return locateTool('nginx') === null ? 'nginx' : null
}

/**
 * @param {string[]} args
 * @param {string} [input]
 * @param {Record<string, string>} [env]
 * @throws {Error} with its output, when it fails
 */
export function php (args, input = '', env = {}) {
  const { status, stdout, stderr } = spawnSync(CLI, args, {
    encoding: 'utf8',
    input,
    env: { ...process.env, ...env },
    timeout: 300_000
  })
  if (status !== 0) throw new Error(`php ${args.join(' ')} failed:\n${stdout}${stderr}`)
}

/** Makes USER the owner of a directory that the wiki writes to. @param {string} directory */
export function handOver (directory) {
  if (process.getuid?.() === 0) spawnSync('chown', ['-R', `${USER}:`, directory])
}

/**
 * Starts a wiki in PHP as it is usually run: nginx in front of php-fpm, with Debian's default pool.
 * @param {ReturnType<typeof import('../servers.js').createServers>} servers
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.root  directory of its scripts
 * @param {string} options.home  directory that it may write to
 * @param {number} options.port
 * @param {string} options.readyPath
 * @param {string[]} options.pool  more lines of the pool's configuration
 */
export async function startPhp (servers, { name, root, home, port, readyPath, pool }) {
  const own = path.join(servers.directory, `${name}-servers`)
  const [socket, sessions] = [path.join(own, 'fpm.sock'), path.join(home, 'sessions')]
  for (const directory of [own, sessions]) mkdirSync(directory, { recursive: true })
  chmodSync(servers.directory, 0o711)
  handOver(home)
  const isRoot = process.getuid?.() === 0
  writeFileSync(path.join(own, 'fpm.conf'), fpmConfig({ socket, sessions, isRoot, pool }))
  writeFileSync(path.join(own, 'nginx.conf'), nginxConfig({ own, root, port, socket, isRoot }))
  const url = `http://127.0.0.1:${port}`
  const fpm = await servers.start({
    name: `${name}-fpm`,
    command: String(findFpm()),
    args: ['--nodaemonize', '--fpm-config', path.join(own, 'fpm.conf')],
    url,
    isReady: () => existsSync(socket)
  })
  const nginx = await servers.start({
    name: `${name}-nginx`,
    command: String(locateTool('nginx')?.path),
    args: ['-p', own, '-c', path.join(own, 'nginx.conf')],
    url,
    readyPath
  })
  return { url, pids: [fpm.pid, nginx.pid] }
}

/** @param {{socket: string, sessions: string, isRoot: boolean, pool: string[]}} options */
const fpmConfig = ({ socket, sessions, isRoot, pool }) => `[global]
error_log = /dev/stderr
[www]
${isRoot ? `user = ${USER}\ngroup = ${USER}` : ''}
listen = ${socket}
pm = dynamic
pm.max_children = 5
pm.start_servers = 2
pm.min_spare_servers = 1
pm.max_spare_servers = 3
php_admin_value[session.save_path] = ${sessions}
${pool.join('\n')}
`

/** @param {{own: string, root: string, port: number, socket: string, isRoot: boolean}} options */
const nginxConfig = ({ own, root, port, socket, isRoot }) => `${isRoot ? 'user root;' : ''}
pid ${own}/nginx.pid;
error_log stderr warn;
daemon off;
worker_processes auto;
events { worker_connections 1024; }
http {
  access_log off;
  default_type application/octet-stream;
  sendfile on;
  client_body_temp_path ${own}/body; proxy_temp_path ${own}/proxy; fastcgi_temp_path ${own}/fastcgi; uwsgi_temp_path ${own}/uwsgi; scgi_temp_path ${own}/scgi;
  server {
    listen 127.0.0.1:${port};
    root ${root};
    location ~ ^(.+\\.php)(/.*)?$ {
      fastcgi_pass unix:${socket};
      fastcgi_param SCRIPT_FILENAME $document_root$1;
      fastcgi_param SCRIPT_NAME $1;
      fastcgi_param PATH_INFO $2;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param REQUEST_URI $request_uri;
      fastcgi_param DOCUMENT_ROOT $document_root;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param SERVER_PROTOCOL $server_protocol;
      fastcgi_param SERVER_NAME 127.0.0.1;
      fastcgi_param SERVER_PORT ${port};
      fastcgi_param SERVER_ADDR 127.0.0.1;
      fastcgi_param REMOTE_ADDR $remote_addr;
    }
  }
}
`
