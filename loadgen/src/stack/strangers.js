import path from 'node:path'
import { describeProcess, listenersOn, userName } from '@stevec/harness/listeners'
import { isFree } from '@stevec/harness/ports'
import { allPids } from '@stevec/harness/proc'
import { readState } from './state.js'

/** How far apart the ports of two stacks on a machine are, as the next step suggests them. */
const APART = 1000
const PORT_MAX = 65_535
/** Folder of a role of nginx, or of mongod, in a stack's folder: `<state>/wiki/edge`. */
const OF_STACK = /(\/\S+)\/(wiki|lab)\/(?:edge(?:-\d)?|origin|local)(?:[\s/]|$)/

/** @typedef {import('../config.js').Ports} Ports */
/** @typedef {import('../config.js').PortName} PortName */

/**
 * A process that is not ours on a port of ours.
 * @typedef {object} Stranger
 * @property {PortName} name  of the port
 * @property {number} port
 * @property {string} user
 * @property {number | null} pid  null: another user's process, which this user may not look into
 * @property {string | null} program
 */

/**
 * A stack of another user or another folder.
 * @typedef {object} OtherStack
 * @property {string} directory  its state folder, as in STEVEC_STATE
 * @property {'wiki' | 'lab'} kind  of `stevec up`, or of a run
 * @property {string} user
 * @property {boolean} isOurs  whether this user may stop it
 */

/**
 * @param {Partial<Ports>} ports  none of which our own stack has
 * @returns {{strangers: Stranger[], stacks: OtherStack[]}} what listens there, and the stacks of the same users
 */
export function findStrangers (ports) {
  const names = /** @type {PortName[]} */ (Object.keys(ports))
  const listeners = listenersOn(Object.values(ports))
  const strangers = listeners.map(({ port, uid, pid }) => ({
    name: /** @type {PortName} */ (names.find((name) => ports[name] === port)),
    port,
    user: userName(uid),
    pid,
    program: pid === null ? null : describeProcess(pid)?.name ?? null
  }))
  if (strangers.length === 0) return { strangers, stacks: [] }
  const taken = listeners.map(({ port }) => port)
  const stacks = stacksOf(new Set(listeners.map(({ uid }) => uid))).filter(({ directory, kind }) => {
    // Another user's record cannot be read: then the stack may have the ports.
    const state = readState(path.join(directory, kind))
    return state === null || Object.values(state.ports).some((port) => taken.includes(port))
  })
  return { strangers, stacks }
}

/**
 * Finds stacks by the command lines of their nginx, which also other users may read.
 * @param {Set<number>} uids
 * @returns {OtherStack[]}
 */
function stacksOf (uids) {
  /** @type {Map<string, OtherStack>} */
  const stacks = new Map()
  for (const pid of allPids()) {
    const known = describeProcess(pid)
    if (known === null || !uids.has(known.uid)) continue
    const [, directory, kind] = OF_STACK.exec(known.arguments) ?? []
    if (directory === undefined) continue
    stacks.set(`${directory}/${kind}`, {
      directory,
      kind: /** @type {'wiki' | 'lab'} */ (kind),
      user: userName(known.uid),
      isOurs: [0, known.uid].includes(process.getuid?.() ?? -1)
    })
  }
  return [...stacks.values()]
}

/**
 * @param {Stranger} stranger
 * @returns {string} such as `nginx, process 4711 of ana`
 */
export const strangerText = ({ user, pid, program }) =>
  pid === null ? `a program of ${user}` : `${program ?? 'a program'}, process ${pid} of ${user}`

/**
 * @param {ReturnType<typeof findStrangers>} found  with strangers
 * @returns {Promise<string[]>} lines: the processes on which ports, and what to do
 */
export async function strangerLines ({ strangers, stacks }) {
  const width = Math.max(...strangers.map(({ name }) => name.length))
  const flags = await Promise.all(strangers.map(async ({ name, port }) => `--${name}-port ${await portBeside(port)}`))
  return [
    'ports that `stevec up` would use are taken:',
    ...strangers.map((each) => `  ${each.name.padEnd(width)}  ${each.port}  ${strangerText(each)}`),
    ...stacks.map(stackLine),
    `to start a wiki beside that: stevec up ${flags.join(' ')}`
  ]
}

/** @param {OtherStack} stack */
function stackLine ({ directory, kind, user, isOurs }) {
  const what = `${kind === 'wiki' ? 'the wiki' : 'a run'} of ${user}, with its state in ${directory}`
  if (kind === 'lab') return `that is ${what}: wait for its end`
  return isOurs
    ? `that is ${what}; to stop it: STEVEC_STATE=${directory} stevec down`
    : `that is ${what}; only ${user} can stop it, with \`stevec down\``
}

/**
 * @param {number} port
 * @returns {Promise<number>} the next free one in steps of 1000; where none is, the first of them
 */
async function portBeside (port) {
  for (let beside = port + APART; beside <= PORT_MAX; beside += APART) if (await isFree(beside)) return beside
  return port + APART
}
