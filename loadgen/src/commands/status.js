import path from 'node:path'
import { doorLines } from '../lab/progress.js'
import { doorsOf } from '../stack/doors.js'
import { inspectStack } from '../stack/health.js'
import { DEFAULT_PORTS } from '../config.js'
import { EXIT } from '../exit-codes.js'
import { configWith, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'the doors and whether they answer',
  help: `Usage: stevec status [--json]

Shows the running stacks, their doors, and whether each door answers. \`wiki\` is the stack of
\`stevec up\`; \`lab\` is the stack of a run in progress.

  --json    one JSON object; its \`doors\` are those of the first stack

Exit code: 0 every door answers, 1 something does not answer, or nothing runs.

Examples:
  stevec status
  stevec status --json | jq -r .doors.cached.url`,
  options: { json: { type: 'boolean' } },
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const config = configWith(values)
    const stacks = []
    for (const name of ['wiki', 'lab']) {
      const found = await inspectStack(path.join(config.stateDirectory, name))
      if (found !== null) stacks.push({ name, ...found })
    }
    const healthy = stacks.every(
      ({ dead, doors }) => dead.length === 0 && Object.values(doors).every((door) => door.healthy)
    )
    const exitCode = stacks.length > 0 && healthy ? EXIT.good : EXIT.violated
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
        stacks: stacks.map(({ name, state, dead, doors }) => ({
          name,
          started_at: state.started_at,
          ports: state.ports,
          processes: state.processes.map(({ name, pid }) => ({ name, pid })),
          dead,
          doors
        }))
      }, null, 2)}\n`)
      return exitCode
    }
    if (stacks.length === 0) process.stdout.write('nothing runs; start the wiki with `stevec up` (or make up)\n')
    for (const { name, state, dead, doors } of stacks) {
      process.stdout.write(
        `${name}, up since ${state.started_at}:\n${doorLines(doors).map((line) => `  ${line}\n`).join('')}`
      )
      if (dead.length > 0) {
        process.stdout.write(`  no longer running: ${dead.join(', ')}; run \`stevec down\`, then \`stevec up\`\n`)
      }
    }
    return exitCode
  }
}
