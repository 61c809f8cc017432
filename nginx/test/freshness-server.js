import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { WAIT_MAX_MS } from './edge-helper.js'

const LUA = fileURLToPath(new URL('../lua', import.meta.url))

/** Runs the edge's own lua/freshness.lua and calls it over HTTP: the only Lua here is the one in nginx. */
export async function startFreshness () {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-freshness-'))
  const [port] = await freePorts(1)
  const { path: binary } = requireTool('nginx')
  const modules = nginxModulesDirectory(binary)
  mkdirSync(path.join(directory, 'temp'))
  const configuration = path.join(directory, 'nginx.conf')
  writeFileSync(configuration, `
${['ndk_http_module', 'ngx_http_lua_module'].map((name) => `load_module ${modules}/${name}.so;`).join('\n')}
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${directory}/nginx.pid; error_log ${directory}/error.log; daemon off; worker_processes 1; events {}
http {
  access_log off; client_max_body_size 50m; client_body_buffer_size 50m;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${directory}/temp/${name};`).join(' ')}
  lua_package_path "${LUA}/?.lua;;";
  server { listen 127.0.0.1:${port}; location / { content_by_lua_block {
    local cjson, freshness = require("cjson"), require("freshness")
    ngx.req.read_body()
    local results = {}
    for index, case in ipairs(cjson.decode(ngx.req.get_body_data())) do results[index] = freshness.judge(case.response, case.options) end
    ngx.print(cjson.encode(results))
  } } }
}`)
  const nginx = await startProcess({
    name: 'nginx freshness',
    command: binary,
    args: ['-p', directory, '-c', configuration],
    logFile: path.join(directory, 'nginx.log')
  })
  const url = `http://127.0.0.1:${port}/`
  const body = '[{"response":{"status":200,"fields":{},"requested_s":0,"received_s":0},"options":{}}]'
  const answers = () => fetch(url, { method: 'POST', body }).then((response) => response.ok, () => false)
  const up = await waitUntil(answers, WAIT_MAX_MS)
  const stop = async () => {
    await stopProcess(nginx)
    rmSync(directory, { recursive: true, force: true })
  }
  if (!up) {
    await stop()
    throw new Error('nginx did not start with freshness.lua')
  }
  return {
    /**
     * @param {object[]} cases
     * @returns {Promise<Record<string, any>[]>}
     */
    judge: async (cases) => /** @type {any} */ (
      await (await fetch(url, { method: 'POST', body: JSON.stringify(cases) })).json()
    ),
    stop
  }
}
