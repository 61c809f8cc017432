import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { luaConfiguration } from '@stevec/nginx/lua-configuration'

const LUA = fileURLToPath(new URL('../lua', import.meta.url))
const TIMEOUT_MS = 60_000
const { path: BINARY } = requireTool('nginx')
const MODULES = nginxModulesDirectory(BINARY)

/**
 * Runs the edge's Lua modules without a server. They see no `ngx`.
 * @param {string} code  the body of a function of `input` that returns a value
 * @param {unknown} input  any JSON value
 * @returns {any} what the code returned
 * @throws {Error} with the message of Lua
 */
export function runLua (code, input) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-lua-'))
  const file = (/** @type {string} */ name) => path.join(directory, name)
  try {
    mkdirSync(file('temp'))
    writeFileSync(file('input.json'), JSON.stringify(input))
    writeFileSync(file('nginx.conf'), luaConfiguration({
      directory,
      modulesDirectory: MODULES,
      path: `${LUA}/?.lua`,
      code: `
    ngx = nil
    local cjson = require("cjson")
    local function run(input)
      ${code}
    end
    local file = assert(io.open("${file('input.json')}"))
    local input = cjson.decode(file:read("*a"))
    file:close()
    local done, result = xpcall(function() return cjson.encode(run(input)) end, debug.traceback)
    if not done then
      io.stderr:write(result)
      os.exit(1)
    end
    file = assert(io.open("${file('output.json')}", "w"))
    file:write(result)
    file:close()
    os.exit(0)`
    }))
    const args = ['-p', directory, '-c', file('nginx.conf')]
    const { status, stderr } = spawnSync(BINARY, args, { encoding: 'utf8', timeout: TIMEOUT_MS })
    if (status !== 0) throw new Error(`Lua in nginx ended with ${status}: ${stderr}`)
    return JSON.parse(readFileSync(file('output.json'), 'utf8'))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
