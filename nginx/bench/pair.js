import { mkdirSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { prepareRole } from '@stevec/nginx'
import { freePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'

const UP_MAX_MS = 60_000

/** @typedef {{port: number, pid: number, logFile: string}} Server */

/**
 * Starts the edge, with the settings of `stevec edge`, and a stock proxy_cache in front of the same origin.
 * @param {object} options
 * @param {string} options.directory
 * @param {http.RequestListener} options.answer  of the origin
 * @param {number} [options.maxSizeBytes]  of each cache; default 1 GiB
 * @param {number} [options.workers]  of each; default 1
 * @returns {Promise<{edge: Server & {purge: (body: object) => Promise<void>}, stock: Server, originPort: number,
 *   directory: string,
 *   stop: () => Promise<void>}>}
 */
export async function startPair ({ directory, answer, maxSizeBytes = 1024 ** 3, workers = 1 }) {
  const [originPort, edgePort, controlPort, stockPort] = await freePorts(4)
  const origin = http.createServer(answer)
  await new Promise((resolve) => origin.listen(originPort, '127.0.0.1', () => resolve(undefined)))
  /** @type {Awaited<ReturnType<typeof startProcess>>[]} */
  const processes = []
  const stop = async () => {
    for (const each of processes) await stopProcess(each)
    origin.close()
    origin.closeAllConnections()
  }
  /** @param {string} name @param {{command: string, args: string[]}} how */
  const start = async (name, { command, args }) => {
    const started = await startProcess({ name, command, args, logFile: path.join(directory, `${name}.log`) })
    processes.push(started)
    return started.pid
  }
  try {
    const binary = requireTool('nginx').path
    const [edgeHome, stockHome] = ['edge', 'stock'].map((name) => path.join(directory, name))
    for (const home of [edgeHome, stockHome]) mkdirSync(home)
    const prepared = await prepareRole({
      role: 'edge',
      port: edgePort,
      origin: { addresses: ['127.0.0.1'], port: originPort, host: '127.0.0.1', tls: false },
      controlPort,
      controlToken: 'bench',
      maxSizeBytes,
      warm: true,
      compression: true,
      workers
    }, { directory: edgeHome, binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' })
    const configuration = path.join(stockHome, 'nginx.conf')
    writeFileSync(configuration, stockConfiguration(stockHome, { port: stockPort, originPort, maxSizeBytes, workers }))
    const edge = {
      port: edgePort,
      pid: await start('edge', prepared),
      logFile: path.join(edgeHome, 'access.log'),
      purge: (/** @type {object} */ body) => purge(controlPort, body)
    }
    const stock = {
      port: stockPort,
      pid: await start('stock', { command: binary, args: ['-p', stockHome, '-c', configuration] }),
      logFile: path.join(stockHome, 'access.log')
    }
    for (const { port } of [edge, stock]) {
      const up = () => fetch(`http://127.0.0.1:${port}/warm`).then(({ ok }) => ok, () => false)
      if (!await waitUntil(up, UP_MAX_MS)) throw new Error(`nothing answers on port ${port}`)
    }
    return { edge, stock, originPort, directory, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** @param {number} controlPort @param {object} body */
async function purge (controlPort, body) {
  const answer = await fetch(`http://127.0.0.1:${controlPort}/client/v4/zones/any/purge_cache`, {
    method: 'POST', headers: { authorization: 'Bearer bench' }, body: JSON.stringify(body)
  })
  await answer.arrayBuffer()
  if (!answer.ok) throw new Error(`a purge was answered ${answer.status}`)
}

/**
 * The configuration of an ordinary proxy_cache, with a log of the same size.
 * @param {string} home @param {{port: number, originPort: number, maxSizeBytes: number, workers: number}} options
 */
function stockConfiguration (home, { port, originPort, maxSizeBytes, workers }) {
  return `pid ${home}/nginx.pid;
error_log ${home}/error.log warn;
daemon off;
worker_processes ${workers};
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 4096; }
http {
  log_format json escape=json '{"time_s":$msec,"host":"$host","method":"$request_method","uri":"$request_uri","status":$status,"cache_status":"$upstream_cache_status","sent_bytes":$body_bytes_sent,"duration_s":$request_time}';
  access_log ${home}/access.log json;
  client_body_temp_path ${home}/body; proxy_temp_path ${home}/proxy; fastcgi_temp_path ${home}/fastcgi; uwsgi_temp_path ${home}/uwsgi; scgi_temp_path ${home}/scgi;
  keepalive_requests 1000000;
  gzip on; gzip_proxied any; gzip_vary on;
  proxy_cache_path ${home}/cache levels=1:2 keys_zone=pages:16m max_size=${maxSizeBytes} use_temp_path=off;
  upstream origin { server 127.0.0.1:${originPort}; keepalive 64; keepalive_timeout 4s; }
  server {
    listen 127.0.0.1:${port};
    add_header CF-Cache-Status $upstream_cache_status always;
    location / {
      proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_cache pages; proxy_cache_lock on; proxy_cache_revalidate on;
      proxy_pass http://origin;
    }
  }
}
`
}
