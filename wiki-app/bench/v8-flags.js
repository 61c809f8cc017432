// Measures what each of the wiki's V8 flags brings. `--help` says what exactly.
import path from 'node:path'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } from '../src/start.js'
import { describeMachine } from './machine.js'
import { ROUNDS_MAX } from './ratio.js'
import { createServers } from './servers.js'
import { openTree } from './tree.js'
import { compare, measureInTurns } from './turns.js'
import { fillPages } from './workload.js'

const SECONDS_MAX = 60
const TREES_MAX = 5
const HELP = `Usage: node wiki-app/bench/v8-flags.js [--rounds N] [--seconds N] [REF…]

The wiki, and the wiki without each of the V8 flags of wiki-app/src/start.js, in turns, metrics and request logs on:
processor time of a request and resident memory as ratios to the wiki with all flags. A ratio above 1 is what the
flag saves. Each REF is a commit whose wiki is measured beside them, for instance one without a line of code that is
there for V8's sake. For another version of Node: .ci/with-node 24 node wiki-app/bench/v8-flags.js

  --rounds N    2 to ${ROUNDS_MAX} (default 10): each starts every wiki twice
  --seconds N   turns of each measurement, 1 to ${SECONDS_MAX} (default 3)
`
const ALL = 'all flags'

/**
 * @param {string[]} refs
 * @param {{rounds: number, seconds: number}} options
 */
async function main (refs, { rounds, seconds }) {
  await claimMachine()
  const servers = createServers()
  const note = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)
  try {
    /** @type {import('./tree.js').Tree[]} */
    const trees = []
    for (const ref of refs) {
      trees.push(await openTree(ref, path.join(servers.directory, `tree-${trees.length}`), servers.atEnd))
    }
    console.log(describeMachine())
    const mongod = await servers.mongod()
    const flags = WIKI_ARGUMENTS.filter((argument) => argument.startsWith('--'))
    /** @type {import('./tree.js').Tree[]} */
    const compared = [
      { name: ALL, wikiArguments: WIKI_ARGUMENTS, wikiEnvironment: WIKI_ENVIRONMENT },
      ...flags.map((flag) => ({
        name: `without ${flag}`,
        wikiArguments: WIKI_ARGUMENTS.filter((argument) => argument !== flag),
        wikiEnvironment: WIKI_ENVIRONMENT
      })),
      ...trees
    ]
    const variants = compared.map((tree, index) => ({
      name: tree.name,
      start: (/** @type {Record<string, string> | undefined} */ settings) =>
        servers.wiki(mongod.uriFor(`wiki-${index}`), settings, [], tree)
    }))
    note(`filling ${variants.length} wikis …`)
    for (const { start } of variants) {
      const filler = await start(undefined)
      await fillPages(filler.url)
      await filler.stop()
    }
    note(`in turns: ${variants.map(({ name }) => name).join(', ')} …`)
    const turns = await measureInTurns({ directory: servers.directory, variants, rounds, seconds, note })
    for (const { name } of variants.slice(1)) {
      console.log(`\n${name} ÷ ${ALL}, with Node ${process.version}\n${compare(turns, name, ALL).text}`)
    }
  } catch (error) {
    note(`bench: ${/** @type {Error} */ (error).message}`)
    process.exitCode = 1
  } finally {
    await servers.stopAll()
  }
}

/** @param {string} text @param {number} least @param {number} most */
const isWhole = (text, least, most) => /^\d{1,4}$/.test(text) && Number(text) >= least && Number(text) <= most

/** @param {string} text */
function refuse (text) {
  process.stderr.write(`bench: ${text}; see node wiki-app/bench/v8-flags.js --help\n`)
  process.exitCode = 2
}

/** @returns {{values: {rounds: string, seconds: string, help?: boolean}, positionals: string[]} | undefined} */
function readOptions () {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        rounds: { type: 'string', default: '10' },
        seconds: { type: 'string', default: '3' },
        help: { type: 'boolean', short: 'h' }
      }
    })
  } catch (error) {
    refuse(/** @type {Error} */ (error).message)
  }
}

const options = readOptions()
if (options?.values.help) process.stdout.write(HELP)
else if (options) {
  const { values: { rounds, seconds }, positionals } = options
  if (!isWhole(rounds, 2, ROUNDS_MAX)) {
    refuse(`--rounds must be a whole number from 2 to ${ROUNDS_MAX}, not "${rounds}"`)
  } else if (!isWhole(seconds, 1, SECONDS_MAX)) {
    refuse(`--seconds must be a whole number from 1 to ${SECONDS_MAX}, not "${seconds}"`)
  } else if (positionals.length > TREES_MAX) refuse(`at most ${TREES_MAX} commits are measured at once`)
  else await main(positionals, { rounds: Number(rounds), seconds: Number(seconds) })
}
