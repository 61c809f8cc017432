import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { luaConfiguration } from '@stevec/nginx/lua-configuration'

const SCRIPT = fileURLToPath(new URL('edges.lua', import.meta.url))
const LUA = fileURLToPath(new URL('../../../nginx/lua', import.meta.url))

/** @import {Mutation} from './mutants.js' */

/**
 * Starts the edges' Lua, which goes on until `stop`.
 * @param {Pick<Mutation, 'file' | 'from' | 'to'>[]} mutations  of files of nginx/lua
 */
export function startEdges (mutations) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-simulation-'))
  const file = (/** @type {string} */ name) => path.join(directory, name)
  const binary = requireTool('nginx').path
  mkdirSync(file('temp'))
  writeFileSync(file('mutations.json'), JSON.stringify(mutations))
  writeFileSync(file('nginx.conf'), luaConfiguration({
    directory,
    modulesDirectory: nginxModulesDirectory(binary),
    code: `
    local file = assert(io.open("${file('mutations.json')}"))
    local mutations = require("cjson").decode(file:read("*a"))
    file:close()
    local done, why = xpcall(function() assert(loadfile("${SCRIPT}"))("${LUA}", mutations) end, debug.traceback)
    if not done then io.stderr:write(why) end
    os.exit(done and 0 or 1)`
  }))
  const child = spawn(binary, ['-p', directory, '-c', file('nginx.conf')], { stdio: ['pipe', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk) => { said += chunk })
  /** @type {{resolve: (answer: any) => void, reject: (error: Error) => void}[]} */
  const waiting = []
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.resolve(JSON.parse(line)))
  const ended = new Promise((resolve) => child.once('close', () => {
    for (const { reject } of waiting.splice(0)) reject(new Error(`the edges have ended: ${said}`))
    rmSync(directory, { recursive: true, force: true })
    resolve(undefined)
  }))
  return {
    /** @param {object} command  see edges.lua @returns {Promise<any>} */
    ask: (command) => new Promise((resolve, reject) => {
      waiting.push({ resolve, reject })
      child.stdin.write(`${JSON.stringify(command)}\n`)
    }),
    isBusy: () => waiting.length > 0,
    async stop () {
      child.stdin.end()
      await ended
    }
  }
}

/** @typedef {ReturnType<typeof startEdges>} Edges */
