import { mkdirSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { prepareRole } from '@stevec/nginx'
import { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } from '@stevec/wiki-app/start'
import { readConfig } from '../../config.js'
import { request } from '@stevec/harness/request'
import { isAlive, killGroup, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { requireTool } from '@stevec/harness/tools/locate'
import { OriginError } from './origin-error.js'
import { sampleProcesses } from './process-samples.js'

const READY_TIMEOUT_MS = 60_000

/** @typedef {import('@stevec/harness/processes').ProcessIdentity} ProcessIdentity */

/**
 * Runs the wiki and its nginx as processes of this machine.
 * @returns {import('./origin.js').Origin}
 */
export function createLocalOrigin () {
  const facts = {
    kind: /** @type {const} */ ('local'),
    emulated: false,
    machine: null,
    kernel: `${os.type()} ${os.release()} ${os.arch()}`,
    cores: os.availableParallelism(),
    memory_bytes: os.totalmem(),
    image_sha256: null
  }
  /** @type {{wiki: ProcessIdentity | null, nginx: ProcessIdentity | null}} */
  const running = { wiki: null, nginx: null }
  /** Of the last start. @type {import('./origin.js').OriginStart} */
  let options
  /** @type {{command: string, args: string[]}} */
  let prepared

  /** @param {import('./origin.js').WikiEnvironment} wikiEnvironment */
  async function startWiki (wikiEnvironment) {
    const { directory, mongodbUri, wikiPort, outlive, cgroups, onStart } = options
    const logFile = path.join(directory, 'wiki.log')
    const wiki = await startProcess({
      name: 'wiki',
      command: process.execPath,
      args: [...WIKI_ARGUMENTS],
      logFile,
      outlive,
      cgroups,
      env: {
        ...readConfig().childEnvironment,
        NODE_ENV: 'production',
        ...WIKI_ENVIRONMENT,
        ...wikiEnvironment,
        HOST: '127.0.0.1',
        PORT: String(wikiPort),
        MONGODB_URI: mongodbUri
      }
    })
    running.wiki = wiki
    onStart(wiki)
    const isReady = () => request(`http://127.0.0.1:${wikiPort}/readyz`, { timeoutMs: 2_000 })
      .then(({ status }) => status === 200, () => false)
    const ready = await waitUntil(async () => !isAlive(wiki) || await isReady(), READY_TIMEOUT_MS, 50)
    if (!ready || !isAlive(wiki)) {
      throw new OriginError(
        `the wiki did not become ready on port ${wikiPort}:\n${logTail(logFile) || `(its log ${logFile} is empty)`}`
      )
    }
  }

  async function startNginx () {
    const { directory, outlive, cgroups, onStart } = options
    running.nginx = await startProcess({
      name: 'nginx origin',
      command: prepared.command,
      args: prepared.args,
      logFile: path.join(directory, 'nginx-origin.log'),
      outlive,
      cgroups
    })
    onStart(running.nginx)
  }

  return {
    facts,
    record: () => ({ facts, ssh: null, booted: false }),
    async start (given) {
      options = given
      const { directory, wikiPort, nginxPort, wikiEnvironment, requestsAtOnceMax, onPart } = given
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      onPart('wiki')
      await startWiki(wikiEnvironment)
      const { sha256, ...nginx } = await prepareRole(
        { role: 'origin', port: nginxPort, wikiPort, requestsAtOnceMax },
        { directory: path.join(directory, 'origin'), binary: requireTool('nginx').path, modulesDirectory: '' }
      )
      prepared = nginx
      await startNginx()
      return { address: `127.0.0.1:${nginxPort}`, configHash: sha256 }
    },
    async restartWiki (wikiEnvironment) {
      if (running.wiki !== null) await stopProcess(running.wiki)
      await startWiki(wikiEnvironment)
    },
    async killNginx () {
      const nginx = running.nginx
      if (nginx === null) throw new OriginError('the origin has no nginx to kill')
      // Before the kill: the sampler must not take it for a process that ended by itself.
      running.nginx = null
      await killGroup(nginx)
    },
    startNginx,
    nginxPid: () => running.nginx?.pid ?? null,
    async fetchLog () {},
    sample: (onSample) => sampleProcesses(
      () => [running.wiki, running.nginx].filter((identity) => identity !== null),
      onSample
    ),
    async close () {}
  }
}
