import { mkdirSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { prepareRole } from '@stevec/nginx'
import { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } from '@stevec/wiki-app/start'
import { readConfig } from '../../config.js'
import { request } from '@stevec/harness/request'
import { isAlive, killGroup, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { logOf } from '../state.js'
import { wikiName } from '../wiki-names.js'
import { OriginError } from './origin-error.js'
import { sampleProcesses } from './process-samples.js'

const READY_TIMEOUT_MS = 60_000

/** @typedef {import('@stevec/harness/processes').ProcessIdentity} ProcessIdentity */
/** @typedef {import('./origin.js').OriginStart} OriginStart */

/**
 * Runs the wikis and their nginx as processes of this machine.
 * @returns {import('./origin.js').Origin}
 */
export function createLocalOrigin () {
  const facts = localFacts()
  /** @type {{wikis: ProcessIdentity[], nginx: ProcessIdentity | null}} */
  const running = { wikis: [], nginx: null }
  /** Of the last start. @type {OriginStart} */
  let options
  /** @type {{command: string, args: string[]}} */
  let preparedNginx

  /** @param {import('./origin.js').WikiEnvironment} wikiEnvironment */
  async function startWikis (wikiEnvironment) {
    running.wikis = []
    for (const index of options.wikiPorts.keys()) {
      const wiki = await startWikiProcess(options, index, wikiEnvironment)
      running.wikis.push(wiki)
      options.onStart(wiki)
      // One after the other: the first one may have to bring the database's form up to date.
      await waitUntilReady(wiki, options, index)
    }
  }

  async function startNginx () {
    const { directory, outlive, cgroups, onStart } = options
    const logFile = path.join(directory, 'nginx-origin.log')
    running.nginx = await startProcess({ name: 'nginx origin', ...preparedNginx, logFile, outlive, cgroups })
    onStart(running.nginx)
  }

  return {
    facts,
    record: () => ({ facts, ssh: null, booted: false }),
    async start (given) {
      options = given
      const { directory, wikiPorts, nginxPort, tls, wikiEnvironment, requestsAtOnceMax, onPart } = given
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      onPart(wikiPorts.length === 1 ? 'wiki' : `${wikiPorts.length} wikis`)
      await startWikis(wikiEnvironment)
      const binary = requireTool('nginx').path
      const { sha256, command, args } = await prepareRole(
        { role: 'origin', wikiPort: wikiPorts, requestsAtOnceMax, ...portsOf(nginxPort, tls) },
        { directory: path.join(directory, 'origin'), binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' }
      )
      preparedNginx = { command, args }
      await startNginx()
      return { address: `127.0.0.1:${nginxPort}`, configHash: sha256 }
    },
    async restartWiki (wikiEnvironment) {
      await Promise.all(running.wikis.map((wiki) => stopProcess(wiki)))
      await startWikis(wikiEnvironment)
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
      () => [...running.wikis, running.nginx].filter((identity) => identity !== null),
      onSample
    ),
    async close () {}
  }
}

/**
 * @param {number} port
 * @param {OriginStart['tls']} tls
 */
const portsOf = (port, tls) => tls === undefined ? { port } : { port: tls.port, tls, plainPort: port }

const localFacts = () => ({
  kind: /** @type {const} */ ('local'),
  emulated: false,
  machine: null,
  kernel: `${os.type()} ${os.release()} ${os.arch()}`,
  cores: os.availableParallelism(),
  memory_bytes: os.totalmem(),
  image_sha256: null
})

/**
 * @param {OriginStart} options
 * @param {number} index  of the wiki
 * @param {import('./origin.js').WikiEnvironment} wikiEnvironment
 */
const startWikiProcess = (
  { directory, mongodbUri, wikiPorts, outlive, cgroups, wikiCgroups }, index, wikiEnvironment
) => startProcess({
  name: wikiName(index),
  command: process.execPath,
  args: [...WIKI_ARGUMENTS],
  logFile: logOf(directory, wikiName(index)),
  outlive,
  cgroups: wikiCgroups?.[index] ?? cgroups,
  env: {
    ...readConfig().localWikiEnvironment,
    NODE_ENV: 'production',
    ...WIKI_ENVIRONMENT,
    ...wikiEnvironment,
    HOST: '127.0.0.1',
    PORT: String(wikiPorts[index]),
    MONGODB_URI: mongodbUri,
    // The wiki refuses two addresses.
    MONGODB_URI_FILE: undefined
  }
})

/**
 * @param {ProcessIdentity} wiki
 * @param {OriginStart} options
 * @param {number} index  of the wiki
 * @throws {OriginError} when the wiki ends, or is not ready in time
 */
async function waitUntilReady (wiki, { directory, wikiPorts }, index) {
  const wikiPort = wikiPorts[index]
  const isReady = () => request(`http://127.0.0.1:${wikiPort}/readyz`, { timeoutMs: 2_000 })
    .then(({ status }) => status === 200, () => false)
  const ready = await waitUntil(async () => !isAlive(wiki) || await isReady(), READY_TIMEOUT_MS, 50)
  if (ready && isAlive(wiki)) return
  const logFile = logOf(directory, wiki.name)
  throw new OriginError(
    `the wiki did not become ready on port ${wikiPort}:\n${logTail(logFile) || `(its log ${logFile} is empty)`}`
  )
}
