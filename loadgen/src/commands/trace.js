import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { startTraceReceiver } from '@stevec/harness/trace-receiver'
import { refuseUnwritable } from '../load/options.js'
import { flexiblePorts } from '../stack/stack-ports.js'
import { StackError } from '../stack/stack-error.js'
import { startStack, stopStack } from '../stack/stack.js'
import { isRunning, readState } from '../stack/state.js'
import { recordRequest } from '../trace/record.js'
import { waterfall } from '../trace/waterfall.js'
import { UsageError } from '../usage-error.js'
import { configWith, interruptSignal, refuseMore } from './options.js'

const DOORS = /** @type {const} */ (['cached', 'nocache', 'source', 'local'])
const ROLE_OF = /** @type {const} */ ({ cached: 'edge', nocache: 'edge', source: 'origin', local: 'local' })
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE']

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'record where the time of one request goes',
  help: `Usage: stevec trace "METHOD /path" [options]

Sends one traced request through a door, and writes a waterfall: spans of nginx (by its log) and of
the wiki, with its commands to the database, and the times between them. One HTML file that needs
nothing else. The wiki is the running one of \`stevec up --traces\`. If none runs, starts the wiki
with its own pages and stops it again.

  --door NAME        ${DOORS.join(', ')} (default source)
  --body TEXT        body of a POST or PUT
  --body-file FILE   the body is in this file
  --type TYPE        its type (default text/markdown)
  --output FILE      (default trace.html)
  --run FOLDER       writes trace.html into the folder of a run; \`stevec report\` links it then

Exit code: 0 written, 2 wrong usage, 3 broken, 130 interrupted.

Examples:
  stevec trace "GET /wiki/Home"
  stevec trace "POST /wiki/Home" --body "# Home" --output save.html
  stevec trace "GET /wiki/Home" --door cached`,
  options: Object.fromEntries(['door', 'body', 'body-file', 'type', 'output', 'run']
    .map((name) => [name, { type: /** @type {const} */ ('string') }])),
  async run ({ values, positionals, signal = interruptSignal() }) {
    refuseMore(positionals, 1)
    const asked = askedOf(positionals[0], values)
    const request = { door: doorOf(values.door ?? 'source'), asked }
    if (values.run !== undefined && values.output !== undefined) {
      throw new UsageError('give --output or --run, not both')
    }
    const output = values.run === undefined ? values.output ?? 'trace.html' : path.join(values.run, 'trace.html')
    refuseUnwritable(output, values.run === undefined ? '--output' : '--run')
    const config = configWith(values)
    const directory = path.join(config.stateDirectory, 'wiki')
    const present = readState(directory)
    const at = new Date()
    const { status, spans } = present !== null && isRunning(present)
      ? await traceRunning(present, directory, request)
      : await traceOwn(config, signal, request)
    writeFileSync(output, waterfall({ title: `${asked.method} ${asked.path}`, spans, at }))
    process.stdout.write(`status ${status}, ${spans.length} spans: ${output}\n`)
    return 0
  }
}

/** @typedef {{door: typeof DOORS[number], asked: ReturnType<typeof askedOf>}} Request */

/**
 * At the wiki of `stevec up`.
 * @param {import('../stack/state.js').StackState} state @param {string} directory @param {Request} request
 * @throws {UsageError} when it makes no traces
 */
async function traceRunning ({ doors, traces_port: port }, directory, { door, asked }) {
  if (port === undefined) {
    throw new UsageError('the wiki of `stevec up` makes no traces; run `stevec down`, then `stevec up --traces`')
  }
  const receiver = await startTraceReceiver({ port }).catch((error) => {
    throw new StackError(`the running wiki sends its traces to port ${port} of this machine, and nothing can listen ` +
      `there (${error.code}): does another \`stevec trace\` run?`)
  })
  try {
    return await recordRequest({ receiver, directory, door: doors[door], outer: ROLE_OF[door], asked })
  } finally {
    await receiver.stop()
  }
}

/**
 * At a wiki that is stopped again.
 * @param {ReturnType<typeof configWith>} config @param {AbortSignal} signal @param {Request} request
 */
async function traceOwn (config, signal, { door, asked }) {
  const directory = path.join(config.stateDirectory, 'trace')
  await stopStack(directory)
  const receiver = await startTraceReceiver()
  try {
    const { ports } = await flexiblePorts(config.ports)
    const { doors } = await startStack({
      directory,
      databaseDirectory: path.join(config.stateDirectory, 'database'),
      mongodbUri: config.mongodbUri,
      ports,
      wikiEnvironment: { CACHE_POLICY: config.wikiEnvironment.CACHE_POLICY ?? 'purge-tag' },
      tracesPort: Number(new URL(receiver.url).port),
      signal,
      onProgress: (part) => { process.stderr.write(`starting ${part} …\n`) }
    })
    return await recordRequest({ receiver, directory, door: doors[door], outer: ROLE_OF[door], asked })
  } finally {
    await stopStack(directory)
    await receiver.stop()
  }
}

/** @param {string} name @throws {UsageError} */
function doorOf (name) {
  const door = DOORS.find((known) => known === name)
  if (door === undefined) throw new UsageError(`--door is one of ${DOORS.join(', ')}, not "${name}"`)
  return door
}

/**
 * @param {string | undefined} text
 * @param {Record<string, any>} values
 * @throws {UsageError}
 */
function askedOf (text = '', values) {
  const [, method, target] = /^([A-Z]+) (\/[\x21-\x7e]*)$/.exec(text) ?? []
  if (!METHODS.includes(method)) {
    throw new UsageError(`name a request, such as "GET /wiki/Home" (${METHODS.join(', ')}), not "${text}"`)
  }
  if (values.body !== undefined && values['body-file'] !== undefined) {
    throw new UsageError('give --body or --body-file, not both')
  }
  const body = values['body-file'] === undefined ? values.body : readFileSync(values['body-file'], 'utf8')
  if (body !== undefined && !['POST', 'PUT'].includes(method)) throw new UsageError(`a ${method} has no body`)
  return { method, path: target, body, type: values.type ?? 'text/markdown' }
}
