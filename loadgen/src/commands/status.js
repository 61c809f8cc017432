import path from 'node:path'
import { doorLines } from '../lab/progress.js'
import { doorsOf } from '../stack/doors.js'
import { inspectStack } from '../stack/health.js'
import { findStrangers, strangerLines } from '../stack/strangers.js'
import { keeperLines } from '../keeper/keeper-lines.js'
import { DEFAULT_PORTS } from '../config.js'
import { EXIT } from '../exit-codes.js'
import { configWith, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'what runs, and whether the doors answer',
  help: `Usage: stevec status [--json]

Shows the running stacks of this folder: their processes, their doors, and whether each door
answers. \`wiki\` is the stack of \`stevec up\`; \`lab\` is the stack of a run in progress. If the wiki
does not run, and others have its ports, such as a stack of another user or another folder, it names
the processes, and what to do.

  --json    one JSON object; its \`doors\` are those of the first stack, and \`strangers\` the others'
            processes on its ports

Exit code: 0 every door answers, 1 something does not answer, or nothing runs here.

Examples:
  stevec status
  stevec status --json | jq -r .doors.cached.url`,
  options: { json: { type: 'boolean' } },
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const config = configWith(values)
    const stacks = []
    for (const name of ['wiki', 'lab']) {
      const directory = path.join(config.stateDirectory, name)
      const found = await inspectStack(directory)
      if (found !== null) stacks.push({ name, directory, ...found })
    }
    const healthy = stacks.every(
      ({ dead, doors }) => dead.length === 0 && Object.values(doors).every((door) => door.healthy)
    )
    const exitCode = stacks.length > 0 && healthy ? EXIT.good : EXIT.violated
    const others = findOthers({ ...DEFAULT_PORTS, ...config.ports }, stacks)
    if (values.json) {
      // The first stack's doors are also at the top level: most scripts need only the URLs of one stack.
      const idle = Object.fromEntries(
        Object.entries(doorsOf({ ...DEFAULT_PORTS, ...config.ports }))
          .map(([name, door]) => [name, { ...door, healthy: false }])
      )
      process.stdout.write(`${JSON.stringify({
        running: stacks.length > 0,
        healthy: stacks.length > 0 && healthy,
        doors: stacks[0]?.doors ?? idle,
        stacks: stacks.map(({ name, state, dead, keeper, services, doors }) => ({
          name,
          started_at: state.started_at,
          ports: state.ports,
          processes: state.processes.map(({ name, pid }) => ({ name, pid })),
          dead,
          keeper,
          services,
          doors
        })),
        strangers: others.strangers
      }, null, 2)}\n`)
      return exitCode
    }
    if (stacks.length === 0) {
      const next = others.strangers.length > 0 ? '' : '; start the wiki with `stevec up` (or make up)'
      process.stdout.write(`nothing runs here${next}\n`)
    }
    for (const { name, directory, state, dead, keeper, services, doors } of stacks) {
      process.stdout.write(
        `${name}, up since ${state.started_at}:\n${doorLines(doors).map((line) => `  ${line}\n`).join('')}`
      )
      process.stdout.write(`  processes: ${state.processes.map(({ name }) => name).join(', ')}\n`)
      for (const line of keeperLines({ directory, dead, keeper, services })) process.stdout.write(`  ${line}\n`)
    }
    if (others.strangers.length > 0) process.stdout.write(`${(await strangerLines(others)).join('\n')}\n`)
    return exitCode
  }
}

/**
 * @param {import('../config.js').Ports} ports  of a wiki that this folder would start
 * @param {{name: string, state: import('../stack/state.js').StackState}[]} stacks  that run here
 * @returns {ReturnType<typeof findStrangers>} none if the wiki runs
 */
function findOthers (ports, stacks) {
  if (stacks.some(({ name }) => name === 'wiki')) return { strangers: [], stacks: [] }
  const own = stacks.flatMap(({ state }) => Object.values(state.ports))
  const free = Object.entries(ports).filter(([, port]) => !own.includes(port))
  return findStrangers(Object.fromEntries(free))
}
