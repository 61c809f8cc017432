import { mkdirSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { prepareRole } from '@stevec/nginx'
import { readConfig, ROOT } from '../config.js'
import { request } from '../stack/doors.js'
import { isAlive, logTail, startProcess, waitUntil } from '../stack/processes.js'
import { requireTool } from '../tools/locate.js'
import { sampleProcesses } from './process-samples.js'

const READY_TIMEOUT_MS = 60_000

/**
 * The wiki and its nginx as processes of this machine.
 * @returns {import('./origin.js').Origin}
 */
export function createLocalOrigin () {
  const facts = { kind: /** @type {const} */ ('local'), emulated: false, machine: null, kernel: `${os.type()} ${os.release()} ${os.arch()}`, cores: os.availableParallelism(), memory_bytes: os.totalmem(), image_sha256: null }
  /** @type {import('../stack/processes.js').ProcessIdentity[]} */
  let running = []
  return {
    facts,
    record: () => ({ facts, ssh: null, booted: false }),
    async start ({ directory, mongodbUri, wikiPort, nginxPort, wikiEnvironment, outlive, cgroups, onStart, onPart }) {
      running = []
      const started = (/** @type {import('../stack/processes.js').ProcessIdentity} */ identity) => {
        running.push(identity)
        onStart(identity)
      }
      onPart('wiki')
      await startWiki({ mongodbUri, wikiPort, directory, outlive, cgroups, wikiEnvironment, onStart: started })
      const prepared = await prepareRole({ role: 'origin', port: nginxPort, wikiPort }, { directory: path.join(directory, 'origin'), binary: requireTool('nginx').path, modulesDirectory: '' })
      started(await startProcess({ name: 'nginx origin', command: prepared.command, args: prepared.args, logFile: path.join(directory, 'nginx-origin.log'), outlive, cgroups }))
      return { address: `127.0.0.1:${nginxPort}`, configHash: prepared.sha256 }
    },
    async fetchLog () {},
    sample: (onSample) => sampleProcesses(running, onSample),
    async close () {}
  }
}

/**
 * @param {Pick<import('./origin.js').OriginStart, 'mongodbUri' | 'wikiPort' | 'directory' | 'outlive' | 'cgroups' | 'wikiEnvironment' | 'onStart'>} options
 */
async function startWiki ({ mongodbUri, wikiPort, directory, outlive, cgroups, wikiEnvironment, onStart }) {
  const logFile = path.join(directory, 'wiki.log')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const wiki = await startProcess({
    name: 'wiki',
    command: process.execPath,
    args: [path.join(ROOT, 'wiki-app/src/server.js')],
    logFile,
    outlive,
    cgroups,
    env: { ...readConfig().childEnvironment, NODE_ENV: 'production', ...wikiEnvironment, HOST: '127.0.0.1', PORT: String(wikiPort), MONGODB_URI: mongodbUri }
  })
  onStart(wiki)
  const isReady = () => request(`http://127.0.0.1:${wikiPort}/readyz`, { timeoutMs: 2_000 }).then(({ status }) => status === 200, () => false)
  const ready = await waitUntil(async () => !isAlive(wiki) || await isReady(), READY_TIMEOUT_MS, 50)
  if (!ready || !isAlive(wiki)) throw new Error(`the wiki did not become ready on port ${wikiPort}:\n${logTail(logFile) || `(its log ${logFile} is empty)`}`)
}
